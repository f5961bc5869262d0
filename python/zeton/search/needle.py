"""What a needle and a text may be, and how a text is put together again."""

import sys
from collections.abc import Iterable
from operator import index
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["END", "MATCHES_AT_ONCE", "Needle", "Text", "kept", "place", "put_together"]

Text: TypeAlias = "str | Buffer | Iterable[int]"
Needle: TypeAlias = str | bytes | tuple[int, ...]

END = sys.maxsize
MATCHES_AT_ONCE = 1 << 12


def kept(needle: Text) -> Needle:
    """Return a needle as a value that does not change.

    >>> kept(bytearray(b"ab")), kept([7, 8])
    (b'ab', (7, 8))
    """
    if isinstance(needle, (str, bytes)):
        return needle
    if (view := _bytes_of(needle)) is not None:
        return view.tobytes()
    values = needle.tolist() if hasattr(needle, "tolist") else needle
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"a needle is str, bytes or ids, not {type(needle).__name__}")
    return tuple(values)


def place(given: int | None, text: Text, otherwise: int = 0) -> int:
    """Return a place as slices have it: from the end, if it is negative."""
    given = otherwise if given is None else index(given)
    if given >= 0:
        return min(given, END)
    return max(0, given + len(text))  # type: ignore[arg-type]


def put_together(text: Text, parts: Iterable[tuple[int, int, Text]]) -> str | bytes | list[int]:
    """Return a text with stretches of it, in their order, replaced."""
    last = 0
    if isinstance(text, str):
        pieces: list[str] = []
        for start, end, new in parts:
            if not isinstance(new, str):
                raise TypeError(f"the text is str and what is put in {type(new).__name__}")
            pieces += text[last:start], new
            last = end
        return "".join([*pieces, text[last:]])
    if (view := _bytes_of(text)) is not None:
        stretches: list[memoryview] = []
        for start, end, new in parts:
            if (new_view := _bytes_of(new)) is None:
                raise TypeError(f"the text is bytes and what is put in {type(new).__name__}")
            stretches += view[last:start], new_view
            last = end
        return b"".join([*stretches, view[last:]])
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
