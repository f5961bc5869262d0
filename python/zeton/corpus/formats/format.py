"""A format of corpus files: the base class of every file in this folder.

A format reads the texts of a file from any position on, and tells the planner where a large file
may be cut. To add a format, write a subclass in a file here and add it to `FORMATS`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeton.suggest import did_you_mean

__all__ = ["FOR_EVER", "Format", "NoTextError", "Taking", "known_fields", "text_in"]

FOR_EVER = 2**63
"""A position that no file reaches."""


class NoTextError(Exception):
    """The reason why a line or a row holds no text."""


@dataclass(frozen=True)
class Taking:
    """How texts are taken from files: the same for all files of a reader."""

    field: str
    """The field of JSON lines, or column of Parquet, that holds the text."""
    cut: Callable[[bytes], int]
    """Returns the last position at which the beginning of a long text may be cut, or 0."""
    skip: Callable[[str, Exception], object]
    """Receives the place of each record without a text, and the reason."""
    record: Callable[[bytes], Any] | None = None
    """Turns a line of JSON into a value, in place of the text in `field`."""


class Format:
    """A kind of corpus file."""

    name: str
    """The name in messages."""
    suffixes: tuple[str, ...] = ()
    magic: bytes = b""
    """The bytes that every file of the format begins with, if there are any."""
    unit: str = "bytes"
    """The unit of positions in a file."""
    holds_many: bool = True
    """Whether a file holds many texts, in records. A file that does not is one text."""

    def check(self, path: Path) -> None:
        """Raise an error if a package is missing that reads the format."""

    def is_beginning(self, content: bytes) -> bool:
        """Return whether a file that begins with these bytes is of the format."""
        return bool(self.magic) and content.startswith(self.magic)

    def texts(self, path: Path, at: int, stop: int, taking: Taking) -> Iterator[tuple[Any, int]]:
        """Yield the texts between two positions of a file, each with the position after it."""
        raise NotImplementedError

    def cuts(
        self, path: Path, size: int, unit_bytes: int, cut: Callable[[bytes], int]
    ) -> Iterator[tuple[int, int]]:
        """Yield positions that cut a file into units, each with the bytes of the unit before it."""
        raise NotImplementedError


def text_in(value: object, field: str) -> str:
    """Return the text of a record's field, or raise a `NoTextError`."""
    if not isinstance(value, str):
        found = "null" if value is None else f"{value!r:.40}"
        raise NoTextError(f"has {found}, not text, in field {field!r}")
    return value


def known_fields(field: str, names: Iterable[str]) -> str:
    """Return the end of a message about a field that is not there.

    >>> known_fields("body", ["text", "id"])
    "; known are 'text' and 'id': give field='text' (--field text)"
    >>> known_fields("texts", ["text", "id"])
    "; did you mean 'text'?"
    """
    names = list(names)
    hint = did_you_mean(field, names)
    is_clear = "text" in names and not hint.endswith("?")
    return f"{hint}: give field='text' (--field text)" if is_clear else hint
