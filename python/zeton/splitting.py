"""A split (pre-tokenization) that is a Python function, checked against the text.

For example, `pieces_of("one two", lambda text: text.partition(" "))` is `[b"one", b" ", b"two"]`.
`zeton.split_tokenizer` encodes with such a function.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from typing import TypeAlias
from unicodedata import normalize

from zeton.errors import ArgumentTypeError, PatternError
from zeton.text.fit import readable
from zeton.text_encoder import Text

__all__ = [
    "Split",
    "checked",
    "mark_of",
    "name_of",
    "pieces_of",
    "pieces_of_characters",
    "read",
]

Split: TypeAlias = Callable[[str], Iterable[str | bytes]]
"""A text becomes pieces; joined, they are the text."""

SHOWN = 20
"""Characters of a text that an error message shows."""


def checked(split: Split) -> Split:
    """Return a split, or refuse a value that is no function."""
    if not callable(split):
        raise ArgumentTypeError(
            f"split is a function from a text to its pieces, not {_kind(split)}"
        )
    return split


def name_of(split: Split) -> str:
    """Return the name of a function with its module; of another callable, that of its class.

    >>> name_of(name_of), name_of(str.split)
    ('zeton.splitting.name_of', 'str.split')
    """
    named = split if hasattr(split, "__qualname__") else type(split)
    module = getattr(named, "__module__", None)
    name = f"{module}.{named.__qualname__}" if module else named.__qualname__
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in name)


def mark_of(split: Split) -> str:
    """Return the text that stands for a function in place of a pattern."""
    mark = {"rules": 1, "split": name_of(split)}
    return json.dumps(mark, ensure_ascii=False, separators=(",", ":"))


def pieces_of(text: Text, split: Split) -> list[bytes]:
    r"""Split a text by a function, and check that the pieces, joined, are the text.

    The function gets a str. A byte that is not UTF-8 is a lone surrogate in it, as in
    `bytes.decode(errors="surrogateescape")`. The function returns strs, or bytes, which may end
    inside a character.

    >>> pieces_of("one two", lambda text: text.partition(" "))
    [b'one', b' ', b'two']
    >>> pieces_of(b"\xff!", list)
    [b'\xff', b'!']
    """
    return pieces_of_characters(read(text), split)


def pieces_of_characters(text: str, split: Split) -> list[bytes]:
    """Split a text that `read` has returned."""
    content = text.encode("utf-8", "surrogateescape")
    pieces, at = [], 0
    for piece in _returned(split(text), split):
        raw = _raw(piece, split)
        if not content.startswith(raw, at):
            raise _lossy(split, content, at, raw)
        if raw:
            pieces.append(raw)
            at += len(raw)
    if at < len(content):
        raise _lossy(split, content, at, b"")
    return pieces


def read(text: Text) -> str:
    """Return a text as the characters that a split function gets."""
    if isinstance(text, str):
        try:
            text.encode()
        except UnicodeEncodeError:
            return readable(text)
        return text
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text).decode("utf-8", "surrogateescape")
    raise ArgumentTypeError(f"a text is str or bytes, not {_kind(text)}")


def _raw(piece: object, split: Split) -> bytes:
    if isinstance(piece, bytes):
        return piece
    if not isinstance(piece, str):
        raise ArgumentTypeError(
            f"the split {name_of(split)} returned a piece of type {_kind(piece)}; "
            "return str, or bytes"
        )
    try:
        return piece.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # A surrogate that stands for no byte is in no text.
        return piece.encode("utf-8", "surrogatepass")


def _returned(pieces: object, split: Split) -> Iterator[object]:
    if not isinstance(pieces, Iterable) or isinstance(pieces, (str, bytes)):
        raise ArgumentTypeError(
            f"the split {name_of(split)} returned {_kind(pieces)}; return a list of pieces"
        )
    return iter(pieces)


def _lossy(split: Split, content: bytes, at: int, piece: bytes) -> PatternError:
    """Return the error that names the first difference between the pieces and the text."""
    both = zip(content[at:], piece, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
    text, pieces = _excerpt(content[at + same :]), _excerpt(piece[same:])
    if normalize("NFC", text) == normalize("NFC", pieces):  # They look alike.
        text, pieces = (
            each.encode("ascii", "backslashreplace").decode() for each in (text, pieces)
        )
    return PatternError(
        f"the split {name_of(split)} does not return the text {_excerpt(content)}: after "
        f"{at + same} bytes the text has {text}, the pieces {pieces}; joined, the pieces must be "
        "the text"
    )


def _excerpt(content: bytes) -> str:
    if not content:
        return "nothing"
    text = content[: 4 * SHOWN].decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def _kind(value: object) -> str:
    return type(value).__name__
