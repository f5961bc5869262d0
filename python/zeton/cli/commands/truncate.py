"""`zeton truncate`: text in, as much of it out as has so many tokens."""

import json
from typing import get_args

import click

from zeton.cli.options.files import STDIN, bytes_of, read
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.text.fit import Border, Side

tokens_option = click.option(
    "-n", "--tokens", type=click.IntRange(0), required=True, metavar="N", help="Tokens at most."
)


BORDER_HELP = "What is cut between."

borders = click.Choice(get_args(Border))


@click.command()
@click.argument("file", default=STDIN)
@tokens_option
@tokenizer_option
@special_option
@click.option(
    "--side",
    type=click.Choice(get_args(Side)),
    default="end",
    show_default=True,
    help="What is cut away.",
)
@click.option("--at", type=borders, default="character", show_default=True, help=BORDER_HELP)
@click.option("--mark", help="What stands where the middle was, as …")
@click.option("--json", "as_json", is_flag=True, help="Print an object with text and tokens.")
def truncate(
    *,
    file: str,
    tokens: int,
    name: str,
    specials: Specials,
    side: Side,
    at: Border,
    mark: str | None,
    as_json: bool,
) -> None:
    """Print as much of FILE (standard input by default) as has N tokens at most."""
    tokenizer = load(name)
    cut = tokenizer.truncate(
        read(file),
        n=tokens,
        side=side,
        at=at,
        mark=None if mark is None else bytes_of(mark),
        allowed_special=specials,
    )
    if as_json:
        counted = tokenizer.count(cut, allowed_special=specials)
        click.echo(json.dumps({"text": cut.decode(errors="replace"), "tokens": counted}))
    else:
        click.echo(cut, nl=False)
