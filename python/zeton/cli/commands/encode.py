"""`zeton encode`: text in, ids out."""

import json

import click

from zeton.cli.options.files import STDIN, bytes_of, files_argument, read
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option


@click.command()
@files_argument
@tokenizer_option
@special_option
@click.option("--text", help="A text to encode in place of a file.")
@click.option("--prepend", metavar="NAME", help="A special to put before each text.")
@click.option("--append", metavar="NAME", help="A special to put after each text.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array a file.")
def encode(
    *,
    files: tuple[str, ...],
    name: str,
    specials: Specials,
    text: str | None,
    prepend: str | None,
    append: str | None,
    as_json: bool,
) -> None:
    """Encode each FILE (standard input by default) into one line of ids."""
    if files and text is not None:
        raise click.UsageError("Give FILE or --text, not both.")
    tokenizer = load(name)
    texts = map(read, files or (STDIN,)) if text is None else iter([bytes_of(text)])
    for each in texts:
        ids = tokenizer.encode(each, allowed_special=specials, prepend=prepend, append=append)
        click.echo(json.dumps(ids) if as_json else " ".join(map(str, ids)))
