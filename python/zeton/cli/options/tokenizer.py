"""The options that choose a tokenizer and the special tokens it looks for."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

import click

import zeton
from zeton.models import encoding_of_model, nearest_model
from zeton.suggest import did_you_mean, nearest
from zeton.tokenizer import FILE_NAME

FOLDER = "tokenizer"
"""The folder to which `zeton train` saves, and the default of the other commands."""

Specials: TypeAlias = Literal["all"] | tuple[str, ...]


def load(name: str, specials: Specials = (), *more: str | None) -> zeton.Tokenizer:
    """Load a pretrained tokenizer by its name, or a file by its path; check special tokens.

    `more` are values of `--prepend` and `--append`.
    """
    tokenizer = load_any(name)
    named = () if specials == "all" else specials
    check_specials(tokenizer, [*named, *(each for each in more if each is not None)])
    return tokenizer


def is_named() -> bool:
    """Return whether the command line has `-t`, so that its tokenizer is not the default."""
    source = click.get_current_context().get_parameter_source("name")
    return source is not click.core.ParameterSource.DEFAULT


def load_any(name: str) -> zeton.Tokenizer:
    """Load a tokenizer by name or path."""
    names = zeton.pretrained_names()
    if name in names:
        return zeton.pretrained(name)
    if name == FOLDER and not is_tokenizer(name):
        raise zeton.Error(
            f'there is no tokenizer in the folder "{FOLDER}"; '
            "run `zeton train` to make one, or give -t cl100k_base"
        )
    if not Path(name).exists():
        raise zeton.Error(f"no tokenizer {name!r}{hint(name, names)}")
    return zeton.load(name)


def hint(name: str, names: Iterable[str]) -> str:
    """Return the end of the message about an unknown name: a model's encoding, or the nearest.

    >>> hint("gpt-4o", ["o200k_base"])
    '; the model gpt-4o has o200k_base: give -t o200k_base'
    >>> hint("gpt4", ["cl100k_base"])
    '; the model gpt-4 has cl100k_base: give -t cl100k_base'
    >>> hint("cl100k", ["cl100k_base"])
    "; did you mean 'cl100k_base'?"
    """
    if encoding_of_model(name) is None and looks_like_path(name):
        return ": no such file"
    model = nearest_model(name)
    if model is not None:
        encoding = encoding_of_model(model)
        return f"; the model {model} has {encoding}: give -t {encoding}"
    if nearest(name, names):
        return did_you_mean(name, names)
    return f"; give a path, or one of {', '.join(names)}"


def looks_like_path(name: str) -> bool:
    """Return whether a name has a separator of folders or a suffix of letters.

    >>> [looks_like_path(name) for name in ("folder/x", "qwen.tiktoken", "gpt-3.5")]
    [True, True, False]
    """
    return "/" in name or os.sep in name or Path(name).suffix[1:].isalpha()


def check_specials(tokenizer: zeton.Tokenizer, names: Iterable[str]) -> None:
    """Raise an error for a special token that a tokenizer does not have."""
    known = tokenizer.specials
    for name in names:
        if name not in known:
            none = "; this tokenizer has none, and `zeton train --special` adds some"
            ways = did_you_mean(name, known) if known else none
            raise zeton.Error(f"no special token {name!r}{ways}")


def is_tokenizer(path: str) -> bool:
    """Return whether a path is a file, or a folder to which `zeton train` saved."""
    return Path(path).is_file() or Path(path, FILE_NAME).is_file()


def all_or_names(_: click.Context, __: click.Parameter, names: tuple[str, ...]) -> Specials:
    """Read `--special all` as every special token there is."""
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
    help="Special token to recognise in the text; without it all are plain text. Repeatable.",
)
