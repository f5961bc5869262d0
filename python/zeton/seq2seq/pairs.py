"""A file of pairs → pairs: a text, a tab and the text that it should become, a line each."""

import codecs
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zeton.errors import file_error
from zeton.seq2seq.errors import PairsError
from zeton.work.files import given

__all__ = ["Pair", "Pairs", "place_of", "read_pairs", "references_of"]

LINE_BYTES_MAX = 1 << 20
"""A longer line is a bad one: no model here learns from a text of a megabyte."""

NAMED_MAX = 5
"""So many bad lines are named; all are counted."""


class Pair(NamedTuple):
    """A text and what it should become."""

    source: str
    target: str


@dataclass
class Pairs(Sequence[Pair]):
    """Pairs as they came, and what was left out on the way."""

    pairs: list[Pair]
    bad: int = 0
    """How many lines were no pair."""
    named: list[str] = field(default_factory=list)
    """The first of them, with their numbers and what is wrong."""

    def __getitem__(self, at: int) -> Pair:  # type: ignore[override] # No slices.
        """Return a pair."""
        return self.pairs[at]

    def __len__(self) -> int:
        """Return how many pairs there are."""
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        """Yield the pairs."""
        return iter(self.pairs)

    def parted(self, share: float, salt: str = "validation") -> "tuple[Pairs, Pairs]":
        """Return two parts; the second is about a `share`, chosen by the hash of the source.

        Pairs of one source are never in both.
        """
        held = [place_of(pair.source, salt) < share for pair in self.pairs]
        first = [pair for pair, is_held in zip(self.pairs, held, strict=True) if not is_held]
        second = [pair for pair, is_held in zip(self.pairs, held, strict=True) if is_held]
        return Pairs(first, self.bad, self.named), Pairs(second)

    def remarks(self) -> list[str]:
        """Say what was left out: the first bad lines by name, then how many there are."""
        if not self.bad:
            return []
        lines = "line" if self.bad == 1 else "lines"
        return [*self.named, f"left out {self.bad} bad {lines}, and took {len(self)} pairs"]


def read_pairs(path: str | os.PathLike[str]) -> Pairs:
    """Read pairs from a file; a line that is no pair is left out, counted and named.

    A pair is two texts that are not empty, with one tab between them, in UTF-8.
    """
    source = given(path)
    found = Pairs([])
    try:
        with source.open("rb") as file:
            for number, line in enumerate(_lines(file), 1):
                pair, wrong = _pair(line)
                if pair is not None:
                    found.pairs.append(pair)
                    continue
                found.bad += 1
                if len(found.named) < NAMED_MAX:
                    found.named.append(f"{source}, line {number}: {wrong}")
    except (OSError, ValueError) as error:
        raise file_error(source, "read", error) from None
    if not found.pairs:
        what = found.named[0] if found.named else f"{source} is empty"
        raise PairsError(f"{what}; give lines of a text, a tab and what it should become")
    return found


def place_of(text: str, salt: str) -> float:
    """Return a number from 0 to below 1 that depends on nothing but the text and the salt.

    >>> place_of("word", "test") == place_of("word", "test") != place_of("word", "other")
    True
    """
    digest = hashlib.sha256(f"{salt}\0{text}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / (1 << 48)


def references_of(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Return for each source all that it may become, in their order.

    >>> references_of([Pair("a", "AH"), Pair("a", "EY")])
    {'a': ['AH', 'EY']}
    """
    found: dict[str, list[str]] = {}
    for source, target in pairs:
        targets = found.setdefault(source, [])
        if target not in targets:
            targets.append(target)
    return found


def _lines(file: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends, and without a byte order mark before the first."""
    for number, line in enumerate(file):
        bare = line if number else line.removeprefix(codecs.BOM_UTF8)
        yield bare.removesuffix(b"\n").removesuffix(b"\r")


def _pair(line: bytes) -> tuple[Pair | None, str]:
    """Return a line's pair, or what is wrong with it."""
    if len(line) > LINE_BYTES_MAX:
        return None, f"it has {len(line)} bytes, and may have {LINE_BYTES_MAX}"
    try:
        parts = line.decode().split("\t")
    except UnicodeDecodeError:
        return None, "it is not UTF-8"
    if len(parts) != 2:
        return None, f"it has {len(parts) - 1} tabs, not one"
    if not (parts[0] and parts[1]):
        return None, "one of its texts is empty"
    return Pair(*parts), ""
