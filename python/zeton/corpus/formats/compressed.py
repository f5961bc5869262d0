"""Compressed files: each compression with its suffix, its magic bytes and its reader."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from zeton._engine import ZstdReader
from zeton.errors import CorpusError, file_error

__all__ = ["COMPRESSIONS", "STEP_BYTES", "Compression", "chunks", "compression_of", "too_short"]

STEP_BYTES = 1 << 17
"""How much is unpacked at a time.

It is the same at every reading, so that damage is met at the same place at every reading.
"""


Step: TypeAlias = int | Callable[[], int]
"""Bytes to read at a time, or a function that returns the number for the next time."""


@dataclass(frozen=True)
class Compression:
    """A way to compress one file."""

    name: str
    suffix: str
    magic: bytes
    tool: str
    """The command that unpacks a file to standard output."""
    unpack: Callable[[Path], Iterator[bytes]]


def compression_of(path: Path) -> Compression | None:
    """Return the compression that a file's suffix names, or None for a plain file."""
    suffix = path.suffix.lower()
    return next((each for each in COMPRESSIONS if each.suffix == suffix), None)


def chunks(path: Path, at: int, step: Step | None = None) -> Iterator[bytes]:
    """Yield a file from a byte on: unpacked, or if it is plain, `step` bytes at a time."""
    compression = compression_of(path)
    try:
        if compression is None:
            yield from _plain(path, at, step or STEP_BYTES)
        else:
            yield from _after(at, compression.unpack(path), path)
    except (OSError, EOFError, zlib.error) as error:
        raise file_error(path, "read", error) from None


def too_short(path: Path) -> CorpusError:
    """Return the error for a file that ends before a position in it."""
    return CorpusError(f"{path} has become shorter, so reading cannot resume in it; start over")


def _plain(path: Path, at: int, step: Step) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        if at:
            if file.seek(0, 2) < at:
                raise too_short(path)
            file.seek(at)
        while chunk := file.read(step() if callable(step) else step):
            yield chunk


def _gzip(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as stream:
        while chunk := stream.read1(STEP_BYTES):  # `read` would lose the bytes before damage.
            yield chunk


def _zstd(path: Path) -> Iterator[bytes]:
    reader = ZstdReader(path)
    while chunk := reader.read(STEP_BYTES):
        yield chunk


def _xz(path: Path) -> Iterator[bytes]:
    """Unpack all streams of a file; `lzma.open` is silent about damage after the first."""
    import lzma  # noqa: PLC0415 - some builds of Python lack it.

    with path.open("rb") as file:
        packed = file.read(STEP_BYTES)
        while packed:
            stream = lzma.LZMADecompressor()
            while not stream.eof:
                if stream.needs_input:
                    packed = packed or file.read(STEP_BYTES)
                    if not packed:
                        raise EOFError("it ends in the middle of a stream")
                try:
                    chunk = stream.decompress(packed, STEP_BYTES)
                except lzma.LZMAError as error:
                    raise OSError(f"not a whole xz file: {error}") from None
                packed = b""
                if chunk:
                    yield chunk
            packed = stream.unused_data.lstrip(b"\0")  # Zeros may stand between streams.
            while not packed and (more := file.read(STEP_BYTES)):
                packed = more.lstrip(b"\0")


def _after(at: int, stream: Iterator[bytes], path: Path) -> Iterator[bytes]:
    """Leave out the first bytes of a stream, which must have them."""
    for chunk in stream:
        if at < len(chunk):
            yield chunk[at:]
        at = max(at - len(chunk), 0)
    if at:
        raise too_short(path)


COMPRESSIONS = (
    Compression("gzip", ".gz", b"\x1f\x8b", "zcat", _gzip),
    Compression("zstd", ".zst", b"\x28\xb5\x2f\xfd", "zstdcat", _zstd),
    Compression("xz", ".xz", b"\xfd7zXZ\0", "xzcat", _xz),
)
