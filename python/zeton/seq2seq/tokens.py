"""The two tokenizers of a model: texts become rows of ids, ids become texts."""

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
"""The specials that a model needs: one before each answer, one after each text."""


@dataclass(frozen=True)
class Tokens:
    """A source tokenizer and a target tokenizer, both with the two specials."""

    source: Tokenizer
    target: Tokenizer
    backward: bool = False
    """True if answers are written from their last token to their first."""

    @classmethod
    def of(cls, source: Tokenizer, target: Tokenizer) -> "Tokens":
        """Wrap any two tokenizers; missing specials are added after their last ids."""
        return cls(_with_specials(source), _with_specials(target))

    @classmethod
    def train(cls, pairs: Iterable[Pair], source_size: int, target_size: int) -> "Tokens":
        """Train both tokenizers on pairs; the sizes include the two specials.

        The smallest size is 258: 256 bytes and the two specials. A small corpus gives fewer ids.
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
        """The number of rows of the encoder's embedding."""
        return _size(self.source)

    @property
    def target_size(self) -> int:
        """The number of ids that the decoder predicts among."""
        return _size(self.target)

    @property
    def begin(self) -> int:
        """The id before every answer."""
        return self.target.specials[BEGIN]

    @property
    def end(self) -> int:
        """The id after every text."""
        return self.target.specials[END]

    def sources(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode source texts, each with its end, so that an empty text has one id."""
        return self.source.encode_batch(texts, threads=1, append=END)

    def targets(self, texts: Sequence[str]) -> list[list[int]]:
        """Encode target texts, each with its end."""
        rows = self.target.encode_batch(texts, threads=1, append=END)
        return [[*row[-2::-1], self.end] for row in rows] if self.backward else rows

    def text(self, ids: Sequence[int]) -> str:
        """Decode the ids of an answer, up to its end."""
        ids = list(ids)
        if self.end in ids:
            ids = ids[: ids.index(self.end)]
        if self.backward:
            ids.reverse()
        return self.target.decode([each for each in ids if each != self.begin])


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return rows of ids as one tensor, padded with zeros, and their lengths."""
    lengths = [len(row) for row in rows]
    longest = max(lengths)
    filled = [[*row, *([0] * (longest - len(row)))] for row in rows]
    return torch.tensor(filled, device=device), torch.tensor(lengths)


def _size(tokenizer: Tokenizer) -> int:
    """Return the first number above all ids, which may have gaps."""
    return 1 + max([*tokenizer.ranks().values(), *tokenizer.specials.values()])


def _with_specials(tokenizer: Tokenizer) -> Tokenizer:
    missing = [name for name in (BEGIN, END) if name not in tokenizer.specials]
    if not missing:
        return tokenizer
    first = _size(tokenizer)
    specials = tokenizer.specials | {name: first + at for at, name in enumerate(missing)}
    return Tokenizer(tokenizer.ranks(), pattern=tokenizer.pattern, specials=specials)
