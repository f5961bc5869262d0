"""`zeton show`: the tokens of a text, and how they came about."""

import json
import shutil
import sys
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import chain

import click

import zeton
from zeton.cli.commands.encode import read_texts as watched_texts
from zeton.cli.options.files import STDIN, Text, bytes_of, raw_option, texts_of, without_folders
from zeton.cli.options.single import Single
from zeton.cli.options.texts import field_option
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.cli.render import explained
from zeton.cli.render.color import color_option
from zeton.cli.render.drawing import COLORS, bar, drawn
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import say
from zeton.text.explain import Piece

IDS_AT_ONCE = 1 << 16
"""Ids that are printed together at the end of a JSON object."""

BLOCK_BYTES = 1 << 14
"""Bytes that are explained at a time: an explanation takes 300 times the memory of its text."""

PIECE_BYTES_MAX = 500_000
"""Bytes without a boundary between pieces that are explained."""

BOTH_BYTES_MAX = 1_000_000
"""Bytes whose pieces are kept for --rules and --merges together."""


@click.command(
    cls=Single,
    epilog=examples(
        "zeton show 'naïve café, 12345' -t cl100k_base",
        'zeton show --rules "isn\'t it 1234567?" -t gpt2',
        "zeton show --file notes.txt --color always | less -R",
    ),
)
@click.argument("text", required=False)
@tokenizer_option
@special_option
@click.option("--file", metavar="FILE", help="Show a file, not TEXT.")
@click.option(
    "--ids/--no-ids", default=True, show_default=True, help="Write the id behind each token."
)
@click.option(
    "--rules", is_flag=True, help="Name the rule of the pattern below each piece (pre-token)."
)
@click.option("--merges", is_flag=True, help="List the merges of each piece, in order.")
@click.option("--json", "as_json", is_flag=True, help="Print pieces, rules and merges as JSON.")
@field_option
@raw_option
@color_option
def show(
    *,
    text: str | None,
    name: str,
    specials: Specials,
    file: str | None,
    ids: bool,
    rules: bool,
    merges: bool,
    field: str,
    raw: bool,
    as_json: bool,
    colored: bool,
) -> None:
    """Show the tokens of TEXT (standard input by default).

    Tokens have colours on a terminal; elsewhere, or where NO_COLOR is set, `|` separates them.
    """
    if text is not None and file is not None:
        raise click.UsageError("Give TEXT or --file, not both.")
    tokenizer = load(name, specials)
    given = [bytes_of(text)] if text is not None else None
    for each in read_texts(given, file, field, raw=raw, as_json=as_json):
        if not (rules or merges or as_json):
            print_tokens(tokenizer, each, specials, ids=ids, colored=colored)
            continue
        found = pieces(tokenizer, each, specials)
        if as_json:
            print_json(found)
            continue
        columns = shutil.get_terminal_size().columns
        kept = beginning(found) if rules and merges else found
        if rules:
            print_lines(explained.rules(kept, columns, ids=ids, colored=colored), colored=colored)
        if rules and merges:
            click.echo()
        if merges:
            print_lines(explained.merges(kept, columns, colored=colored), colored=colored)


def read_texts(
    given: list[bytes] | None, file: str | None, field: str, *, raw: bool, as_json: bool
) -> Iterator[Text]:
    """Yield the text of the command line, or the texts of a file."""
    if given is not None:
        return iter([Text(STDIN, iter(given))])
    (name,) = without_folders([file or STDIN])
    if sys.stderr.isatty() and not as_json:  # A bar would stand among the tokens, or in a pager.
        return texts_of(name, field=field, raw=raw)
    return watched_texts(name, field, raw=raw)


def print_lines(lines: Iterable[str], *, colored: bool) -> None:
    """Print lines as they come."""
    for line in lines:
        click.echo(line, color=colored)


def print_tokens(
    tokenizer: zeton.Tokenizer, text: Text, specials: Specials, *, ids: bool, colored: bool
) -> None:
    """Print tokens as they are known, and end the line after each that holds a line break."""
    encoder = tokenizer.encoder(allowed_special=specials)
    number, is_begun, between = 0, False, bar(colored=colored)

    @lru_cache(maxsize=1 << 16)
    def shown(token_id: int, number: int) -> tuple[str, bool]:
        token = tokenizer.token_bytes(token_id)
        line = drawn(token, token_id if ids else None, number, colored=colored)
        return line, b"\n" in token

    for block in chain(text.blocks, [None]):
        out = []
        for token_id in encoder.finish() if block is None else encoder.push(block):
            line, is_last = shown(token_id, number % len(COLORS) if colored else 0)
            out += [between if is_begun else "", line, "\n" if is_last else ""]
            is_begun = not is_last
            number += 1
        click.echo("".join(out), nl=False, color=colored)
    if is_begun:
        click.echo()


def pieces(tokenizer: zeton.Tokenizer, text: Text, specials: Specials) -> Iterator[Piece]:
    """Explain a text a part at a time: a part ends where the pattern cuts for certain.

    A long text without such a place is explained as far as memory allows, which stderr reports.
    """
    encoder = tokenizer.encoder(allowed_special=specials)
    held, at = b"", 0

    def explained_to(end: int) -> Iterator[Piece]:
        for piece in tokenizer.explain(held[:end], allowed_special=specials).pieces:
            yield replace(piece, start=piece.start + at, end=piece.end + at)

    for block in small(text.blocks):
        held += block
        encoder.push_count(block, 1)
        end = len(held) - len(encoder.pending)
        yield from explained_to(end)
        held, at = held[end:], at + end
        if len(held) > PIECE_BYTES_MAX:
            yield from explained_to(PIECE_BYTES_MAX)
            done = f"{at + PIECE_BYTES_MAX:,}"
            say(f"explained the first {done} bytes only: no piece ends in the last 500,000")
            return
    yield from explained_to(len(held))


def small(blocks: Iterator[bytes | str]) -> Iterator[bytes]:
    """Cut blocks into smaller ones."""
    for block in blocks:
        content = block.encode(errors="replace") if isinstance(block, str) else block
        for start in range(0, len(content), BLOCK_BYTES):
            yield content[start : start + BLOCK_BYTES]


def beginning(found: Iterator[Piece]) -> list[Piece]:
    """Keep the pieces of the first part of a text, which two views need."""
    kept = list[Piece]()
    for piece in found:
        if piece.end > BOTH_BYTES_MAX and kept:
            say(f"shown is the first {kept[-1].end:,} bytes; give --rules or --merges for all")
            break
        kept.append(piece)
    return kept


def print_json(found: Iterator[Piece]) -> None:
    """Print an explanation as one object, a piece at a time; the ids come last."""
    ids = array("I")
    click.echo('{"unit": "byte", "pieces": [', nl=False)
    for number, piece in enumerate(found):
        click.echo((", " if number else "") + json.dumps(piece.to_dict()), nl=False)
        ids.extend(piece.ids)
    click.echo('], "ids": [', nl=False)
    for start in range(0, len(ids), IDS_AT_ONCE):
        written = ", ".join(map(str, ids[start : start + IDS_AT_ONCE]))
        click.echo((", " if start else "") + written, nl=False)
    click.echo("]}")
