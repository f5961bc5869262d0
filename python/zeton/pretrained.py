"""OpenAI's vocabularies, which are part of the package, as tiktoken 0.14.0 defines them."""

import os
from functools import cache
from pathlib import Path

from zeton._engine import with_specials
from zeton.errors import ArgumentTypeError, VocabError
from zeton.models import encoding_of_model, nearest_model
from zeton.suggest import did_you_mean, nearest
from zeton.tokenizer import Tokenizer, load

__all__ = ["names_of_path", "pretrained", "pretrained_names"]

VOCABS = Path(__file__).parent / "vocabs"
"""One `.zeton` file for each set of tokens; see NOTICE for where they come from."""

_HARMONY = {
    "<|endoftext|>": 199999,
    "<|endofprompt|>": 200018,
    "<|startoftext|>": 199998,
    "<|reserved_200000|>": 200000,
    "<|reserved_200001|>": 200001,
    "<|return|>": 200002,
    "<|constrain|>": 200003,
    "<|reserved_200004|>": 200004,
    "<|channel|>": 200005,
    "<|start|>": 200006,
    "<|end|>": 200007,
    "<|message|>": 200008,
    "<|reserved_200009|>": 200009,
    "<|reserved_200010|>": 200010,
    "<|reserved_200011|>": 200011,
    "<|call|>": 200012,
} | {f"<|reserved_{number}|>": number for number in range(200013, 201088)}

_EDIT = {
    "<|endoftext|>": 50256,
    "<|fim_prefix|>": 50281,
    "<|fim_middle|>": 50282,
    "<|fim_suffix|>": 50283,
}

# The file of tokens of each name, and the specials if the file has others.
_NAMES: dict[str, tuple[str, dict[str, int] | None]] = {
    "gpt2": ("r50k_base", None),
    "r50k_base": ("r50k_base", None),
    "p50k_base": ("p50k_base", None),
    "p50k_edit": ("p50k_base", _EDIT),
    "cl100k_base": ("cl100k_base", None),
    "o200k_base": ("o200k_base", None),
    "o200k_harmony": ("o200k_base", _HARMONY),
}


def pretrained_names() -> list[str]:
    """Return the names that `pretrained` takes.

    >>> "cl100k_base" in pretrained_names()
    True
    """
    return list(_NAMES)


@cache
def pretrained(name: str) -> Tokenizer:
    """Return a published tokenizer by name, out of the package, without a download.

    >>> pretrained("cl100k_base").encode("Hello world")
    [9906, 1917]
    """
    if not isinstance(name, str):
        raise ArgumentTypeError(f"the name of a vocabulary is a str, not {type(name).__name__}")
    if name not in _NAMES:
        raise VocabError(f"there is no pretrained vocabulary {name!r}{_way_out(name)}")
    file, specials = _NAMES[name]
    tok = load(VOCABS / f"{file}.zeton")
    if specials is None:
        return tok
    return Tokenizer._of(  # noqa: SLF001 - our own constructor.
        with_specials(tok, list(specials.items()), tok.made_by)
    )


def names_of_path(path: str | os.PathLike[str]) -> str:
    """Return the end of a message for a missing file that has nearly the name of a vocabulary.

    >>> names_of_path("gpt2")
    "; zeton.pretrained('gpt2') has the published vocabulary"
    >>> names_of_path("folder/gpt2.zeton")
    ''
    """
    text = os.fspath(path)
    name = encoding_of_model(text) or (nearest(text, _NAMES) if os.sep not in text else None)
    return f"; zeton.pretrained({name!r}) has the published vocabulary" if name else ""


def _way_out(name: str) -> str:
    """Return the end of a message for an unknown name: the model's vocabulary, or a near name."""
    model = nearest_model(name)
    if model is not None:
        encoding = encoding_of_model(model)
        return f", but the model {model} reads {encoding!r}: zeton.pretrained({encoding!r})"
    return did_you_mean(name, _NAMES)
