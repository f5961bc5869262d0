"""Search for needles in the lines of a text that is read block by block."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from zeton.search.needles import Needles

__all__ = ["Line", "lines_of", "total_in"]

LINE_BYTES_MAX = 1 << 22
"""The longest line that is yielded whole; a longer one comes in parts."""

BESIDE_BYTES = 8
"""Bytes before a match that decide whether it is a whole word: at least one character."""


class Line(NamedTuple):
    """A line without its line break, or a part of a very long line."""

    number: int
    """The number of the line, from 1."""
    start: int
    """The start of the line, in bytes of the text."""
    at: int
    """The start of the content, which is later if the content is a part of the line."""
    content: bytes
    found: list[tuple[int, int, int]]
    """Start, end and needle of each match in the content; empty for a line of context."""


class Window(NamedTuple):
    """Whole lines of a text, or a part of one."""

    text: bytes
    at: int
    """The start of the window, in bytes of the text."""
    number: int
    """The number of its first line."""
    start: int
    """The start of its first line."""
    first: int
    """Matches that begin before this index belong to the previous window."""
    last: int
    """Matches that begin at this index or later belong to the next window."""


def lines_of(blocks: Iterable[bytes], needles: Needles, beside: int = 0) -> Iterator[Line]:
    """Yield the lines with matches, and `beside` lines of context before and after each."""
    needles.refuse_line_breaks()
    before: deque[Line] = deque(maxlen=beside)
    after = 0
    for window in _windows(blocks, needles.bytes_max):
        matches = needles.every(window.text, window.first, window.last)
        if not beside:
            yield from _matching(window, matches)
            continue
        matching = {line.at: line for line in _matching(window, matches)}
        for line in _all(window):
            if found := matching.get(line.at):
                yield from before
                before.clear()
                yield found
                after = beside
            elif after:
                after -= 1
                yield line
            else:
                before.append(line)


def total_in(blocks: Iterable[bytes], needles: Needles) -> int:
    """Return the number of matches of all needles in a text."""
    needles.refuse_line_breaks()
    total = 0
    for window in _windows(blocks, needles.bytes_max):
        if window.first == 0 and window.last == len(window.text):
            total += needles.total(window.text)
        else:
            total += len(needles.every(window.text, window.first, window.last))
    return total


def _windows(blocks: Iterable[bytes], bytes_max: int) -> Iterator[Window]:
    """Cut a text into windows of whole lines, and a very long line into overlapping windows."""
    shared = bytes_max + BESIDE_BYTES
    pending, at, number, start, first = b"", 0, 1, 0, 0
    for block in blocks:
        pending += block
        end = pending.rfind(b"\n") + 1
        if end:
            yield Window(pending[:end], at, number, start, first, end)
            number += pending.count(b"\n", 0, end)
            at, start, first, pending = at + end, at + end, 0, pending[end:]
        if len(pending) > max(LINE_BYTES_MAX, 4 * shared):
            last = len(pending) - shared
            yield Window(pending, at, number, start, first, last)
            kept = last - BESIDE_BYTES
            at, first, pending = at + kept, BESIDE_BYTES, pending[kept:]
    if pending:
        yield Window(pending, at, number, start, first, len(pending))


def _matching(window: Window, matches: list[tuple[int, int, int]]) -> Iterator[Line]:
    """Group the matches by line."""
    text, number, seen = window.text, window.number, 0
    done = 0
    while done < len(matches):
        begin = text.rfind(b"\n", 0, matches[done][0]) + 1
        end = text.find(b"\n", matches[done][0])
        end = len(text) if end < 0 else end
        number += text.count(b"\n", seen, begin)
        seen = begin
        found = []
        while done < len(matches) and matches[done][0] < end:
            from_, to, needle = matches[done]
            found.append((from_ - begin, to - begin, needle))
            done += 1
        start = window.at + begin if begin else window.start
        yield Line(number, start, window.at + begin, text[begin:end], found)


def _all(window: Window) -> Iterator[Line]:
    """Yield all lines of a window, without matches."""
    begin, number = 0, window.number
    for content in window.text.removesuffix(b"\n").split(b"\n"):
        start = window.at + begin if begin else window.start
        yield Line(number, start, window.at + begin, content, [])
        begin, number = begin + len(content) + 1, number + 1
