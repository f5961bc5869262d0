"""Plain text: the bytes of the file are one text, which is read in parts if it is long."""

from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

from zeton.corpus.formats.compressed import chunks, too_short
from zeton.corpus.formats.format import FOR_EVER, Format, Taking
from zeton.errors import FileError

__all__ = ["OVERLAP_BYTES", "READ_BYTES", "TEXT", "Text"]

READ_BYTES = 1 << 22
"""How much of a long text is in memory at once, at least."""

OVERLAP_BYTES = 8
"""How much of the bytes that had no cut is looked at again with the next ones: two characters."""

LOOK_BYTES = 1 << 12
"""How much of a part's end the planner reads first to find its cut."""


class Text(Format):
    """Any file without a suffix of another format."""

    name = "text"
    holds_many = False

    def texts(self, path: Path, at: int, stop: int, taking: Taking) -> Iterator[tuple[bytes, int]]:
        """Yield a text in parts, each with the byte after it; a part without a cut grows.

        The end of a part depends on its beginning and on nothing else. So a reader that resumes at
        the end of a part gets the same parts.
        """
        seen: list[bytes] = []
        held: list[bytes] = []
        size = 0  # Of the bytes in `held`, so that a chunk fills the window and none is copied.
        try:
            wanted = lambda: READ_BYTES - size  # noqa: E731 - the size at each reading.
            for chunk in _up_to(stop - at, chunks(path, at, wanted)):
                held.append(chunk)
                size += len(chunk)
                if size < READ_BYTES:
                    continue
                content = b"".join(held)
                while len(content) >= READ_BYTES:
                    overlap = seen[-1][-OVERLAP_BYTES:] if seen else b""
                    if done := taking.cut(overlap + content[:READ_BYTES]):
                        done += sum(map(len, seen)) - len(overlap)
                        content = b"".join([*seen, content])
                        at += done
                        yield content[:done], at
                        seen, content = [], content[done:]
                    else:
                        seen.append(content[:READ_BYTES])
                        content = content[READ_BYTES:]
                held, size = [content], len(content)
        except FileError:
            if rest := b"".join([*seen, *held]):
                yield rest, at + len(rest)
            raise
        rest = b"".join([*seen, *held])
        if stop < FOR_EVER and at + len(rest) < stop:
            raise too_short(path)
        if rest or not at:  # An empty file is an empty text.
            yield rest, at + len(rest)

    def cuts(
        self, path: Path, size: int, unit_bytes: int, cut: Callable[[bytes], int]
    ) -> Iterator[tuple[int, int]]:
        """Yield the ends of parts, as `texts` cuts them, after every `unit_bytes`."""
        start = 0
        with path.open("rb", buffering=0) as file:
            for end in _part_ends(file, size, cut):
                if end - start >= unit_bytes and end < size:
                    yield end, end - start
                    start = end


def _up_to(count: int, stream: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the first bytes of a stream."""
    for chunk in stream:
        yield chunk[:count]
        count -= len(chunk)
        if count <= 0:
            return


def _part_ends(file: FileIO, size: int, cut: Callable[[bytes], int]) -> Iterator[int]:
    """Yield the ends of a text's parts, by reading a few kilobytes before each."""
    at, wanted = 0, READ_BYTES
    while at + wanted <= size:
        if done := _last_cut(file, at, wanted, cut):
            at, wanted = at + done, READ_BYTES
            yield at
        else:
            wanted += READ_BYTES


def _last_cut(file: FileIO, at: int, wanted: int, cut: Callable[[bytes], int]) -> int:
    """Return the last cut of a window, or 0; the characters around a position decide on it.

    Windows before the last one were looked at and have no cut.
    """
    look, look_max = LOOK_BYTES, min(wanted, READ_BYTES + OVERLAP_BYTES)
    while True:
        look = min(look, look_max)
        file.seek(at + wanted - look)
        if done := cut(_read(file, look)):
            return wanted - look + done
        if look == look_max:
            return 0
        look *= 16


def _read(file: FileIO, size: int) -> bytes:
    """Read a number of bytes, of which one call may return only some."""
    parts = []
    while size and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


TEXT = Text()
