"""The options that say which tokenizer a command uses, and which specials it looks for."""

from pathlib import Path
from typing import Literal, TypeAlias

import click

import zeton
from zeton.tokenizer import FILE_NAME

FOLDER = "tokenizer"
"""Where `zeton train` saves and the other commands look, unless told otherwise."""

Specials: TypeAlias = Literal["all"] | tuple[str, ...]


def load(name: str) -> zeton.Tokenizer:
    """Load a pretrained tokenizer by its name, or one of the user's by its path."""
    names = zeton.pretrained_names()
    if name in names:
        return zeton.pretrained(name)
    if name == FOLDER and not is_tokenizer(name):
        raise zeton.Error(
            f'there is no tokenizer in the folder "{FOLDER}"; '
            "run `zeton train` to make one, or give -t cl100k_base"
        )
    if not Path(name).exists():
        raise zeton.Error(
            f'there is no tokenizer "{name}"; give a path or one of {", ".join(names)}'
        )
    return zeton.load(name)


def is_tokenizer(path: str) -> bool:
    """Say whether a path is a file, or a folder that `zeton train` saved to."""
    return Path(path).is_file() or Path(path, FILE_NAME).is_file()


def all_or_names(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> Specials:
    """Read `--special all` as every special there is."""
    return "all" if "all" in names else names


tokenizer_option = click.option(
    "-t",
    "--tokenizer",
    "name",
    default=FOLDER,
    show_default=True,
    metavar="TOKENIZER",
    help="A .zeton file, a folder that holds one, or a name such as cl100k_base.",
)

special_option = click.option(
    "--special",
    "specials",
    multiple=True,
    metavar="all|NAME",
    callback=all_or_names,
    help="A special to look for in the text; without it none is. May be repeated.",
)
