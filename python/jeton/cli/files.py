"""The files of a command: read whole, as bytes, with `-` for standard input."""

import sys
from pathlib import Path

import click

STDIN = "-"

files_argument = click.argument("files", nargs=-1, metavar="[FILE]...")


def read(file: str) -> bytes:
    """Read all bytes of a file."""
    return sys.stdin.buffer.read() if file == STDIN else Path(file).read_bytes()


def bytes_of(argument: str) -> bytes:
    """Give back the bytes of a text that came as an argument, UTF-8 or not."""
    return argument.encode(errors="surrogateescape")
