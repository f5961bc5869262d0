"""A corpus becomes a plan: units of about one size, each of which is read on its own.

Small files go together, in their order; a large one is cut where the parts of its text, its lines
or its groups of rows end. What is compressed is not cut. The plan depends on the files, the size
and the pattern, and on nothing else.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from zeton.corpus import kinds
from zeton.corpus.reader import READ_BYTES, Position
from zeton.errors import Error

FILES_MAX = 1 << 12
"""How many files a unit has at the most."""

LOOK_BYTES = 1 << 12
"""How much of a part's end is looked at first for the place where it is cut."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A stretch of a corpus, and how many bytes of its files it takes."""

    start: Position
    end: Position
    size: int


def plan(
    files: Sequence[Path], sizes: Sequence[int], unit_bytes: int, cut: Callable[[bytes], int]
) -> Iterator[Unit]:
    """Yield the units of files, which together are the corpus; `cut` is that of the reader.

    A unit that begins or ends within a file holds nothing of other files.
    """
    begin = held = 0
    for number, (path, size) in enumerate(zip(files, sizes, strict=True)):
        if number > begin and (held + size > unit_bytes or number - begin == FILES_MAX):
            yield Unit(Position(begin, 0), Position(number, 0), held)
            begin, held = number, 0
        if size > unit_bytes:
            at, left = 0, size
            for end, done in _ends(path, size, unit_bytes, cut):
                yield Unit(Position(number, at), Position(number, end), done)
                at, left = end, left - done
            yield Unit(Position(number, at), Position(number + 1, 0), left)
            begin = number + 1
        else:
            held += size
    if begin < len(files):
        yield Unit(Position(begin, 0), Position(len(files), 0), held)


def _ends(
    path: Path, size: int, unit_bytes: int, cut: Callable[[bytes], int]
) -> Iterator[tuple[int, int]]:
    """Yield where the units of a large file end, the last aside, and how many bytes they take.

    Of a file that cannot be read, what is left is one unit: whoever reads it says what is wrong.
    """
    if kinds.is_packed(path):
        return
    try:
        if kinds.kind(path) == ".parquet":
            yield from _row_ends(path, size, unit_bytes)
            return
        start = 0
        with path.open("rb", buffering=0) as file:
            is_table = kinds.is_table(path)
            ends = _line_ends(file, unit_bytes) if is_table else _part_ends(file, size, cut)
            for end in ends:
                if end - start >= unit_bytes and end < size:
                    yield end, end - start
                    start = end
    except (OSError, Error):
        return


def _part_ends(file: FileIO, size: int, cut: Callable[[bytes], int]) -> Iterator[int]:
    """Yield where the parts of a text end, as the reader cuts them."""
    at, wanted = 0, READ_BYTES
    while at + wanted <= size:
        if done := _last_cut(file, at, wanted, cut):
            at, wanted = at + done, READ_BYTES
            yield at
        else:
            wanted *= 2


def _last_cut(file: FileIO, at: int, wanted: int, cut: Callable[[bytes], int]) -> int:
    """Return the last cut of a stretch; whether a place is one, its neighbours tell."""
    look = LOOK_BYTES
    while True:
        look = min(look, wanted)
        file.seek(at + wanted - look)
        if done := cut(_read(file, look)):
            return wanted - look + done
        if look == wanted:
            return 0
        look *= 16


def _line_ends(file: FileIO, unit_bytes: int) -> Iterator[int]:
    """Yield where lines end, each the first one to end so many bytes after the one before."""
    end = 0
    while True:
        at = file.seek(end + unit_bytes - 1)
        while (found := (chunk := file.read(kinds.STEP_BYTES)).find(b"\n")) < 0:
            if not chunk:
                return
            at += len(chunk)
        end = at + found + 1
        yield end


def _row_ends(path: Path, size: int, unit_bytes: int) -> Iterator[tuple[int, int]]:
    """Yield after how many rows a unit ends, where a group of rows does."""
    pa, pq = kinds.pyarrow(path)
    try:
        with pq.ParquetFile(path) as table:
            groups = [table.metadata.row_group(at) for at in range(table.num_row_groups)]
            found = [(group.num_rows, group.total_byte_size) for group in groups]
    except pa.ArrowException:
        return
    whole = max(sum(group_bytes for _, group_bytes in found), 1)
    rows = held = 0
    for group_rows, group_bytes in found[:-1]:
        rows += group_rows
        held += group_bytes
        if held >= unit_bytes:
            yield rows, size * held // whole
            held = 0


def _read(file: FileIO, size: int) -> bytes:
    """Read so many bytes, which one call may not."""
    chunks = []
    while size and (chunk := file.read(size)):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)
