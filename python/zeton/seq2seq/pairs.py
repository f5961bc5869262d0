"""Files of pairs: each line is a source text, a tab and its target text."""

import codecs
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zeton.errors import file_error
from zeton.seq2seq.errors import PairsError
from zeton.work.files import require_path

__all__ = ["Pair", "Pairs", "hash_fraction", "read_pairs", "references_of"]

LINE_BYTES_MAX = 1 << 20
"""The longest line; a longer one is bad, because no model here trains on a text of a megabyte."""

NAMED_MAX = 5
"""The largest number of bad lines that warnings name; all are counted."""


class Pair(NamedTuple):
    """A source text and its target text."""

    source: str
    target: str


@dataclass
class Pairs(Sequence[Pair]):
    """Pairs of a file in order, and a count of its bad lines."""

    pairs: list[Pair]
    bad: int = 0
    """The number of lines that were no pair."""
    named: list[str] = field(default_factory=list)
    """Messages about the first bad lines, with their numbers."""

    def __getitem__(self, at: int) -> Pair:  # type: ignore[override] # No slices.
        """Return a pair."""
        return self.pairs[at]

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def __iter__(self) -> Iterator[Pair]:
        """Yield the pairs."""
        return iter(self.pairs)

    def partition(self, share: float, salt: str = "validation") -> "tuple[Pairs, Pairs]":
        """Return two parts; the second has about a `share` of the sources, chosen by their hash.

        All pairs of a source are in the same part.
        """
        held = [hash_fraction(pair.source, salt) < share for pair in self.pairs]
        first = [pair for pair, is_held in zip(self.pairs, held, strict=True) if not is_held]
        second = [pair for pair, is_held in zip(self.pairs, held, strict=True) if is_held]
        return Pairs(first, self.bad, self.named), Pairs(second)

    def warnings(self) -> list[str]:
        """Return a message for each of the first bad lines, then one with their number."""
        if not self.bad:
            return []
        lines = "line" if self.bad == 1 else "lines"
        return [*self.named, f"skipped {self.bad} bad {lines}, read {len(self)} pairs"]


def read_pairs(path: str | os.PathLike[str]) -> Pairs:
    """Read pairs from a file; a bad line is skipped, counted and named in the warnings.

    A good line is UTF-8 and has two texts that are not empty, with one tab between them.
    """
    source = require_path(path)
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
        reason = found.named[0] if found.named else f"{source} is empty"
        raise PairsError(f"{reason}; each line must be a source text, a tab and a target text")
    return found


def hash_fraction(text: str, salt: str) -> float:
    """Return a hash of the text and the salt, as a number from 0 to below 1.

    >>> round(hash_fraction("word", "test"), 3)
    0.162
    """
    digest = hashlib.sha256(f"{salt}\0{text}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / (1 << 48)


def references_of(pairs: Iterable[Pair]) -> dict[str, list[str]]:
    """Return all targets of each source, in order.

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
    """Yield lines without line ends, and without a byte order mark before the first."""
    for number, line in enumerate(file):
        bare = line if number else line.removeprefix(codecs.BOM_UTF8)
        yield bare.removesuffix(b"\n").removesuffix(b"\r")


def _pair(line: bytes) -> tuple[Pair | None, str]:
    """Return a line's pair, or None and the reason why it is bad."""
    if len(line) > LINE_BYTES_MAX:
        return None, f"it has {len(line):,} bytes; the limit is {LINE_BYTES_MAX:,}"
    try:
        parts = line.decode().split("\t")
    except UnicodeDecodeError:
        return None, "it is not UTF-8"
    if len(parts) != 2:
        return None, f"it has {len(parts) - 1} tabs instead of one"
    if not (parts[0] and parts[1]):
        return None, "one of its two texts is empty"
    return Pair(*parts), ""
