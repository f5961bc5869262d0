"""Search for one needle in str, bytes and arrays of ids, by the Boyer-Moore algorithm."""

from collections.abc import Iterator

from zeton import _engine
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

__all__ = ["Finder"]


class Finder(FinderValue[Needle]):
    """A search for one needle: a str in str, bytes in bytes, ids in arrays of ids.

    >>> Finder("cat", whole_word=True).find("concat cat")
    7
    """

    __slots__ = ("_engine",)

    def __init__(
        self, needle: Text, *, whole_word: bool = False, ignore_case: bool = False
    ) -> None:
        """Build the tables of the needle.

        `whole_word` accepts a match only if no word character stands directly before or after it.
        With `ignore_case`, a match in bytes may be longer or shorter than the needle.
        """
        super().__init__(freeze(needle), whole_word=bool(whole_word), ignore_case=bool(ignore_case))
        self._engine = _engine.Finder(*self._key())

    @property
    def needle(self) -> Needle:
        """The needle, as an immutable value."""
        return self._needles

    def find(self, text: Text, *, start: int | None = 0, end: int | None = None) -> int:
        """Return the start of the first match in `text[start:end]`, or -1.

        Whole words are judged by the characters of the whole text.
        """
        return self._one(text, start, end, from_end=False)

    def rfind(self, text: Text, *, start: int | None = 0, end: int | None = None) -> int:
        """Return the start of the last match in `text[start:end]`, or -1."""
        return self._one(text, start, end, from_end=True)

    def find_all(
        self, text: Text, *, overlapping: bool = False, from_end: bool = False
    ) -> Iterator[int]:
        """Iterate over the starts of all matches, with `from_end` from the last to the first."""
        for start, _ in self.spans(text, overlapping=overlapping, from_end=from_end):
            yield start

    def spans(
        self, text: Text, *, overlapping: bool = False, from_end: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Iterate over the start and end of all matches."""
        # The engine reads a str that is not ASCII again for each call, so it gets one call only.
        at_once = END if isinstance(text, str) and not text.isascii() else MATCHES_AT_ONCE
        start, end = 0, END
        while True:
            found = self._engine.matches(text, start, end, overlapping, from_end, at_once)
            yield from found
            if len(found) < at_once:
                return
            if from_end:
                end = found[-1][1] - 1 if overlapping else found[-1][0]
            else:
                start = found[-1][0] + 1 if overlapping else found[-1][1]

    def count(self, text: Text, *, overlapping: bool = False) -> int:
        """Return the number of matches in a text."""
        return self._engine.count(text, 0, END, overlapping)

    def replace(self, text: Text, *, new: Text, count: int = -1) -> str | bytes | list[int]:
        """Return a text with its matches replaced, the first `count` if that is not negative.

        A text of bytes becomes bytes, a text of ids a list.
        """
        at_most = min(count, END) if count >= 0 else END
        found = self._engine.matches(text, 0, END, overlapping=False, from_end=False, limit=at_most)
        return replace_ranges(text, ((start, end, new) for start, end in found))

    def _one(self, text: Text, start: int | None, end: int | None, *, from_end: bool) -> int:
        first, last = resolve_index(start, text), resolve_index(end, text, END)
        found = self._engine.matches(
            text, first, last, overlapping=True, from_end=from_end, limit=1
        )
        return found[0][0] if found else -1
