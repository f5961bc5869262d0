"""What a file holds, by its suffixes: text, lines or rows, read from any place on."""

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zeton._engine import ZstdReader
from zeton.errors import CorpusError, file_error

STEP_BYTES = 1 << 17
"""How much is unpacked at a time.

It is the same at every reading, so that damage is met at the same place at every reading.
"""

ROWS = 1 << 12
"""How many rows of a Parquet file are in memory at once."""


def kind(path: Path) -> str:
    """Return the suffix that says what a file holds, compression aside."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if is_packed(path):
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def is_packed(path: Path) -> bool:
    """Tell whether a file is compressed."""
    return path.suffix.lower() in {".gz", ".zst", ".xz"}


def is_table(path: Path) -> bool:
    """Tell whether a file holds many texts."""
    return kind(path) in {".jsonl", ".ndjson", ".parquet"}


def chunks(path: Path, at: int, step: int) -> Iterator[bytes]:
    """Read a file from a byte on: unpacked, or if it is plain, `step` bytes at a time."""
    try:
        match path.suffix.lower():
            case ".gz":
                yield from _after(at, _gzip_chunks(path), path)
            case ".zst":
                yield from _after(at, _zstd_chunks(path), path)
            case ".xz":
                yield from _after(at, _xz_chunks(path), path)
            case _:
                yield from _plain_chunks(path, at, step)
    except (OSError, EOFError, zlib.error) as error:
        raise file_error(path, "read", error) from None


def lines(path: Path, at: int) -> Iterator[tuple[bytes, int]]:
    """Read the lines of a file from a byte on, without their ends, each with the byte after it."""
    begun: list[bytes] = []
    for chunk in chunks(path, at, STEP_BYTES):
        if b"\n" not in chunk:
            begun.append(chunk)
            continue
        *whole, rest = b"".join([*begun, chunk]).split(b"\n")
        for line in whole:
            at += len(line) + 1
            yield line, at
        begun = [rest]
    if last := b"".join(begun):
        yield last, at + len(last)


def line_number(path: Path, at: int) -> int:
    """Return the number of the line that begins at a byte, by reading all before it."""
    number = 1
    for chunk in chunks(path, 0, STEP_BYTES) if at else ():
        number += chunk.count(b"\n", 0, at)
        at -= len(chunk)
        if at <= 0:
            break
    return number


def rows(path: Path, column: str, at: int) -> Iterator[tuple[object, int]]:
    """Read a column of a Parquet file from a row on, each value with the number of rows done."""
    pa, pq = pyarrow(path)
    try:
        with pq.ParquetFile(path) as table:
            if column not in table.schema_arrow.names:
                raise CorpusError(f"{path} has no column {column!r}; name another field")
            if at > table.metadata.num_rows:
                raise _too_short(path)
            end = 0
            for group in range(table.num_row_groups):
                done, end = end, end + table.metadata.row_group(group).num_rows
                if end <= at:
                    continue
                for batch in table.iter_batches(ROWS, row_groups=[group], columns=[column]):
                    values = batch.column(0)[max(at - done, 0) :]
                    done += len(batch) - len(values)
                    for value in _values(values):
                        done += 1
                        yield value, done
                if done != end:  # pyarrow does not mind.
                    raise _lacks_rows(path, done, end)
            if end != table.metadata.num_rows:
                raise _lacks_rows(path, end, table.metadata.num_rows)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise file_error(path, "read", error) from None


def pyarrow(path: Path) -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet, which a file needs, or refuse the file."""
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra.
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        message = f"{path} is Parquet, which needs the package pyarrow; install it"
        raise CorpusError(message) from None
    return pa, pq


def _values(column: Any) -> list[object]:  # noqa: ANN401 - a pyarrow.Array, an extra.
    """Return the values of a column; one that should be text and is not UTF-8 comes as bytes."""
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        return [_value(scalar) for scalar in column]


def _value(scalar: Any) -> object:  # noqa: ANN401 - a pyarrow.Scalar, an extra.
    try:
        return scalar.as_py()
    except UnicodeDecodeError:
        return scalar.as_buffer().to_pybytes()


def _plain_chunks(path: Path, at: int, step: int) -> Iterator[bytes]:
    with path.open("rb", buffering=0) as file:
        if at:
            if file.seek(0, 2) < at:
                raise _too_short(path)
            file.seek(at)
        while chunk := file.read(step):
            yield chunk


OTHERS = {
    b"counts\r\n": "counts; `zeton learn` reads it",
    b"zeton\r\n\x1a": "a tokenizer",
    b"\x1f\x8b": "gzip; call it .gz",
    b"\xfd7zXZ\0": "xz; call it .xz",
    b"\x28\xb5\x2f\xfd": "zstd; call it .zst",
    b"PK\x03\x04": "a zip file; unpack it",
}
"""What is certainly no text, by its first bytes."""


def refuse_others(path: Path, beginning: bytes) -> None:
    """Refuse a file that was given as text and is something else."""
    for magic, what in OTHERS.items():
        if beginning.startswith(magic):
            raise CorpusError(f"{path} is not text but {what}")


def _gzip_chunks(path: Path) -> Iterator[bytes]:
    with gzip.open(path) as stream:
        while chunk := stream.read1(STEP_BYTES):  # Not `read`, which loses what is before damage.
            yield chunk


def _zstd_chunks(path: Path) -> Iterator[bytes]:
    reader = ZstdReader(path)
    while chunk := reader.read(STEP_BYTES):
        yield chunk


def _xz_chunks(path: Path) -> Iterator[bytes]:
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
        raise _too_short(path)


def _lacks_rows(path: Path, found: int, said: int) -> CorpusError:
    return CorpusError(f"{path} has {found} rows where it says {said}; it is damaged")


def _too_short(path: Path) -> CorpusError:
    return CorpusError(f"{path} ends before the place to go on from; it has changed, start anew")
