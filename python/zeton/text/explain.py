"""How a text becomes its ids: the pieces, the rule that made each, and every merge in order."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from zeton._engine import explain
from zeton.text.fit import AllowedSpecial, readable
from zeton.text.offsets import Unit

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["SPECIAL", "Explanation", "Merge", "Piece", "explained", "piece_of"]

SPECIAL = "special"
"""The rule of a special."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Two neighbours of a piece become one token."""

    left: bytes
    right: bytes
    left_id: int
    right_id: int
    id: int
    """Of the two joined."""
    start: int
    """Where the left one begins, in bytes of the piece."""

    @property
    def token(self) -> bytes:
        """The two joined."""
        return self.left + self.right

    @property
    def rank(self) -> int:
        """The priority of the merge: the lower, the earlier. It is the id."""
        return self.id

    @property
    def middle(self) -> int:
        """Where the left one ends and the right one begins, in bytes of the piece."""
        return self.start + len(self.left)

    @property
    def end(self) -> int:
        """Where the right one ends, in bytes of the piece."""
        return self.middle + len(self.right)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "left": _token(self.left, self.left_id),
            "right": _token(self.right, self.right_id),
            "joined": _token(self.token, self.id),
            "rank": self.rank,
            "start": self.start,
            "end": self.end,
        }


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a text, or a special in it, and how it becomes ids."""

    content: bytes
    start: int
    """Where it begins in the text, in the unit of the explanation."""
    end: int
    rule: str
    """What made it: a rule of the pattern, or "pattern" where its rules are not known, "special",
    "split" for a function."""
    ids: tuple[int, ...]
    whole: bool
    """Whether it was taken whole, without a merge: it is a token or a special."""
    merges: tuple[Merge, ...]
    """How its bytes merge, in order; also of a token that was taken whole."""

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """What each of its ids stands for."""
        return (self.content,) if self.whole else tuple(self._merged())

    @property
    def reached(self) -> bool:
        """Whether its merges lead to its ids: not so for a special, nor for some tokens."""
        return self.rule != SPECIAL and self._merged() == list(self.tokens)

    def steps(self) -> Iterator[list[bytes]]:
        """Yield the parts of the piece: its bytes at first, then what they are after each merge."""
        borders = list(range(len(self.content) + 1))
        yield self._between(borders)
        for merge in self.merges:
            del borders[bisect_left(borders, merge.middle)]
            yield self._between(borders)

    def _merged(self) -> list[bytes]:
        gone = {merge.middle for merge in self.merges}
        return self._between(at for at in range(len(self.content) + 1) if at not in gone)

    def _between(self, borders: Iterable[int]) -> list[bytes]:
        return [self.content[start:end] for start, end in pairwise(borders)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "text": self.content.decode(errors="replace"),
            "bytes": self.content.hex(),
            "start": self.start,
            "end": self.end,
            "rule": self.rule,
            "tokens": [_token(*each) for each in zip(self.tokens, self.ids, strict=True)],
            "whole": self.whole,
            "reached": self.reached,
            "merges": [merge.to_dict() for merge in self.merges],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """The pieces of a text, with all that makes ids of them."""

    pieces: tuple[Piece, ...]
    unit: Unit
    """What the places of pieces count."""

    @property
    def ids(self) -> list[int]:
        """The ids of the text."""
        return [each for piece in self.pieces for each in piece.ids]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, which JSON has too; bytes are in hexadecimal digits."""
        return {
            "unit": self.unit,
            "ids": self.ids,
            "pieces": [piece.to_dict() for piece in self.pieces],
        }


def explained(
    tokenizer: "Tokenizer", text: str | bytes, allowed_special: AllowedSpecial
) -> Explanation:
    """Explain how a text becomes its ids."""
    if not isinstance(text, str):
        pieces = explain(tokenizer, text, allowed_special, characters=False)
    else:
        try:
            pieces = explain(tokenizer, text, allowed_special, characters=True)
        except UnicodeEncodeError:
            pieces = explain(tokenizer, readable(text), allowed_special, characters=True)
    return Explanation(tuple(piece_of(*piece) for piece in pieces), unit_of(text))


def unit_of(text: str | bytes) -> Unit:
    """Return what places in a text count."""
    return "character" if isinstance(text, str) else "byte"


def piece_of(
    content: bytes,
    start: int,
    end: int,
    rule: str,
    merged: tuple[list[int], bool, list[tuple[int, int, int, int, int, int]]],
) -> Piece:
    """Make a piece of what the engine tells of it."""
    ids, whole, joins = merged
    merges = tuple(
        Merge(content[first:middle], content[middle:last], left, right, joined, first)
        for first, middle, last, left, right, joined in joins
    )
    return Piece(content, start, end, rule, tuple(ids), whole, merges)


def _token(token: bytes, token_id: int) -> dict[str, Any]:
    return {"id": token_id, "text": token.decode(errors="replace"), "bytes": token.hex()}
