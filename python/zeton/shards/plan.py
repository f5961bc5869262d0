"""A corpus becomes units of work: which bytes, lines or rows of which files, in order.

The plan depends on the files and the options alone, never on threads, workers or engines, and it is
made by looking at a few kilobytes of every 8 MB.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeton.corpus import AnyPath, identity
from zeton.corpus import files as files_of
from zeton.corpus.kinds import is_packed, kind, pyarrow
from zeton.errors import ShardError, file_error

__all__ = ["Input", "Plan", "Span", "Unit", "plan"]

UNIT_BYTES = 1 << 23
"""About how much of the corpus is one unit."""

LOOK_BYTES = 1 << 16
"""How much is read to find a place to cut at, and of each place that a fingerprint is taken of."""


@dataclass(frozen=True)
class Span:
    """A stretch of one file: bytes of text and lines, rows of Parquet; all if it is packed."""

    path: str
    file: int
    start: int
    stop: int | None
    """None: up to the end."""
    continues: bool = False
    """Whether it begins inside a text."""
    goes_on: bool = False
    """Whether it ends where the file does not."""


Unit = tuple[Span, ...]


@dataclass(frozen=True)
class Input:
    """A file of the corpus."""

    path: str
    source: str
    """The argument that named it."""
    size: int
    fingerprint: str
    changed: int
    """When, in nanoseconds: tells whether the file is the same, and is in no manifest."""


@dataclass(frozen=True)
class Plan:
    """All files, and all units in order."""

    inputs: list[Input]
    units: list[Unit]


def plan(
    paths: Iterable[AnyPath],
    end: bytes,
    cut: Callable[[bytes], int],
    leave_out: Path,
    *,
    are_chats: bool = False,
) -> Plan:
    """Plan the work on files, folders and globs, but not on what is in `leave_out`."""
    inputs: list[Input] = []
    spans: list[Span] = []
    out = os.path.abspath(leave_out)  # noqa: PTH100 - `..` goes too.
    for named in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        given = os.path.normpath(named) if os.fspath(named) else named  # `./a/` is `a`.
        if os.path.abspath(given) == out and leave_out.is_dir():  # noqa: PTH100
            raise ShardError(f"{given} is both the corpus and the folder for shards; name another")
        for path in files_of([given]):
            if Path(out) in Path(os.path.abspath(path)).parents:  # noqa: PTH100
                continue
            if are_chats and kind(path) not in {".jsonl", ".ndjson"}:
                raise ShardError(f"{path} is no file of JSON lines, as chats are")
            [(name, size, changed)] = identity([path])
            number = len(inputs)
            inputs.append(Input(name, os.fspath(given), size, fingerprint(path, size), changed))
            spans += _spans(path, number, size, end, cut)
    if not inputs:
        raise ShardError("there are no files to make shards of; give files or folders")
    sizes = {number: entry.size for number, entry in enumerate(inputs)}
    return Plan(inputs, list(_grouped(spans, sizes)))


def fingerprint(path: Path, size: int) -> str:
    """Hash a file's size, its end, and 64 KiB at each 8 MiB: what tells files apart, mostly."""
    digest = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    try:
        with path.open("rb", buffering=0) as file:
            for at in [*range(0, size, UNIT_BYTES), max(size - LOOK_BYTES, 0)]:
                digest.update(_look(file, at, LOOK_BYTES))
    except OSError as error:
        raise file_error(path, "read", error) from None
    return digest.hexdigest()


