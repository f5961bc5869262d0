"""The planner: a corpus becomes units of about one size, each of which is read on its own.

For example, files of 10, 20 and 500 MB in units of 64 MB become one unit of the first two files
and seven of the third. Training on many machines counts units, and shards are encoded from them.

Small files go together, in their order. A large file is cut between the parts of its text, between
lines, or between row groups. A compressed file is not cut. The plan depends on the files, the size
and the pattern, and on nothing else.
"""

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeton.corpus.formats import compression_of, format_of
from zeton.corpus.reader import OnError, Position, Reader, Skipped
from zeton.errors import Error, JobError

__all__ = ["Unit", "plan"]

FILES_MAX = 1 << 12
"""How many files a unit has at most."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A range of a corpus, with the files that it touches."""

    start: Position
    end: Position
    """Both in the files of the whole corpus."""
    size: int
    """In bytes of files."""
    paths: tuple[Path, ...]
    sizes: tuple[int, ...]

    @property
    def files(self) -> slice:
        """The numbers of the files."""
        return slice(self.start.file, self.start.file + len(self.paths))

    def reader(
        self,
        field: str,
        *,
        cut: Callable[[bytes], int],
        on_error: OnError = "raise",
        skipped: Skipped | None = None,
        record: Callable[[bytes], Any] | None = None,
    ) -> Reader:
        """Return a reader of the unit, in which its first file is number 0.

        A file that differs on this machine is an error: skipping it would lose it silently.
        """
        for path, size in zip(self.paths, self.sizes, strict=True):
            _check_same(path, size)
        return Reader(
            self.paths,
            field,
            cut=cut,
            start=Position(0, self.start.at),
            end=Position(self.end.file - self.start.file, self.end.at),
            on_error=on_error,
            skipped=skipped,
            record=record,
        )


def plan(
    files: Sequence[Path], sizes: Sequence[int], unit_bytes: int, cut: Callable[[bytes], int]
) -> Iterator[Unit]:
    """Yield the units of files, which together are the corpus; `cut` is that of the reader.

    A unit that begins or ends within a file holds nothing of other files.
    """

    def unit(start: Position, end: Position, size: int) -> Unit:
        span = slice(start.file, end.file + (end.at > 0))
        return Unit(start, end, size, tuple(files[span]), tuple(sizes[span]))

    begin = held = 0
    for number, (path, size) in enumerate(zip(files, sizes, strict=True)):
        if number > begin and (held + size > unit_bytes or number - begin == FILES_MAX):
            yield unit(Position(begin, 0), Position(number, 0), held)
            begin, held = number, 0
        if size > unit_bytes:
            at, left = 0, size
            for end, done in _cuts(path, size, unit_bytes, cut):
                yield unit(Position(number, at), Position(number, end), done)
                at, left = end, left - done
            yield unit(Position(number, at), Position(number + 1, 0), left)
            begin = number + 1
        else:
            held += size
    if begin < len(files):
        yield unit(Position(begin, 0), Position(len(files), 0), held)


def _cuts(
    path: Path, size: int, unit_bytes: int, cut: Callable[[bytes], int]
) -> Iterator[tuple[int, int]]:
    """Yield the cuts of a large file; where it cannot be read, the rest of it is one unit.

    The reader of that unit names the damage.
    """
    if compression_of(path) is None:
        try:
            yield from format_of(path).cuts(path, size, unit_bytes, cut)
        except (OSError, Error):
            return


def _check_same(path: Path, size: int) -> None:
    try:
        found = path.stat().st_size
    except OSError as error:
        reason = f"cannot be read on {platform.node()}: {error.strerror}"
        raise JobError(f"{path} {reason}; all machines need the same files") from None
    if found != size:
        message = f"{path} has {found} bytes on {platform.node()}, not {size}"
        raise JobError(f"{message}; all machines need the same files, and they must not change")
