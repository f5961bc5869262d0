"""A stretch of a file becomes texts, or parts of long ones, each with the bytes that it has."""

import json
import mmap
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from zeton.chat import Rendered
from zeton.corpus import Position, Reader, Skipped, kinds
from zeton.errors import CorpusError, FileError, file_error
from zeton.shards.plan import Span

__all__ = ["Reading", "Segment"]

PART_BYTES = 1 << 22
"""How much of a long text in a packed file is encoded at once, at the least."""

MAP_BYTES = 1 << 20
"""From how many bytes on a stretch of a file is mapped, not read."""

HEAD_BYTES = 1 << 16
"""How much of a text decides whether it is held out for validation."""


class Segment(NamedTuple):
    """A text, or a part of one."""

    text: str | bytes | memoryview
    size: int
    """In bytes."""
    begins: bool = True
    ends: bool = True
    head: bytes | None = None
    """The first bytes of the whole text, where the part has fewer of them."""
    chat: Rendered | None = None
    """What became of it, if it is a chat."""
    is_broken: bool = False
    """Whether the rest cannot be read, so that its other parts are to be left out."""


@dataclass
class Reading:
    """How files are read: what ends a text, where one may be cut, what is done about damage."""

    field: str
    end: bytes
    cut: Callable[[bytes], int]
    on_error: str
    render: Callable[[dict[str, object]], Rendered] | None
    """For chats: what makes ids of them."""
    skipped: Skipped

    def segments(self, span: Span) -> Iterator[Segment]:
        """Read a stretch of a file; what cannot be read is refused, or counted and left out."""
        path = Path(span.path)
        try:
            if self.render is not None:
                yield from self._chats(path, span, self.render)
            elif kinds.is_table(path):
                yield from self._rows(path, span)
            elif kinds.is_packed(path):
                yield from self._packed(path)
            else:
                yield from self._plain(path, span)
        except (CorpusError, FileError) as error:
            if self.on_error == "raise":
                raise
            self.skipped.add_file(span.path, str(error).removeprefix(f"{path} "))

    def _rows(self, path: Path, span: Span) -> Iterator[Segment]:
        reader = Reader(
            [path],
            self.field,
            cut=self.cut,
            start=Position(0, span.start),
            end=None if span.stop is None else Position(0, span.stop),
            on_error="skip" if self.on_error == "skip" else "raise",
            skipped=self.skipped,
        )
        for part in reader:
            yield Segment(part.text, utf8_bytes(part.text))

    def _chats(
        self, path: Path, span: Span, render: Callable[[dict[str, object]], Rendered]
    ) -> Iterator[Segment]:
        first = 0
        for count, (line, end) in enumerate(kinds.lines(path, span.start)):
            if span.stop is not None and end > span.stop:
                break
            if not line or line.isspace():
                continue
            try:
                chat = render(_chat(line))
            except ValueError as error:
                first = first or kinds.line_number(path, span.start)
                place = f"{path}, line {first + count}"
                if self.on_error == "raise":
                    raise CorpusError(f"{place} {error}") from None
                self.skipped.add_line(place, str(error))
            else:
                yield Segment(line, len(line), chat=chat)

    def _plain(self, path: Path, span: Span) -> Iterator[Segment]:
        size = (span.stop or 0) - span.start
        is_large = size >= MAP_BYTES
        content = (_map if is_large else _read)(path, span.start, size)
        if not span.start:
            kinds.refuse_others(path, bytes(content[:8]))
        if not self.end:
            head = self._head(path, span, content) if span.goes_on else None
            yield Segment(content, len(content), not span.continues, not span.goes_on, head)
            return
        *texts, rest = bytes(content).split(self.end)
        begins = not span.continues
        for text in texts:
            yield Segment(text, len(text), begins)
            begins = True
        if rest or not begins:
            head = self._head(path, span, rest) if span.goes_on else None
            yield Segment(rest, len(rest), begins, not span.goes_on, head)

    def _head(self, path: Path, span: Span, text: bytes | memoryview) -> bytes | None:
        """Return the first bytes of a text of which a span has only some of them."""
        if len(text) >= HEAD_BYTES or span.stop is None:
            return None
        with path.open("rb") as file:
            file.seek(span.stop)
            more = file.read(HEAD_BYTES)
        return bytes(text) + (more.partition(self.end)[0] if self.end else more)

    def _packed(self, path: Path) -> Iterator[Segment]:
        """Unpack texts as they come; one is cut where it ends, or is long and may be cut."""
        held, begins, wanted = b"", True, PART_BYTES
        try:
            for chunk in _gathered(kinds.chunks(path, 0, PART_BYTES)):
                if begins and not held:
                    kinds.refuse_others(path, chunk[:8])
                held += chunk
                if self.end:
                    *texts, held = held.split(self.end)
                    for text in texts:
                        yield Segment(text, len(text), begins)
                        begins, wanted = True, PART_BYTES
                while len(held) >= wanted:
                    # What may be the beginning of an end stays.
                    if done := self.cut(held[: wanted - max(len(self.end) - 1, 0)]):
                        yield Segment(held[:done], done, begins, ends=False, head=held[:HEAD_BYTES])
                        held, begins, wanted = held[done:], False, PART_BYTES
                    else:
                        wanted *= 2
        except FileError:
            if not begins:  # Whole texts before the damage stay; one that was begun does not.
                yield Segment(b"", 0, begins=False, is_broken=True)
            raise
        if held or not begins or not self.end:  # An empty file is an empty text.
            yield Segment(held, len(held), begins)


def utf8_bytes(text: str | bytes) -> int:
    """Return how many bytes a text has as UTF-8."""
    if not isinstance(text, str) or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


def _chat(line: bytes) -> dict[str, object]:
    try:
        chat = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is not JSON: {getattr(error, 'msg', error)}") from None
    if isinstance(chat, list):
        chat = {"messages": chat}
    if not isinstance(chat, dict) or "messages" not in chat:
        raise ValueError("has no field 'messages', as a chat has")
    return chat


def _map(path: Path, start: int, size: int) -> bytes | memoryview:
    """Map a stretch of a file, which takes no room of its own and goes when it was encoded."""
    first = start // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    try:
        with path.open("rb", buffering=0) as file:
            if file.seek(0, os.SEEK_END) < start + size:
                raise _shorter(path)
            mapped = mmap.mmap(
                file.fileno(), start + size - first, access=mmap.ACCESS_READ, offset=first
            )
    except OSError as error:
        raise file_error(path, "read", error) from None
    return memoryview(mapped)[start - first :]


def _read(path: Path, start: int, size: int) -> bytes | memoryview:
    """Read so many bytes; a file that is shorter has changed."""
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            content = file.read(size)
            while len(content) < size and (more := file.read(size - len(content))):
                content += more
    except OSError as error:
        raise file_error(path, "read", error) from None
    if len(content) != size:
        raise _shorter(path)
    return content


def _shorter(path: Path) -> CorpusError:
    return CorpusError(f"{path} has become shorter since it was planned; start anew")


def _gathered(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join chunks to some of at least a megabyte, or adding them one by one takes its time."""
    held: list[bytes] = []
    size = 0
    try:
        for chunk in chunks:
            held.append(chunk)
            size += len(chunk)
            if size >= 1 << 20:
                yield b"".join(held)
                held, size = [], 0
    finally:  # Also where the next chunk is damaged.
        if held:
            yield b"".join(held)