def _spans(
    path: Path, number: int, size: int, end: bytes, cut: Callable[[bytes], int]
) -> Iterator[Span]:
    name = str(path)
    if is_packed(path) or (size <= UNIT_BYTES and kind(path) != ".parquet"):
        yield Span(name, number, 0, None if is_packed(path) else size)
        return
    if kind(path) == ".parquet":
        groups = _row_groups(path)
        yield from (Span(name, number, start, stop) for start, stop in groups)
        return
    try:
        with path.open("rb", buffering=0) as file:
            if kind(path) in {".jsonl", ".ndjson"}:
                edges = [*_line_edges(file, size), size]
                begins = [True] * len(edges)
            else:
                edges, begins = _text_edges(file, size, end, cut)
    except OSError as error:
        raise file_error(path, "read", error) from None
    start, is_new = 0, True
    for stop, begins_next in zip(edges, begins, strict=True):
        yield Span(name, number, start, stop, not is_new, stop < size)
        start, is_new = stop, begins_next


def _row_groups(path: Path) -> list[tuple[int, int | None]]:
    """Return the rows of each group; a file that cannot be read is one span, and refused there."""
    pa, pq = pyarrow(path)
    try:
        with pq.ParquetFile(path) as table:
            counts = [
                table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)
            ]
    except (OSError, pa.ArrowException):
        return [(0, None)]
    edges = [0]
    for count in counts:
        edges.append(edges[-1] + count)
    # The last span has no end, so that rows which are missing there are noticed.
    stops: list[int | None] = [*edges[1:-1], None]
    return list(zip(edges[: len(stops)], stops, strict=True))


def _line_edges(file: Any, size: int) -> Iterator[int]:  # noqa: ANN401 - io.FileIO
    """Find the first line end at or after each 8 MB."""
    done = 0
    for about in range(UNIT_BYTES, size, UNIT_BYTES):
        at = max(about, done)
        while at < size:
            look = _look(file, at, LOOK_BYTES)
            found = look.find(b"\n")
            if found >= 0:
                at += found + 1
                break
            at += len(look) or size
        if done < at < size:
            yield at
            done = at


def _text_edges(
    file: Any,  # noqa: ANN401 - io.FileIO
    size: int,
    end: bytes,
    cut: Callable[[bytes], int],
) -> tuple[list[int], list[bool]]:
    """Find the last place before each 8 MB where texts end, or where one may be cut in two.

    A cut depends on the characters beside it only, so a window is as good as the whole text.
    """
    edges, begins, start = [], [], 0
    about = UNIT_BYTES
    while about < size:
        at, is_new = _edge(file, start, about, end, cut)
        if at <= start:
            about += UNIT_BYTES  # None may be cut so far: the unit grows.
            continue
        edges.append(at)
        begins.append(is_new)
        start, about = at, at + UNIT_BYTES
    return [*edges, size], [*begins, True]


def _edge(
    file: Any,  # noqa: ANN401 - io.FileIO
    start: int,
    about: int,
    end: bytes,
    cut: Callable[[bytes], int],
) -> tuple[int, bool]:
    look = LOOK_BYTES
    while True:
        first = max(about - look, start)
        window = _look(file, first, about - first + len(end))
        if end and (found := window.rfind(end, 0, about - first)) >= 0:
            return first + found + len(end), True
        at = cut(window[: about - first])
        if at:
            if (
                end
                and (found := window.find(end, max(at - len(end) + 1, 0), at + len(end) - 1)) >= 0
            ):
                return first + found + len(end), True
            return first + at, False
        if first == start:
            return start, False
        look *= 2


def _look(file: Any, at: int, size: int) -> bytes:  # noqa: ANN401 - io.FileIO
    return os.pread(file.fileno(), size, at)


def _grouped(spans: Sequence[Span], sizes: dict[int, int]) -> Iterator[Unit]:
    """Gather small files into units of about the size of the others."""
    held: list[Span] = []
    size = 0
    for span in spans:
        if kind(Path(span.path)) == ".parquet":
            size += UNIT_BYTES
        else:  # What is packed is larger than it looks.
            size += sizes[span.file] * 4 if span.stop is None else span.stop - span.start
        held.append(span)
        if size >= UNIT_BYTES or span.goes_on:
            yield tuple(held)
            held, size = [], 0
    if held:
        yield tuple(held)
