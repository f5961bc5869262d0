"""`jeton count`: text in, number of tokens out."""

import json

import click

from jeton.cli.files import STDIN, files_argument, read
from jeton.cli.tokenizer import Specials, load, special_option, tokenizer_option
from jeton.visible import visible


@click.command()
@files_argument
@tokenizer_option
@special_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def count(*, files: tuple[str, ...], name: str, specials: Specials, as_json: bool) -> None:
    """Count the tokens of each FILE (standard input by default)."""
    tokenizer = load(name)
    counts = [(file, tokenizer.count(read(file), specials=specials)) for file in files or (STDIN,)]
    total = sum(tokens for _, tokens in counts)
    if as_json:
        rows = [{"name": file, "tokens": tokens} for file, tokens in counts]
        click.echo(json.dumps({"files": rows, "tokens": total}))
        return
    if not files:
        click.echo(total)
        return
    for file, tokens in counts:
        click.echo(f"{tokens}\t{visible(file)}")
    if len(counts) > 1:
        click.echo(f"{total}\ttotal")
