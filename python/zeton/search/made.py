"""What both finders have: they are made of needles and two options, and compared by those."""

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Made"]

Given = TypeVar("Given")


class Made(Generic[Given]):
    """What is looked for, and how."""

    __slots__ = ("_given", "_ignore_case", "_whole_word")

    def __init__(self, given: Given, *, whole_word: bool, ignore_case: bool) -> None:
        """Keep what was given."""
        self._given = given
        self._whole_word = whole_word
        self._ignore_case = ignore_case

    @property
    def whole_word(self) -> bool:
        """Whether only whole words are found."""
        return self._whole_word

    @property
    def ignore_case(self) -> bool:
        """Whether characters that differ by case alone are the same."""
        return self._ignore_case

    def __eq__(self, other: object) -> bool:
        """Return whether both find the same in the same way."""
        if not isinstance(other, Made) or type(other) is not type(self):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        """Return a number that equal ones share."""
        return hash(self._key())

    def __repr__(self) -> str:
        """Show it as it is made."""
        told = f"{type(self).__name__}({self._shown()}"
        told += ", whole_word=True" if self._whole_word else ""
        return told + (", ignore_case=True)" if self._ignore_case else ")")

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        """Pickle what it was made of."""
        return _make, (type(self), *self._key())

    def _shown(self) -> str:
        return repr(self._given)

    def _key(self) -> tuple[Given, bool, bool]:
        return self._given, self._whole_word, self._ignore_case


def _make(kind: Callable[..., object], given: object, *options: bool) -> object:
    """Make a finder again that was pickled."""
    whole_word, ignore_case = options
    return kind(given, whole_word=whole_word, ignore_case=ignore_case)
