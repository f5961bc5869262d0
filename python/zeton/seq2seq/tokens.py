"""The two tokenizers of a model, and texts as rows of ids."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zeton.seq2seq.pairs import Pair
from zeton.tokenizer import Tokenizer
from zeton.training.api import train

__all__ = ["BEGIN", "END", "Tokens", "padded"]

BEGIN, END = "<|begin|>", "<|end|>"
"""The specials that a model needs: before what it writes, and after each text."""


@dataclass(frozen=True)
class Tokens:
    """A tokenizer for what is read and one for what is written, both with the two specials."""

    source: Tokenizer
    target: Tokenizer
    backward: bool = False
    """Whether what is written begins with its last token."""

    @classmethod
    def of(cls, source: Tokenizer, target: Tokenizer) -> "Tokens":
        """Take any two tokenizers; the specials that one lacks are added after its last id."""
        return cls(_with_specials(source), _with_specials(target))

    @classmethod
    def train(cls, pairs: Iterable[Pair], source_size: int, target_size: int) -> "Tokens":
        """Train both on pairs, to so many ids each, or fewer if there are no more pairs to merge.

        The least, 258, is bytes and the two specials.
        """
        sources, targets = zip(*pairs, strict=True)
        specials = (BEGIN, END)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the vocabulary has")
            return cls(
                train(sources, vocab_size=source_size, specials=specials),
                train(targets, vocab_size=target_size, specials=specials),
            )

    @property
    def source_size(self) -> int:
        """How many rows the encoder's embedding has."""
        return _size(self.source)

    @property
    def target_size(self) -> int:
        """How many ids the decoder chooses among."""
        return _size(self.target)

    @property
    def begin(self) -> int:
        """The id before what is written."""
        return self.target.specials[BEGIN]

    @property
    def end(self) -> int:
        """The id after what is written."""
        return self.target.specials[END]

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts to be read, each with its end: an empty text is one id."""
        return self.source.encode_batch(texts, threads=1, append=END)

    def targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode texts to be written, each with its end."""
        rows = self.target.encode_batch(texts, threads=1, append=END)
        return [[*row[-2::-1], self.end] for row in rows] if self.backward else rows

    def text(self, ids: Sequence[int]) -> str:
        """Decode what was written, up to its end."""
        ids = list(ids)
        if self.end in ids:
            ids = ids[: ids.index(self.end)]
        if self.backward:
            ids.reverse()
        return self.target.decode([each for each in ids if each != self.begin])


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return rows of ids as one tensor, filled up with zeros, and their lengths."""
    lengths = [len(row) for row in rows]
    longest = max(lengths)
    filled = [[*row, *([0] * (longest - len(row)))] for row in rows]
    return torch.tensor(filled, device=device), torch.tensor(lengths)


def _size(tokenizer: Tokenizer) -> int:
    """Return a number that is above every id; there may be gaps below it."""
    return 1 + max([*tokenizer.ranks().values(), *tokenizer.specials.values()])


def _with_specials(tokenizer: Tokenizer) -> Tokenizer:
    missing = [name for name in (BEGIN, END) if name not in tokenizer.specials]
    if not missing:
        return tokenizer
    first = _size(tokenizer)
    specials = tokenizer.specials | {name: first + at for at, name in enumerate(missing)}
    return Tokenizer(tokenizer.ranks(), pattern=tokenizer.pattern, specials=specials)
