"""How a text becomes its ids: the pieces, the rule that made each, and every merge in order."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from zeton._engine import TokenizerCore, explain
from zeton.plural import counted
from zeton.text.escape import visible
from zeton.text.fit import AllowedSpecial, readable
from zeton.text.offsets import Unit

__all__ = ["SPECIAL", "Explanation", "Merge", "Piece", "explained", "piece_of"]

SPECIAL = "special"
"""The rule of a special."""

SHOWN = 5
"""Pieces that the `repr` of an explanation shows."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Two neighbouring tokens of a piece become one token."""

    left: bytes
    right: bytes
    left_id: int
    right_id: int
    id: int
    """The id of the two joined, which is also the rank of the merge."""
    start: int
    """The start of the left token, in bytes of the piece."""

    @property
    def token(self) -> bytes:
        """The bytes of the two joined."""
        return self.left + self.right

    @property
    def rank(self) -> int:
        """The priority of the merge: the lower, the earlier. It is the id."""
        return self.id

    @property
    def middle(self) -> int:
        """The border between the left and the right token, in bytes of the piece."""
        return self.start + len(self.left)

    @property
    def end(self) -> int:
        """The end of the right token, in bytes of the piece."""
        return self.middle + len(self.right)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, which JSON can hold."""
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
    """A piece of a text, or a special in it, with its merges and ids."""

    content: bytes
    start: int
    """The start in the text, in the unit of the explanation."""
    end: int
    rule: str
    """The rule that cut it: a rule of the pattern, "pattern" if its rules are unknown, "special",
    or "split" for a function."""
    ids: tuple[int, ...]
    whole: bool
    """Whether it was taken whole, without a merge, because it is a token or a special."""
    merges: tuple[Merge, ...]
    """The merges of its bytes, in order; also for a token that was taken whole."""

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """The bytes of each of its ids."""
        return (self.content,) if self.whole else tuple(self._merged())

    @property
    def reached(self) -> bool:
        """Whether its merges lead to its ids; false for a special and for some tokens."""
        return self.rule != SPECIAL and self._merged() == list(self.tokens)

    def steps(self) -> Iterator[list[bytes]]:
        """Yield the parts of the piece: first its bytes, then the parts after each merge."""
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
        """Return the fields as plain values, which JSON can hold."""
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


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """The pieces of a text, with the merges that make ids of them.

    A notebook shows it as a table of pieces.
    """

    pieces: tuple[Piece, ...]
    unit: Unit
    """The unit of `start` and `end` of the pieces: "character" or "byte"."""

    @property
    def ids(self) -> list[int]:
        """The ids of the text."""
        return [each for piece in self.pieces for each in piece.ids]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, which JSON can hold; bytes are hexadecimal digits."""
        return {
            "unit": self.unit,
            "ids": self.ids,
            "pieces": [piece.to_dict() for piece in self.pieces],
        }

    def __repr__(self) -> str:
        """Return the number of pieces and ids, and the first pieces."""
        first = [f"{visible(piece.content)} ({piece.rule})" for piece in self.pieces[:SHOWN]]
        rest = len(self.pieces) - len(first)
        more = f", and {rest} more" if rest > 0 else ""
        pieces, ids = len(self.pieces), sum(len(piece.ids) for piece in self.pieces)
        start = f"<zeton.Explanation: {counted(pieces, 'piece')}, {counted(ids, 'id')}"
        return f"{start}: {', '.join(first)}{more}>" if first else f"{start}>"

    def _repr_html_(self) -> str:
        from zeton.display.cards import explanation_card  # noqa: PLC0415 - for notebooks only.

        return explanation_card(self)


def explained(
    tokenizer: TokenizerCore, text: str | bytes, allowed_special: AllowedSpecial
) -> Explanation:
    """Return the pieces of a text and their merges."""
    if not isinstance(text, str):
        pieces = explain(tokenizer, text, allowed_special, characters=False)
    else:
        try:
            pieces = explain(tokenizer, text, allowed_special, characters=True)
        except UnicodeEncodeError:
            pieces = explain(tokenizer, readable(text), allowed_special, characters=True)
    return Explanation(tuple(piece_of(*piece) for piece in pieces), unit_of(text))


def unit_of(text: str | bytes) -> Unit:
    """Return the unit of positions in a text."""
    return "character" if isinstance(text, str) else "byte"


def piece_of(
    content: bytes,
    start: int,
    end: int,
    rule: str,
    merged: tuple[list[int], bool, list[tuple[int, int, int, int, int, int]]],
) -> Piece:
    """Make a piece of the values that the engine returns."""
    ids, whole, joins = merged
    merges = tuple(
        Merge(content[first:middle], content[middle:last], left, right, joined, first)
        for first, middle, last, left, right, joined in joins
    )
    return Piece(content, start, end, rule, tuple(ids), whole, merges)


def _token(token: bytes, token_id: int) -> dict[str, Any]:
    return {"id": token_id, "text": token.decode(errors="replace"), "bytes": token.hex()}
