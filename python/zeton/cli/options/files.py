"""The files of a command as texts: unpacked, a block at a time, with `-` for standard input."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import click

import zeton
from zeton import corpus
from zeton.corpus.formats import compression_of, format_of, is_plain, kind_unlike_text

STDIN = "-"

BLOCK_BYTES = 1 << 20
"""Bytes of a text in memory at once; ids of a block take 40 times as many as lists."""

files_argument = click.argument("files", nargs=-1, metavar="[FILE]...")

raw_option = click.option(
    "--raw", is_flag=True, help="Take the bytes of files as they are; do not unpack."
)


@dataclass(frozen=True)
class Text:
    """A text of a file: the whole file, or a line of JSON, or a row of Parquet."""

    file: str
    blocks: Iterator[bytes | str]

    def read(self) -> bytes:
        """Return all bytes; of a lone surrogate, those of U+FFFD."""
        return b"".join(
            block.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
            if isinstance(block, str)
            else block
            for block in self.blocks
        )


def expanded(paths: Iterable[str]) -> list[str]:
    """Return the files of paths, folders and globs; `-` stays."""
    found = list[str]()
    for path in paths:
        refuse_shards([path])
        found += [path] if path == STDIN else map(str, corpus.files([path]))
    return found


def without_folders(paths: Iterable[str]) -> list[str]:
    """Return the files of paths and globs; a folder is an error, as it has many texts."""
    for path in paths:
        if path != STDIN:
            refuse_folder(path)
    return expanded(paths)


def refuse_folder(path: str) -> None:
    """Raise an error for a folder."""
    refuse_shards([path])
    if Path(path).is_dir():
        raise zeton.Error(f"{path} is a folder; name its files, or run `zeton shard {path}`")


def refuse_shards(paths: Iterable[str]) -> None:
    """Raise an error for a folder of shards, which a command would read as text."""
    for path in paths:
        if is_shards(path):
            reader = f"zeton.shards.open({path!r})"
            raise zeton.Error(
                f"{path} is a folder of shards, which are ids and no text; "
                f"find text in it with `zeton find`, or read a text's ids with {reader}.text(0)"
            )


def is_shards(path: str) -> bool:
    """Return whether a path is a folder of shards."""
    manifest = Path(path, "manifest.json")
    if not manifest.is_file():
        return False
    from zeton.shards.manifest import is_manifest  # Importing shards imports NumPy.

    return is_manifest(manifest)


def texts_of(file: str, *, field: str = "text", raw: bool = False) -> Iterator[Text]:
    """Yield the texts of a file: one, or those of JSON lines and Parquet."""
    path = Path(file)
    if raw or file == STDIN:
        yield Text(file, blocks(file) if raw else plain(file, blocks(file)))
    elif format_of(path).holds_many:
        for row in corpus.parts([path], field, cut=len):
            yield Text(file, iter([row]))
    elif compression_of(path) is not None:
        yield Text(file, corpus.parts([path], cut=len))
    else:
        yield Text(file, plain(file, blocks(file)))


def one_text(file: str, *, raw: bool) -> Iterator[bytes]:
    """Yield the blocks of the one text of a file; JSON lines and Parquet are an error."""
    path = Path(file)
    if not raw and file != STDIN and format_of(path).holds_many:
        command = click.get_current_context().info_name
        raise zeton.Error(
            f"{file} holds many texts, and {command} takes one; "
            "pass a text by standard input, or give --raw for the file's bytes as they are"
        )
    for text in texts_of(file, raw=raw):
        yield from (block.encode() if isinstance(block, str) else block for block in text.blocks)


def blocks(file: str) -> Iterator[bytes]:
    """Read the bytes of a file, a block at a time; of a pipe, as they come."""
    if file == STDIN:
        yield from iter(lambda: read_some(stdin()), b"")
        return
    with Path(file).open("rb", buffering=0) as source:
        yield from iter(lambda: source.read(BLOCK_BYTES), b"")


def read_some(source: BinaryIO) -> bytes:
    """Read what a stream has, at most a block."""
    read1 = getattr(source, "read1", source.read)
    content: bytes = read1(BLOCK_BYTES)
    return content


def plain(file: str, found: Iterator[bytes]) -> Iterator[bytes]:
    """Yield blocks of a file; compressed or binary formats are an error, by their first bytes."""
    first = next(found, b"")
    if kind := kind_unlike_text(first):
        name = "standard input" if file == STDIN else file
        raise zeton.Error(f"{name} is not text but {kind}, or give --raw for its bytes as they are")
    yield first
    yield from found


def size_of(file: str, *, raw: bool = False) -> int | None:
    """Return the bytes of a plain file, and None where its text has another size."""
    path = Path(file)
    if file == STDIN or (not raw and not is_plain(path)):
        return None
    return path.stat().st_size


def stdin() -> BinaryIO:
    """Return standard input, which may be closed."""
    if sys.stdin is None:
        raise zeton.Error("standard input is closed; name a file")
    return sys.stdin.buffer


def read(file: str) -> bytes:
    """Read all bytes of a file."""
    return stdin().read() if file == STDIN else Path(file).read_bytes()


def bytes_of(argument: str) -> bytes:
    """Return the bytes of a text that came as an argument, UTF-8 or not."""
    return argument.encode(errors="surrogateescape")
