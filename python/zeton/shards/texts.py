"""The parts of a corpus reader become texts: cut where texts end, with the start of each known."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from zeton.chat import Rendered
from zeton.corpus import OnError, Skipped, Unit
from zeton.corpus.formats import NoTextError, compression_of, format_of, json_in
from zeton.errors import file_error

__all__ = ["Reading", "Segment", "cut_at_ends"]

HEAD_BYTES = 1 << 16
"""How much of a text decides whether it is held out for validation."""


class Segment(NamedTuple):
    """A text, or a part of one."""

    text: str | bytes
    size: int
    """In bytes."""
    begins: bool = True
    ends: bool = True
    head: bytes | None = None
    """The first bytes of the whole text, where the part has fewer of them."""
    chat: Rendered | None = None
    """The ids and the mask of a chat."""
    is_broken: bool = False
    """Whether the rest cannot be read, so that its other parts are left out."""


def cut_at_ends(cut: Callable[[bytes], int], end: bytes) -> Callable[[bytes], int]:
    """Return a cut that prefers the ends of texts, and never falls inside one.

    >>> cut_at_ends(len, b"--")(b"a--bc"), cut_at_ends(len, b"--")(b"abc-")
    (3, 3)
    """
    if not end:
        return cut

    def last(window: bytes) -> int:
        if (found := window.rfind(end)) >= 0:
            return found + len(end)
        # The window may begin and end inside an `end`.
        done = cut(window[: len(window) - len(end) + 1])
        return done if done >= len(end) else 0

    return last


@dataclass
class Reading:
    """How the texts of a unit are read."""

    field: str
    end: bytes
    """The end of a text in a plain file; b"" for the end of the file."""
    cut: Callable[[bytes], int]
    on_error: OnError
    render: Callable[[dict[str, object]], Rendered] | None
    """For chats: the function that makes their ids."""
    skipped: Skipped

    def segments(self, unit: Unit) -> Iterator[tuple[int, Segment]]:
        """Yield the texts of a unit in order, each with the number of its file in the unit."""
        reader = unit.reader(
            self.field,
            cut=self.cut,
            on_error=self.on_error,
            skipped=self.skipped,
            record=None if self.render is None else self._chat,
        )
        damaged = len(self.skipped.files)
        for number, parts in groupby(reader, lambda part: part.file):
            if format_of(unit.paths[number]).holds_many:
                for part in parts:
                    yield number, _whole(part.text)
            else:
                for segment in self._texts(unit, number, (part.text for part in parts), damaged):
                    yield number, segment

    def _chat(self, line: bytes) -> Segment:
        chat = json_in(line)
        if isinstance(chat, list):
            chat = {"messages": chat}
        if not isinstance(chat, dict) or "messages" not in chat:
            raise NoTextError("has no field 'messages', as a chat has")
        if self.render is None:
            raise AssertionError("only chats are rendered")
        return Segment(line, len(line), chat=self.render(chat))

    def _texts(
        self, unit: Unit, number: int, parts: Iterable[bytes], damaged: int
    ) -> Iterator[Segment]:
        """Split a plain file into its texts; the parts of a long text come as they are read.

        A part that is no end of a text waits until `HEAD_BYTES` of its text are there.
        """
        path, end = unit.paths[number], self.end
        start = unit.start.at if number == 0 else 0
        begins = not start or (end != b"" and _bytes_of(path, start - len(end), len(end)) == end)
        held = b""
        for part in parts:
            if held and (not begins or len(held) >= HEAD_BYTES):
                yield Segment(held, len(held), begins, ends=False)
                held, begins = b"", False
            held += part
            if end:
                *texts, held = held.split(end)
                for text in texts:
                    yield Segment(text, len(text), begins)
                    begins = True
        if any(name == str(path) for name, _ in self.skipped.files[damaged:]):
            if not begins:  # Whole texts before the damage stay; one that was begun does not.
                yield Segment(b"", 0, begins=False, is_broken=True)
            return
        stop = unit.end.at if unit.start.file + number == unit.end.file else 0
        if held or not begins or not end:  # An empty file is an empty text.
            head = held
            if stop and len(held) < HEAD_BYTES and compression_of(path) is None:
                more = _bytes_of(path, stop, HEAD_BYTES)
                head += more.partition(end)[0] if end else more
            yield Segment(held, len(held), begins, ends=not stop, head=head[:HEAD_BYTES])


def utf8_bytes(text: str | bytes) -> int:
    """Return how many bytes a text has as UTF-8."""
    if not isinstance(text, str) or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass"))


def _whole(text: str | bytes | Segment) -> Segment:
    return text if isinstance(text, Segment) else Segment(text, utf8_bytes(text))


def _bytes_of(path: Path, start: int, size: int) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(start)
            return file.read(size)
    except OSError as error:
        raise file_error(path, "read", error) from None
