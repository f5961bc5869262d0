"""`zeton chunk`: text in, chunks of so many tokens out."""

import json

import click

from zeton.cli.commands.truncate import BORDER_HELP, borders, tokens_option
from zeton.cli.options.files import STDIN, text_of
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.text.escape import visible
from zeton.text.fit import Border


@click.command()
@click.argument("file", default=STDIN)
@tokens_option
@tokenizer_option
@special_option
@click.option(
    "--overlap",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Tokens of the chunk before that a chunk repeats at most.",
)
@click.option("--at", type=borders, default="piece", show_default=True, help=BORDER_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print an object a line.")
def chunk(
    *,
    file: str,
    tokens: int,
    name: str,
    specials: Specials,
    overlap: int,
    at: Border,
    as_json: bool,
) -> None:
    """Cut FILE (standard input by default) into chunks of N tokens at most, one a line.

    A line has where the chunk begins and ends, in characters, its tokens, and its text. Places are
    in bytes if FILE is not UTF-8.
    """
    text, tokenizer = text_of(file), load(name)
    for each in tokenizer.chunk(text, n=tokens, overlap=overlap, at=at, allowed_special=specials):  # type: ignore[type-var]
        part = each.text if isinstance(each.text, str) else each.text.decode(errors="replace")
        if as_json:
            unit = "character" if isinstance(each.text, str) else "byte"
            row = {"start": each.start, "end": each.end, "unit": unit, "tokens": each.tokens}
            click.echo(json.dumps(row | {"text": part}))
        else:
            click.echo(f"{each.start}\t{each.end}\t{each.tokens}\t{visible(part)}")
