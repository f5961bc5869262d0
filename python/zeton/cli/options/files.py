"""The files of a command, as bytes, with `-` for standard input."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import click

import zeton

STDIN = "-"

BLOCK_BYTES = 1 << 22

files_argument = click.argument("files", nargs=-1, metavar="[FILE]...")


def read(file: str) -> bytes:
    """Read all bytes of a file."""
    return stdin().read() if file == STDIN else Path(file).read_bytes()


def blocks(file: str) -> Iterator[bytes]:
    """Read a file a block at a time."""
    if file == STDIN:
        yield from iter(lambda: stdin().read(BLOCK_BYTES), b"")
        return
    with Path(file).open("rb", buffering=0) as source:
        yield from iter(lambda: source.read(BLOCK_BYTES), b"")


def stdin() -> BinaryIO:
    """Return standard input, which may be closed."""
    if sys.stdin is None:
        raise zeton.Error("standard input is closed; name a file")
    return sys.stdin.buffer


def text_of(file: str) -> str | bytes:
    """Read a file as text; one that is not UTF-8 stays bytes, and its places are those of bytes."""
    content = read(file)
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content


def bytes_of(argument: str) -> bytes:
    """Give back the bytes of a text that came as an argument, UTF-8 or not."""
    return argument.encode(errors="surrogateescape")
