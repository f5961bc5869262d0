"""Vocabularies that come with the package: OpenAI's, as tiktoken 0.14.0 defines them."""

from functools import cache
from pathlib import Path

from zeton._engine import with_specials
from zeton.errors import VocabError
from zeton.tokenizer import Tokenizer, load

__all__ = ["pretrained", "pretrained_names"]

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

# The tokens of each name, and its specials where they are not those of the file.
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
    """Return the names that `pretrained` knows."""
    return list(_NAMES)


@cache
def pretrained(name: str) -> Tokenizer:
    """Return a published tokenizer by name. It comes with the package; nothing is downloaded."""
    if name not in _NAMES:
        raise VocabError(f"{name!r} is no pretrained vocabulary; there are {', '.join(_NAMES)}")
    file, specials = _NAMES[name]
    tok = load(VOCABS / f"{file}.zeton")
    if specials is None:
        return tok
    return Tokenizer._of(  # noqa: SLF001 - our own constructor.
        with_specials(tok, list(specials.items()), tok.made_by)
    )
