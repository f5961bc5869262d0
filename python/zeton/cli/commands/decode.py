"""`zeton decode`: ids in, text out."""

import re

import click

import zeton
from zeton.cli.options.files import STDIN, files_argument, read
from zeton.cli.options.tokenizer import load, tokenizer_option
from zeton.text.escape import visible

SEPARATORS = bytes.maketrans(b",[]", b"   ")
NUMBER = re.compile(rb"[0-9]{1,20}")


@click.command()
@files_argument
@tokenizer_option
def decode(*, files: tuple[str, ...], name: str) -> None:
    """Decode the ids of each FILE (standard input by default) into bytes.

    Ids are decimal numbers between spaces, line breaks, commas or brackets: what `zeton encode`
    prints, with --json or without. No byte is added to what they stand for.
    """
    tokenizer = load(name)
    for file in files or (STDIN,):
        click.echo(tokenizer.decode_bytes(numbers(read(file))), nl=False)


def numbers(text: bytes) -> list[int]:
    r"""Read the ids that a text holds.

    >>> numbers(b"[1, 2]\n[3]")
    [1, 2, 3]
    """
    words = text.translate(SEPARATORS).split()
    for word in words:
        if not NUMBER.fullmatch(word):
            raise zeton.Error(f'"{visible(word[:40])}" is not an id; an id is a decimal number')
    return [int(word) for word in words]
