"""Needles for files: one or thousands, with all overlapping matches."""

from dataclasses import dataclass, field
from functools import cached_property

from zeton.errors import SearchError
from zeton.search.finder import Finder
from zeton.search.finder_many import FinderMany
from zeton.text.escape import visible

__all__ = ["Needles"]

GROWTH = 4
"""The longest match in bytes, as a multiple of its needle, if case is ignored."""


@dataclass(frozen=True)
class Needles:
    """Needles as bytes, and the options of their search."""

    texts: tuple[bytes, ...]
    whole_word: bool = field(default=False, kw_only=True)
    ignore_case: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Build the finder, which checks each needle."""
        if not self.texts:
            raise SearchError("the list of needles is empty; give at least one")
        _ = self._finder

    def refuse_line_breaks(self) -> None:
        """Refuse a needle with a line break, which no line contains."""
        for text in self.texts:
            if b"\n" in text:
                raise SearchError(
                    f'the needle "{visible(text[:40])}" contains a line break, but text files are '
                    "searched line by line; search for the lines one by one, or search shards"
                )

    @cached_property
    def bytes_max(self) -> int:
        """The length of the longest possible match, in bytes."""
        return max(map(len, self.texts)) * (GROWTH if self.ignore_case else 1)

    def every(self, text: bytes, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Return start, end and needle of all matches that begin in a range, sorted by start."""
        finder = self._finder
        if isinstance(finder, Finder):
            spans = finder.spans(text, overlapping=True)
            return [(first, end, 0) for first, end in spans if start <= first < stop]
        found = finder.find_all(text, overlapping=True)
        return [(at, end, needle) for at, end, needle in found if start <= at < stop]

    def total(self, text: bytes) -> int:
        """Return the number of all matches, which takes no memory for each."""
        return self._finder.count(text, overlapping=True)

    @cached_property
    def _finder(self) -> Finder | FinderMany:
        options = {"whole_word": self.whole_word, "ignore_case": self.ignore_case}
        if len(self.texts) == 1:
            return Finder(self.texts[0], **options)
        return FinderMany(self.texts, **options)
