"""The value of a finder: its needles and two options.

Equality, hash, repr and pickling of both finders follow from it.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["FinderValue"]

Needles = TypeVar("Needles")


class FinderValue(Generic[Needles]):
    """The needles of a finder, and its options."""

    __slots__ = ("_ignore_case", "_needles", "_whole_word")

    def __init__(self, needles: Needles, *, whole_word: bool, ignore_case: bool) -> None:
        """Store the arguments."""
        self._needles = needles
        self._whole_word = whole_word
        self._ignore_case = ignore_case

    @property
    def whole_word(self) -> bool:
        """Whether only whole words match."""
        return self._whole_word

    @property
    def ignore_case(self) -> bool:
        """Whether characters match that differ by case only."""
        return self._ignore_case

    def __eq__(self, other: object) -> bool:
        """Return whether both finders have the same needles and options."""
        if not isinstance(other, FinderValue) or type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        """Return the hash of the needles and options."""
        return hash(self._key())

    def __repr__(self) -> str:
        """Write the call that makes the finder."""
        call = f"{type(self).__name__}({self._short_needles()}"
        call += ", whole_word=True" if self._whole_word else ""
        return call + (", ignore_case=True)" if self._ignore_case else ")")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle the needles and options."""
        return _unpickle, (type(self), *self._key())

    def _short_needles(self) -> str:
        return repr(self._needles)

    def _key(self) -> tuple[Needles, bool, bool]:
        return self._needles, self._whole_word, self._ignore_case


def _unpickle(kind: Callable[..., object], needles: object, *options: bool) -> object:
    """Make a finder from its pickled value."""
    whole_word, ignore_case = options
    return kind(needles, whole_word=whole_word, ignore_case=ignore_case)
