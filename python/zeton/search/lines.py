"""Needles in the lines of a text that is read a block at a time."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from zeton.search.needles import Needles

__all__ = ["Line", "count_in", "lines_of"]

LINE_BYTES_MAX = 1 << 22
"""A longer line is looked through in parts, and comes in parts."""

BESIDE_BYTES = 8
"""What is needed before a match to tell whether it is a whole word: a character and more."""


class Line(NamedTuple):
    """A line that is to be shown, without its end, or a part of a very long one."""

    number: int
    """From 1 on."""
    start: int
    """Where the line begins, in bytes of the text."""
    at: int
    """Where the content begins: further on, if it is a part of the line."""
    content: bytes
    found: list[tuple[int, int, int]]
    """Start and end of each match in the content, and its needle; none for a line beside."""


class Stretch(NamedTuple):
    """Whole lines of a text, or a part of one."""

    text: bytes
    at: int
    """Where it begins."""
    number: int
    """Of its first line."""
    start: int
    """Where its first line begins."""
    first: int
    """Matches that begin before are those of the stretch before it."""
    last: int
    """Matches that begin here or later are those of the next."""


def lines_of(blocks: Iterable[bytes], needles: Needles, beside: int = 0) -> Iterator[Line]:
    """Yield the lines with matches, and so many lines before and after each."""
    needles.refuse_line_breaks()
    before: deque[Line] = deque(maxlen=beside)
    after = 0
    for stretch in _stretches(blocks, needles.bytes_max):
        matches = needles.every(stretch.text, stretch.first, stretch.last)
        if not beside:
            yield from _matching(stretch, matches)
            continue
        matching = {line.at: line for line in _matching(stretch, matches)}
        for line in _all(stretch):
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


def count_in(blocks: Iterable[bytes], needles: Needles) -> list[int]:
    """Return how often each needle is in a text."""
    needles.refuse_line_breaks()
    counts = [0] * len(needles.texts)
    for stretch in _stretches(blocks, needles.bytes_max):
        for _, _, needle in needles.every(stretch.text, stretch.first, stretch.last):
            counts[needle] += 1
    return counts


def _stretches(blocks: Iterable[bytes], bytes_max: int) -> Iterator[Stretch]:
    """Cut a text after lines, and a line that is too long anywhere, with enough of it in common."""
    shared = bytes_max + BESIDE_BYTES
    held, at, number, start, first = b"", 0, 1, 0, 0
    for block in blocks:
        held += block
        end = held.rfind(b"\n") + 1
        if end:
            yield Stretch(held[:end], at, number, start, first, end)
            number += held.count(b"\n", 0, end)
            at, start, first, held = at + end, at + end, 0, held[end:]
        if len(held) > max(LINE_BYTES_MAX, 4 * shared):
            last = len(held) - shared
            yield Stretch(held, at, number, start, first, last)
            kept = last - BESIDE_BYTES
            at, first, held = at + kept, BESIDE_BYTES, held[kept:]
    if held:
        yield Stretch(held, at, number, start, first, len(held))


def _matching(stretch: Stretch, matches: list[tuple[int, int, int]]) -> Iterator[Line]:
    """Put the matches of each line together."""
    text, number, seen = stretch.text, stretch.number, 0
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
        start = stretch.at + begin if begin else stretch.start
        yield Line(number, start, stretch.at + begin, text[begin:end], found)


def _all(stretch: Stretch) -> Iterator[Line]:
    """Yield all lines, without matches."""
    begin, number = 0, stretch.number
    for content in stretch.text.removesuffix(b"\n").split(b"\n"):
        start = stretch.at + begin if begin else stretch.start
        yield Line(number, start, stretch.at + begin, content, [])
        begin, number = begin + len(content) + 1, number + 1
