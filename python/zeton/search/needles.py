"""What is looked for in files: one needle or thousands, overlapping matches too."""

from dataclasses import dataclass, field
from functools import cached_property

from zeton.errors import SearchError
from zeton.search.finder import Finder
from zeton.search.many import FinderMany
from zeton.text.escape import visible

__all__ = ["Needles"]

GROWTH = 4
"""How many times as long as its needle a match is at most, if the case is ignored."""


@dataclass(frozen=True)
class Needles:
    """Texts, as bytes, and how they are to be found."""

    texts: tuple[bytes, ...]
    whole_word: bool = field(default=False, kw_only=True)
    ignore_case: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what cannot be found."""
        if not self.texts:
            raise SearchError("there is no needle; give at least one")
        _ = self._finder

    def refuse_line_breaks(self) -> None:
        """Refuse what is in no line."""
        for text in self.texts:
            if b"\n" in text:
                told = visible(text[:40])
                raise SearchError(
                    f'the needle "{told}" holds a line break, which is found in ids only; texts '
                    "are looked through line by line"
                )

    @cached_property
    def bytes_max(self) -> int:
        """How many bytes a match has at most."""
        return max(map(len, self.texts)) * (GROWTH if self.ignore_case else 1)

    def every(self, text: bytes, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Return start, end and needle of all matches that begin in a range, by their start."""
        finder = self._finder
        if isinstance(finder, Finder):
            spans = finder.spans(text, overlapping=True)
            return [(first, end, 0) for first, end in spans if start <= first < stop]
        found = finder.find_all(text, overlapping=True)
        return [(at, end, needle) for at, end, needle in found if start <= at < stop]

    @cached_property
    def _finder(self) -> Finder | FinderMany:
        options = {"whole_word": self.whole_word, "ignore_case": self.ignore_case}
        if len(self.texts) == 1:
            return Finder(self.texts[0], **options)
        return FinderMany(self.texts, **options)
