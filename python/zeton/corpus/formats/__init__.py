"""Formats of corpus files: a file a format, each named once in `FORMATS`.

`format_of` goes by the name of a file, `recognise` by its content. A new format is a file in this
folder and a line in `FORMATS`; a new compression is an entry of `COMPRESSIONS`.

>>> format_of(Path("docs.JSONL.gz")).name, format_of(Path("notes.md")).name
('JSON lines', 'text')
"""

from dataclasses import dataclass
from pathlib import Path

from zeton.corpus.formats.compressed import COMPRESSIONS, Compression, chunks, compression_of
from zeton.corpus.formats.format import FOR_EVER, Format, NoTextError, Taking
from zeton.corpus.formats.jsonl import JSON_LINES, json_in
from zeton.corpus.formats.parquet import PARQUET
from zeton.corpus.formats.text import TEXT
from zeton.errors import CorpusError, FileError, file_error

__all__ = [
    "COMPRESSIONS",
    "FORMATS",
    "FOR_EVER",
    "JSON_LINES",
    "PARQUET",
    "TEXT",
    "Compression",
    "Format",
    "NoTextError",
    "Recognised",
    "Taking",
    "chunks",
    "compression_of",
    "format_of",
    "is_plain",
    "json_in",
    "kind_unlike_text",
    "recognise",
    "refuse_others",
]

FORMATS: list[Format] = [JSON_LINES, PARQUET]
"""Every format but plain text, which is the format of all other files."""

OTHERS = {
    b"counts\r\n": "counts; `zeton learn` reads them",
    b"zeton\r\n\x1a": "a tokenizer",
    b"PK\x03\x04": "a zip file; unpack it with `unzip -p`",
    b"BZh": "bzip2; unpack it with `bzcat`",
}
"""Files that are certainly no text, by the bytes that they begin with."""

LOOK_BYTES = 1 << 16
"""How much of a file is read to recognise it."""


@dataclass(frozen=True)
class Recognised:
    """The kind of a file, by its content."""

    format: Format
    compression: Compression | None = None
    other: str = ""
    """The kind of a file that is no corpus file, such as a zip file."""

    @property
    def is_plain_text(self) -> bool:
        """Whether the bytes of the file are one text."""
        return self.format is TEXT and self.compression is None and not self.other

    def __str__(self) -> str:
        """Return the kind in words, such as "gzip-compressed JSON lines"."""
        if self.other:
            return self.other
        if self.compression is None:
            return self.format.name
        return f"{self.compression.name}-compressed {self.format.name}"


def format_of(path: Path) -> Format:
    """Return the format that a file's suffix names, compression aside."""
    name = path.with_suffix("") if compression_of(path) else path
    suffix = name.suffix.lower()
    return next((each for each in FORMATS if suffix in each.suffixes), TEXT)


def is_plain(path: Path) -> bool:
    """Return whether the bytes of a file are one text, by its name."""
    return format_of(path) is TEXT and compression_of(path) is None


def recognise(path: Path) -> Recognised:
    """Return the kind of a file by its content, and by its suffix where the content is any text.

    A caller that takes only plain text asks for `is_plain_text` and names the kind in its error.
    """
    try:
        with path.open("rb") as file:
            beginning = file.read(LOOK_BYTES)
    except OSError as error:
        raise file_error(path, "read", error) from None
    compression = next((each for each in COMPRESSIONS if beginning.startswith(each.magic)), None)
    if compression is not None:
        try:
            beginning = next(compression.unpack(path), b"")
        except (OSError, EOFError, ValueError, FileError):
            beginning = b""  # The reader names the damage.
    for magic, other in OTHERS.items():
        if beginning.startswith(magic):
            return Recognised(TEXT, compression, other)
    found = next((each for each in FORMATS if each.is_beginning(beginning)), None)
    return Recognised(found or format_of(path), compression)


def kind_unlike_text(beginning: bytes) -> str:
    r"""Return the kind of a file that begins with these bytes and certainly is no text, or "".

    >>> kind_unlike_text(b"\x1f\x8b\x08"), kind_unlike_text(b"plain")
    ('gzip; name it *.gz, or unpack it with `zcat`', '')
    """
    others = OTHERS | {
        each.magic: f"{each.name}; name it *{each.suffix}, or unpack it with `{each.tool}`"
        for each in COMPRESSIONS
    }
    for each in FORMATS:
        if each.magic:
            others[each.magic] = f"{each.name}; name it *{each.suffixes[0]}"
    return next((kind for magic, kind in others.items() if beginning.startswith(magic)), "")


def refuse_others(path: Path, beginning: bytes) -> None:
    """Raise an error for a file that is read as text and certainly is none."""
    if kind := kind_unlike_text(beginning):
        raise CorpusError(f"{path} is not text but {kind}")
