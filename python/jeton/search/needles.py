"""What is looked for in files: one needle or thousands, overlapping matches too."""

from dataclasses import dataclass, field
from functools import cached_property

from jeton._engine import NeedleFinder
from jeton.errors import SearchError
from jeton.visible import visible

__all__ = ["Needles"]

GROWTH = 4
"""How many times as long as its needle a match is at most, if the case is ignored."""


@dataclass(frozen=True)
class Needles:
    """Texts without line breaks, as bytes, and how they are to be found."""

    texts: tuple[bytes, ...]
    whole_word: bool = field(default=False, kw_only=True)
    ignore_case: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Refuse what is in no line."""
        if not self.texts:
            raise SearchError("there is no needle; give at least one")
        for text in self.texts:
            if b"\n" in text:
                told = visible(text[:40])
                raise SearchError(f'the needle "{told}" holds a line break; give it line by line')
        _ = self._finder

    @cached_property
    def bytes_max(self) -> int:
        """How many bytes a match has at most."""
        return max(map(len, self.texts)) * (GROWTH if self.ignore_case else 1)

    def every(self, text: bytes, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Return start, end and needle of all matches that begin in a range, by their start."""
        return self._finder.every(text, start, stop)

    @cached_property
    def _finder(self) -> NeedleFinder:
        return NeedleFinder(self.texts, self.whole_word, self.ignore_case)
