"""One needle in texts, bytes and arrays of ids, by Boyer and Moore."""

from collections.abc import Iterator

from zeton import _engine
from zeton.search.made import Made
from zeton.search.needle import END, MATCHES_AT_ONCE, Needle, Text, kept, place, put_together

__all__ = ["Finder"]


class Finder(Made[Needle]):
    """Finds one needle: a `str` in strs, bytes in bytes, ids in arrays of ids.

    >>> Finder("cat", whole_word=True).find("concat cat")
    7
    """

    __slots__ = ("_engine",)

    def __init__(
        self, needle: Text, *, whole_word: bool = False, ignore_case: bool = False
    ) -> None:
        """Make the tables of a needle.

        A match is a whole word if no character of a word is right before it or right after it.
        Where case is ignored, a match in bytes may be longer or shorter than the needle.
        """
        super().__init__(kept(needle), whole_word=bool(whole_word), ignore_case=bool(ignore_case))
        self._engine = _engine.Finder(*self._key())

    @property
    def needle(self) -> Needle:
        """What is looked for."""
        return self._given

    def find(self, text: Text, *, start: int | None = 0, end: int | None = None) -> int:
        """Return where the needle first begins in `text[start:end]`, or -1.

        Whole words are judged in all of the text.
        """
        return self._one(text, start, end, from_end=False)

    def rfind(self, text: Text, *, start: int | None = 0, end: int | None = None) -> int:
        """Return where the needle last begins in `text[start:end]`, or -1."""
        return self._one(text, start, end, from_end=True)

    def find_all(
        self, text: Text, *, overlapping: bool = False, from_end: bool = False
    ) -> Iterator[int]:
        """Iterate over the places where the needle begins; from the end if asked for."""
        for start, _ in self.spans(text, overlapping=overlapping, from_end=from_end):
            yield start

    def spans(
        self, text: Text, *, overlapping: bool = False, from_end: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Iterate over where matches begin and end."""
        # A str that is not ASCII is read anew by each call, so it is asked for all at once.
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
        """Return how often the needle is in a text."""
        return self._engine.count(text, 0, END, overlapping)

    def replace(self, text: Text, *, new: Text, count: int = -1) -> str | bytes | list[int]:
        """Return a text with the needle replaced, the first `count` times if that is not negative.

        Bytes of any kind become bytes, ids of any kind a list.
        """
        at_most = min(count, END) if count >= 0 else END
        found = self._engine.matches(text, 0, END, overlapping=False, from_end=False, limit=at_most)
        return put_together(text, ((start, end, new) for start, end in found))

    def _one(self, text: Text, start: int | None, end: int | None, *, from_end: bool) -> int:
        first, last = place(start, text), place(end, text, END)
        found = self._engine.matches(
            text, first, last, overlapping=True, from_end=from_end, limit=1
        )
        return found[0][0] if found else -1
