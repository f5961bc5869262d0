"""Files become texts: plain text, JSON lines, gzip, zstd, Parquet, and folders of them."""

import gzip
import io
import json
import os
import sysconfig
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from jeton._engine import ZstdReader
from jeton.errors import CorpusError, FileError, MissingFileError, file_error

__all__ = ["files", "parts", "size", "standard_library", "texts"]

AnyPath: TypeAlias = str | PathLike[str]

READ_BYTES = 1 << 24
"""How much of a long text is in memory at once, at the least."""


def standard_library() -> list[Path]:
    """Return the sources of the standard library: real text on every machine."""
    folder = Path(sysconfig.get_path("stdlib"))
    packages = {"site-packages", "dist-packages"}
    return sorted(path for path in folder.rglob("*.py") if not packages & set(path.parts))


def files(paths: Iterable[AnyPath]) -> list[Path]:
    """Return the files that paths stand for: a folder's are its own, sorted, binaries left out."""
    found: list[Path] = []
    for given in [paths] if isinstance(paths, (str, PathLike)) else paths:
        path = Path(given)
        if not os.fspath(given):
            raise FileError("a path is empty; give files or folders of text")
        if path.is_dir():
            inside = (file for file in sorted(path.rglob("*")) if not _is_hidden(file, path))
            found += [file for file in inside if file.is_file() and not _is_binary(file)]
        elif path.exists():
            found.append(path)
        else:
            raise MissingFileError(f"{path} is missing; give files or folders of text")
    return found


def texts(paths: Iterable[AnyPath], field: str = "text") -> Iterator[tuple[str, bytes]]:
    """Read every text whole, with the name of its file: a file is one text, JSON lines are many."""
    for path in files(paths):
        if _is_table(path):
            for record in _records(path, field):
                readable = record.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
                yield str(path), readable.encode()
        else:
            with _opened(path) as stream:
                yield str(path), stream.read()


def parts(
    paths: Iterable[AnyPath],
    field: str = "text",
    *,
    cut: Callable[[bytes], int],
) -> Iterator[str | bytes]:
    """Read texts in bounded memory: a long one comes in parts, cut where `cut` says it is safe.

    Where it is never safe, as for a pattern on the backtracking engine, a text comes whole.

    `cut` returns how much of the bytes so far may stand alone, or 0 if nothing may.
    """
    for path in files(paths):
        if _is_table(path):
            yield from _records(path, field)
        else:
            with _opened(path) as stream:
                yield from _stream_parts(stream, cut)


def _stream_parts(stream: IO[bytes], cut: Callable[[bytes], int]) -> Iterator[bytes]:
    """Cut a stream into parts; what cannot be cut grows, and is looked at again when doubled."""
    rest = b""
    while more := stream.read(max(READ_BYTES, len(rest))):
        rest += more
        if at := cut(rest):
            yield rest[:at]
            rest = rest[at:]
    yield rest


def size(paths: Iterable[AnyPath]) -> int | None:
    """Return the bytes of text in files, if that can be told without reading them."""
    found = files(paths)
    if any(_is_table(file) or file.suffix.lower() in {".gz", ".zst"} for file in found):
        return None
    return sum(file.stat().st_size for file in found)


def _kind(path: Path) -> str:
    """Return the suffix that says what a file holds, compression aside."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in {".gz", ".zst"}:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _is_table(path: Path) -> bool:
    return _kind(path) in {".jsonl", ".ndjson", ".parquet"}


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _is_binary(file: Path) -> bool:
    """Tell files that are not text by the zero byte that they begin with, near enough."""
    if _is_table(file):
        return False
    with _opened(file) as stream:
        return b"\0" in stream.read(1 << 13)


class _Zstd(io.RawIOBase):
    """A `.zst` file as a stream."""

    def __init__(self, path: Path) -> None:
        self._reader = ZstdReader(path)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - any writable buffer.
        content = self._reader.read(len(buffer))
        buffer[: len(content)] = content
        return len(content)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for its content, and turn the system's refusals into ours."""
    try:
        stream: IO[bytes]
        match path.suffix.lower():
            case ".gz":
                stream = cast("IO[bytes]", gzip.open(path))  # noqa: SIM115 - closed below.
            case ".zst":
                stream = io.BufferedReader(_Zstd(path), 1 << 20)
            case _:
                stream = path.open("rb")
        with stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, FileError):
            raise
        raise file_error(path, "read", error) from None


def _records(path: Path, field: str) -> Iterator[str]:
    if _kind(path) == ".parquet":
        yield from _parquet_records(path, field)
        return
    with _opened(path) as stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                yield _json_text(line, field, f"{path}, line {number}")


def _json_text(line: bytes, field: str, place: str) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", error)
        raise CorpusError(f"{place} is not JSON: {reason}") from None
    if not isinstance(record, dict) or field not in record:
        raise CorpusError(f"{place} has no field {field!r}; name another field")
    return _text(record[field], field, place)


def _text(value: object, field: str, place: str) -> str:
    if not isinstance(value, str):
        raise CorpusError(f"{place} has {value!r:.40}, not text, in field {field!r}; remove it")
    return value


def _parquet_records(path: Path, field: str) -> Iterator[str]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra.
        import pyarrow.parquet as pq  # noqa: PLC0415
    except ImportError:
        message = f"{path} is Parquet, which needs the package pyarrow; install it"
        raise CorpusError(message) from None
    try:
        with pq.ParquetFile(path) as table:
            if field not in table.schema_arrow.names:
                raise CorpusError(f"{path} has no column {field!r}; name another field")
            row = 0
            for batch in table.iter_batches(columns=[field]):
                for value in batch.column(0).to_pylist():
                    row += 1
                    yield _text(value, field, f"{path}, row {row}")
    except (OSError, UnicodeDecodeError, pa.ArrowException) as error:
        raise file_error(path, "read", error) from None
