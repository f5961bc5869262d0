"""The files of a command: read whole, as bytes, with `-` for standard input."""

import sys
from pathlib import Path

import click

import jeton

STDIN = "-"

files_argument = click.argument("files", nargs=-1, metavar="[FILE]...")


def read(file: str) -> bytes:
    """Read all bytes of a file."""
    if file != STDIN:
        return Path(file).read_bytes()
    if sys.stdin is None:
        raise jeton.Error("standard input is closed; name a file")
    return sys.stdin.buffer.read()


def bytes_of(argument: str) -> bytes:
    """Give back the bytes of a text that came as an argument, UTF-8 or not."""
    return argument.encode(errors="surrogateescape")
