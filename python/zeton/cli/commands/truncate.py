"""`zeton truncate`: text in, at most N tokens of it out."""

import json
from collections.abc import Iterator
from typing import get_args

import click

import zeton
from zeton.cli.options.files import STDIN, bytes_of, one_text, raw_option, refuse_folder
from zeton.cli.options.single import Single
from zeton.cli.options.sizes import Size
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.text.fit import Border, Side

MARGIN_BYTES = 1 << 16
"""Text read around the part that fits, so that borders are found as in the whole text."""

tokens_option = click.option(
    "-n", "--tokens", type=Size(), required=True, metavar="N", help="Maximum number of tokens."
)

border_help = "Where cuts are allowed."
borders = click.Choice(get_args(Border))


@click.command(
    cls=Single,
    epilog=examples(
        "zeton truncate book.txt -n 8k > beginning.txt",
        "zeton truncate --side middle --mark ' … ' -n 500 --at word < log.txt",
    ),
)
@click.argument("file", default=STDIN)
@tokens_option
@tokenizer_option
@special_option
@click.option(
    "--side",
    type=click.Choice(get_args(Side)),
    default="end",
    show_default=True,
    help="Side of the text to drop.",
)
@click.option("--at", type=borders, default="character", show_default=True, help=border_help)
@click.option(
    "--mark", metavar="TEXT", help='Text to insert for the dropped middle, for example " … ".'
)
@raw_option
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
    raw: bool,
    as_json: bool,
) -> None:
    """Cut FILE (standard input by default) to at most N tokens.

    Reading stops where the text that remains cannot change the result.
    """
    if file != STDIN:
        refuse_folder(file)
    tokenizer = load(name, specials)
    text = one_text(file, raw=raw)
    cut = tokenizer.truncate(
        needed(tokenizer, text, tokens, side, specials),
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


def needed(
    tokenizer: zeton.Tokenizer, blocks: Iterator[bytes], n: int, side: Side, specials: Specials
) -> bytes:
    """Return the parts of a text that decide its truncation: its beginning, its end, or both.

    A prefix with more than `n` settled ids cannot fit, so a longer text is not read further for its
    beginning. A suffix of `n` tokens has at most `n` times the bytes of the longest token.
    """
    head, tail = bytearray(), bytearray()
    if side != "start":
        encoder, settled, wanted = tokenizer.encoder(allowed_special=specials), 0, 0
        for block in blocks:
            head += block
            if settled <= n:
                settled += encoder.push_count(block, 1)
                wanted = len(head) + MARGIN_BYTES
            if settled > n and len(head) >= wanted:
                break
        if side == "end":
            return bytes(head)
    tokens = [*tokenizer.ranks(), *(name.encode() for name in tokenizer.specials)]
    tail_bytes = n * max(map(len, tokens)) + MARGIN_BYTES
    for block in blocks:
        tail += block
        if len(tail) > 2 * tail_bytes:
            del tail[:-tail_bytes]
    return bytes(head + tail)
