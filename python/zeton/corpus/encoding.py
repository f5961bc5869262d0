"""Text files that are not UTF-8: a warning before the work, with the share and a guess.

The file is read all the same, byte by byte. For example, `Brücke` in Latin-1 has one byte that
is not UTF-8, and a tokenizer that is trained on it learns that byte.
"""

import codecs
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path

from zeton.corpus.formats import TEXT, chunks, compression_of, format_of, refuse_others
from zeton.errors import Error
from zeton.plural import counted

__all__ = ["warn_of_encodings"]

SAMPLE_BYTES = 1 << 14
SAMPLES = 8
"""How many samples of a large file are looked at, evenly spread."""

SIZE_MIN = 64
"""Smaller files are too short for a guess."""

NAMED_MAX = 20
"""How many files are named."""

MARKS = {
    codecs.BOM_UTF8: "a byte order mark (EF BB BF), which becomes a part of its first token",
    codecs.BOM_UTF16_LE: "the byte order mark of UTF-16 (FF FE); convert it to UTF-8",
    codecs.BOM_UTF16_BE: "the byte order mark of UTF-16 (FE FF); convert it to UTF-8",
}

CONTROL = bytes({*range(28)} - {*b"\t\n\v\f\r\x1b"})
"""Bytes that text does not have, zero included. Bytes 28 to 31 separate records of text."""

CONTROL_MIN = 0.02
"""The share of these bytes above which a file is UTF-16 or binary."""

CONTROL_MAX = 0.1
"""The share of these bytes below which a file of valid UTF-8 is not named."""

LATIN_MAX = 0.3
"""The share of bytes that are not UTF-8 up to which a text may be a western one in Latin-1."""


def warn_of_encodings(files: Iterable[Path], on_warning: Callable[[str], object]) -> None:
    """Say which text files are not UTF-8, by looking at up to 128 KiB of each.

    Python's standard library, the corpus by default, has a few for its tests; it is left out.
    """
    count, library = 0, Path(sysconfig.get_path("stdlib"))
    for path in files:
        if format_of(path) is not TEXT or library in path.parents:
            continue
        if not path.is_file():  # A pipe can be read once only.
            continue
        if found := _warning(path):
            count += 1
            if count <= NAMED_MAX:
                on_warning(found)
    if count > NAMED_MAX:
        more = count - NAMED_MAX
        on_warning(f"{counted(more, 'more file')} {'is' if more == 1 else 'are'} not UTF-8")


def _warning(path: Path) -> str:
    try:
        samples = _samples(path)
        refuse_others(path, samples[0])
    except (OSError, Error):
        return ""  # The reader names the damage.
    for mark, meaning in MARKS.items():
        if samples[0].startswith(mark):
            return f"{path} starts with {meaning}"
    size = sum(map(len, samples))
    invalid = sum(_invalid(sample, is_inside=at > 0) for at, sample in enumerate(samples))
    control = sum(len(sample) - len(sample.translate(None, CONTROL)) for sample in samples)
    if size < SIZE_MIN or (not invalid and control < CONTROL_MAX * size):
        return ""
    percent = 100 * (invalid + control) / size
    share = f"{percent:.0f} %" if percent >= 1 else f"{percent:.1g} %"
    if not invalid and not all(map(_looks_like_utf16, samples)):
        return f"{share} of {path} are control characters; is it binary?"
    if control >= CONTROL_MIN * size:
        guess = "UTF-16" if all(map(_looks_like_utf16, samples)) else "binary"
    elif invalid <= LATIN_MAX * size:
        guess = "Latin-1"
    else:
        guess = "a national encoding, such as Windows-1251, GBK or Shift JIS"
    return f"{share} of {path} is not UTF-8; is it {guess}?"


def _looks_like_utf16(sample: bytes) -> bool:
    """Return whether one half of all pairs of bytes is mostly one value, as in one script."""
    halves = sample[0::2], sample[1::2]
    return any(2 * max(map(half.count, set(half[:64])), default=0) > len(half) for half in halves)


def _samples(path: Path) -> list[bytes]:
    """Return a small file whole, or samples of a large one; of a compressed one its beginning."""
    if compression_of(path) is not None:
        return [next(chunks(path, 0), b"")[: SAMPLES * SAMPLE_BYTES]]
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= SAMPLES * SAMPLE_BYTES:
            return [file.read()]
        found = []
        for number in range(SAMPLES):
            # An even offset, for the pairs of UTF-16.
            file.seek((size - SAMPLE_BYTES) * number // (SAMPLES - 1) // 2 * 2)
            found.append(file.read(SAMPLE_BYTES))
    return found


def _invalid(sample: bytes, *, is_inside: bool) -> int:
    """Count the bytes that are not UTF-8; a character cut off by an edge is no error."""
    if is_inside:
        head = sample[:3].lstrip(bytes(range(0x80, 0xC0)))
        sample = head + sample[3:]
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(sample)
    return 0 if text.isascii() else sum("\udc80" <= character <= "\udcff" for character in text)
