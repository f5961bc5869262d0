"""Many needles in one pass: leftmost, then longest, then first listed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from zeton import _engine
from zeton.errors import SearchError
from zeton.search.made import Made
from zeton.search.needle import END, MATCHES_AT_ONCE, Needle, Text, kept, place, put_together

__all__ = ["FinderMany", "Match"]

SHOWN = 3


class Match(NamedTuple):
    """Where a match begins and ends, and the number of its needle."""

    start: int
    end: int
    needle: int


class FinderMany(Made[tuple[Needle, ...]]):
    """Finds many needles: strs in strs, bytes in bytes, ids in arrays of ids.

    >>> FinderMany(["New", "New York"]).find("in New York")
    Match(start=3, end=11, needle=1)
    """

    __slots__ = ("_engine",)

    def __init__(
        self, needles: Iterable[Text], *, whole_word: bool = False, ignore_case: bool = False
    ) -> None:
        """Make the tables of needles; the options are those of `Finder`."""
        if isinstance(needles, (str, bytes)):
            raise TypeError(f"needles are many, not one {_kind(needles)}; give a list")
        super().__init__(
            tuple(map(kept, needles)), whole_word=bool(whole_word), ignore_case=bool(ignore_case)
        )
        self._engine = _engine.FinderMany(*self._key())

    @property
    def needles(self) -> tuple[Needle, ...]:
        """What is looked for."""
        return self._given

    def find(self, text: Text, *, start: int | None = 0) -> Match | None:
        """Return the first match that begins at `start` or later: the longest of those."""
        first = place(start, text)
        found = self._engine.matches(text, first, overlapping=False, limit=1)
        return Match(*found[0]) if found else None

    def find_all(self, text: Text, *, overlapping: bool = False) -> Iterator[Match]:
        """Iterate over the matches, each after the end of the one before it.

        With `overlapping`, over all matches of all needles: by their start, then the longest,
        then as listed.
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
        """Return how many matches there are."""
        return self._engine.count(text, 0, overlapping)

    def replace(
        self, text: Text, *, new: Mapping[Text, Text] | Sequence[Text], count: int = -1
    ) -> str | bytes | list[int]:
        """Return a text with matches replaced, by a mapping, or by a list in the needles' order.

        What a mapping does not name stays.
        """
        news: Sequence[Text]
        if isinstance(new, Mapping):
            named = {kept(needle): other for needle, other in new.items()}
            for needle in named.keys() - set(self._given):
                raise SearchError(f"{needle!r} is no needle; a mapping is from needles")
            news = [named.get(needle, needle) for needle in self._given]
        elif isinstance(new, Sequence) and not isinstance(new, (str, bytes)):
            news = new
        else:
            raise TypeError(f"needles are replaced by a list or a mapping, not {_kind(new)}")
        if len(news) != len(self._given):
            raise SearchError(f"give what replaces each of the {len(self._given)} needles")
        at_most = min(count, END) if count >= 0 else END
        found = self._engine.matches(text, 0, overlapping=False, limit=at_most)
        return put_together(text, ((start, end, news[needle]) for start, end, needle in found))

    def _shown(self) -> str:
        shown = ", ".join(map(repr, self._given[:SHOWN]))
        more = f", … {len(self._given)} in all" if len(self._given) > SHOWN else ""
        return f"[{shown}{more}]"


def _kind(value: object) -> str:
    return type(value).__name__
