"""`zeton chunk`: text in, chunks of at most N tokens out."""

import codecs
import json
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import click

import zeton
from zeton.cli.commands.truncate import border_help, borders, tokens_option
from zeton.cli.options.files import BLOCK_BYTES, STDIN, one_text, raw_option, refuse_folder
from zeton.cli.options.single import Single
from zeton.cli.options.sizes import Size
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.text.escape import visible
from zeton.text.fit import Border, Chunk

WINDOW = 1 << 20
"""Characters or bytes of text that are cut at a time."""

MARGIN = 1 << 16
"""Text behind a chunk that must be known, because borders and tokens look ahead."""

Unit = Literal["character", "byte"]


@click.command(
    cls=Single,
    epilog=examples(
        "zeton chunk book.txt -n 512 --overlap 64 --at sentence --json > chunks.jsonl",
        "zeton chunk -n 1k -t cl100k_base < notes.txt",
    ),
)
@click.argument("file", default=STDIN)
@tokens_option
@tokenizer_option
@special_option
@click.option(
    "--overlap",
    type=Size(),
    default=0,
    metavar="N",
    help="Maximum number of tokens that a chunk repeats from the chunk before it.",
)
@click.option("--at", type=borders, default="piece", show_default=True, help=border_help)
@click.option(
    "--unit",
    type=click.Choice(["character", "byte"]),
    help="Unit of places; by default characters, and bytes if FILE is not UTF-8.",
)
@raw_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object a line.")
def chunk(
    *,
    file: str,
    tokens: int,
    name: str,
    specials: Specials,
    overlap: int,
    at: Border,
    unit: Unit | None,
    raw: bool,
    as_json: bool,
) -> None:
    """Cut FILE (standard input by default) into chunks of at most N tokens, one a line.

    A line has the start and the end of the chunk, its number of tokens, and its text, escaped.
    """
    if tokens < 1:
        raise zeton.Error(f"--tokens is {tokens}; a chunk needs at least 1")
    if file != STDIN:
        refuse_folder(file)
    tokenizer = load(name, specials)

    def cut(text: Any) -> list[Chunk[Any]]:  # noqa: ANN401 - str or bytes.
        return tokenizer.chunk(text, n=tokens, overlap=overlap, at=at, allowed_special=specials)

    read = one_text(file, raw=raw)
    if unit is None:
        beginning, read = peeked(read)
        unit = "character" if is_utf_8(file, beginning, raw=raw) else "byte"
    parts = decoded(read, file) if unit == "character" else read
    for each in chunks(parts, cut, "" if unit == "character" else b""):
        part = each.text if isinstance(each.text, str) else each.text.decode(errors="replace")
        if as_json:
            row = {"start": each.start, "end": each.end, "unit": unit, "tokens": each.tokens}
            click.echo(json.dumps(row | {"text": part}))
        else:
            click.echo(f"{each.start}\t{each.end}\t{each.tokens}\t{visible(part)}")


def chunks(
    parts: Iterator[Any], cut: Callable[[Any], list[Chunk[Any]]], empty: str | bytes
) -> Iterator[Chunk[Any]]:
    """Yield the chunks of a text of any size, equal to the chunks of the whole text.

    A chunk depends on the text from its start on. So a window of the text is cut, all chunks but
    the last ones are yielded, and the next window starts at the last chunk that was yielded.
    """
    held, length, at, wanted, known = [empty], 0, 0, WINDOW, 0
    for part in parts:
        held.append(part)
        length += len(part)
        if length < wanted:
            continue
        text = empty.join(held)  # type: ignore[arg-type] # All are str, or all are bytes.
        found = cut(text)
        settled = [each for each in found[:-2] if each.end + MARGIN <= length]
        if len(settled) <= known:
            held, wanted = [text], 2 * length
            continue
        yield from (moved(each, at) for each in settled[known:])
        start = settled[-1].start
        held, length, at, known = [text[start:]], length - start, at + start, 1
        wanted = length + WINDOW
    rest = empty.join(held)  # type: ignore[arg-type]
    yield from (moved(each, at) for each in cut(rest)[known:])


def moved(chunk: Chunk[Any], by: int) -> Chunk[Any]:
    """Return a chunk of a window with its places in the whole text."""
    return chunk._replace(start=chunk.start + by, end=chunk.end + by)


def peeked(blocks: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the beginning of a text, and all its blocks."""
    read, size = list[bytes](), 0
    while size < BLOCK_BYTES and (block := next(blocks, b"")):
        read.append(block)
        size += len(block)
    return b"".join(read), chain(read, blocks)


def is_utf_8(file: str, beginning: bytes, *, raw: bool) -> bool:
    """Return whether a file is UTF-8; of a stream, which is read once, whether it begins so."""
    again = file != STDIN and Path(file).is_file()
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for block in one_text(file, raw=raw) if again else [beginning]:
            decoder.decode(block)
        decoder.decode(b"", final=again or len(beginning) < BLOCK_BYTES)
    except UnicodeDecodeError:
        return False
    return True


def decoded(blocks: Iterator[bytes], file: str) -> Iterator[str]:
    """Decode UTF-8 a block at a time."""
    decoder, done = codecs.getincrementaldecoder("utf-8")(), 0
    for block in chain(blocks, [b""]):
        try:
            yield decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            name = "standard input" if file == STDIN else file
            place = f"near byte {done + error.start:,}"
            raise zeton.Error(f"{name} is not UTF-8 {place}; give --unit byte") from None
        done += len(block)
