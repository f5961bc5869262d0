"""The types of needles and texts, and replacement in a text.

A needle and its text are of one kind: str, bytes, or ids.
"""

import sys
from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["END", "MATCHES_AT_ONCE", "Needle", "Text", "freeze", "replace_ranges", "resolve_index"]

Text: TypeAlias = "str | Buffer | Iterable[int]"
Needle: TypeAlias = str | bytes | tuple[int, ...]

END = sys.maxsize
"""The end of any text."""

MATCHES_AT_ONCE = 1 << 12
"""Matches that an iterator asks the engine for in one call."""


def freeze(needle: Text) -> Needle:
    """Return an immutable copy of a needle.

    >>> freeze(bytearray(b"ab")), freeze([7, 8])
    (b'ab', (7, 8))
    """
    if isinstance(needle, (str, bytes)):
        return needle
    if (view := _bytes_of(needle)) is not None:
        return view.tobytes()
    values = needle.tolist() if hasattr(needle, "tolist") else needle
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"a needle must be str, bytes or ids, not {type(needle).__name__}")
    return tuple(values)


def resolve_index(value: int | None, text: Text, default: int = 0) -> int:
    """Return an index as slices resolve it: a negative one counts from the end.

    >>> resolve_index(-1, "abc"), resolve_index(None, "abc", default=3)
    (2, 3)
    """
    value = default if value is None else index(value)
    if value >= 0:
        return min(value, END)
    return max(0, value + len(text))  # type: ignore[arg-type]


def replace_ranges(text: Text, parts: Iterable[tuple[int, int, Text]]) -> str | bytes | list[int]:
    """Return a text with ranges replaced, in order.

    >>> replace_ranges("a cat", [(2, 5, "dog")])
    'a dog'
    """
    last = 0
    if isinstance(text, str):
        pieces: list[str] = []
        for start, end, new in parts:
            if not isinstance(new, str):
                raise TypeError(
                    f"the text is str, so the replacement must be str, not {type(new).__name__}"
                )
            pieces += text[last:start], new
            last = end
        return "".join([*pieces, text[last:]])
    if (view := _bytes_of(text)) is not None:
        views: list[memoryview] = []
        for start, end, new in parts:
            if (new_view := _bytes_of(new)) is None:
                raise TypeError(
                    f"the text is bytes, so the replacement must be bytes, not {type(new).__name__}"
                )
            views += view[last:start], new_view
            last = end
        return b"".join([*views, view[last:]])
    old = list(map(int, text))  # type: ignore[arg-type]
    ids: list[int] = []
    for start, end, new in parts:
        ids += [*old[last:start], *map(int, new)]  # type: ignore[arg-type]
        last = end
    return ids + old[last:]


def _bytes_of(text: object) -> memoryview | None:
    try:
        view = memoryview(text)  # type: ignore[arg-type]
    except TypeError:
        return None
    return view if view.format == "B" and view.ndim == 1 else None
