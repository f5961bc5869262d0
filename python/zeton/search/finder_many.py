"""Search for many needles in one pass.

Of overlapping matches the leftmost wins, then the longest, then the needle listed first.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from zeton import _engine
from zeton.errors import SearchError
from zeton.search.needle import (
    END,
    MATCHES_AT_ONCE,
    Needle,
    Text,
    freeze,
    replace_ranges,
    resolve_index,
)
from zeton.search.value import FinderValue
from zeton.suggest import nearest

__all__ = ["FinderMany", "Match"]

SHOWN = 3
"""Needles that a repr shows."""

SUGGESTED_FROM = 1000
"""Needles among which a misspelt one is looked for."""


class Match(NamedTuple):
    """The start and end of a match, and the index of its needle."""

    start: int
    end: int
    needle: int


class FinderMany(FinderValue[tuple[Needle, ...]]):
    """A search for many needles: str in str, bytes in bytes, ids in arrays of ids.

    >>> FinderMany(["New", "New York"]).find("in New York")
    Match(start=3, end=11, needle=1)
    """

    __slots__ = ("_engine",)

    def __init__(
        self, needles: Iterable[Text], *, whole_word: bool = False, ignore_case: bool = False
    ) -> None:
        """Build the tables of the needles; `Finder` has the same options."""
        if isinstance(needles, (str, bytes)):
            raise TypeError(f"needles must be a list, not one {_kind(needles)}")
        super().__init__(
            tuple(map(freeze, needles)), whole_word=bool(whole_word), ignore_case=bool(ignore_case)
        )
        self._engine = _engine.FinderMany(*self._key())

    @property
    def needles(self) -> tuple[Needle, ...]:
        """The needles, as immutable values."""
        return self._needles

    def find(self, text: Text, *, start: int | None = 0) -> Match | None:
        """Return the first match from `start` on; of several there, the longest."""
        first = resolve_index(start, text)
        found = self._engine.matches(text, first, overlapping=False, limit=1)
        return Match(*found[0]) if found else None

    def find_all(self, text: Text, *, overlapping: bool = False) -> Iterator[Match]:
        """Iterate over the matches, each behind the end of the previous one.

        With `overlapping`, iterate over all matches of all needles, sorted by start, then longest
        first, then in the order of the needles.
        """
        at_once = END if isinstance(text, str) and not text.isascii() else MATCHES_AT_ONCE
        start = 0
        while True:
            found = self._engine.matches(text, start, overlapping, at_once)
            yield from map(Match._make, found)
            if len(found) < at_once:
                return
            start = found[-1][0] + 1 if overlapping else found[-1][1]

    def count(self, text: Text, *, overlapping: bool = False) -> int:
        """Return the number of matches in a text."""
        return self._engine.count(text, 0, overlapping)

    def replace(
        self, text: Text, *, new: Mapping[Text, Text] | Sequence[Text], count: int = -1
    ) -> str | bytes | list[int]:
        """Return a text with its matches replaced.

        `new` maps needles to replacements, and a needle that it does not contain stays. Or it lists
        one replacement for each needle, in the order of the needles.
        """
        news: Sequence[Text]
        if isinstance(new, Mapping):
            named = {freeze(needle): other for needle, other in new.items()}
            for needle in named.keys() - set(self._needles):
                first = self._needles[:SUGGESTED_FROM]
                near = nearest(needle, [each for each in first if isinstance(each, str)])
                fix = "remove it" if near is None else f"did you mean {near!r:.60}?"
                raise SearchError(f"new has the key {needle!r:.60}, which is not a needle; {fix}")
            news = [named.get(needle, needle) for needle in self._needles]
        elif isinstance(new, Sequence) and not isinstance(new, (str, bytes)):
            news = new
        else:
            raise TypeError(f"new must be a list or a mapping, not {_kind(new)}")
        if len(news) != len(self._needles):
            problem = f"new has {len(news)} items, but there are {len(self._needles)} needles"
            raise SearchError(f"{problem}; give one replacement for each needle")
        at_most = min(count, END) if count >= 0 else END
        matches = self._engine.matches(text, 0, overlapping=False, limit=at_most)
        return replace_ranges(text, ((start, end, news[needle]) for start, end, needle in matches))

    def _short_needles(self) -> str:
        shown = ", ".join(map(repr, self._needles[:SHOWN]))
        more = f", … {len(self._needles)} in all" if len(self._needles) > SHOWN else ""
        return f"[{shown}{more}]"


def _kind(value: object) -> str:
    return type(value).__name__
