"""JSON lines: an object a line, with the text in one field."""

import json
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path
from typing import Any

from zeton.corpus.formats.compressed import chunks
from zeton.corpus.formats.format import Format, NoTextError, Taking, known_fields, text_in

__all__ = ["JSON_LINES", "JsonLines", "json_in"]

LOOK_BYTES = 1 << 17
"""How much is read at a time to find the end of a line."""

RECOGNISED_LINES = 2
"""How many lines must be objects, for a file to be recognised by its content."""


class JsonLines(Format):
    """Lines of JSON; empty lines are skipped."""

    name = "JSON lines"
    suffixes = (".jsonl", ".ndjson")

    def is_beginning(self, content: bytes) -> bool:
        """Return whether the first two lines are JSON objects."""
        first = content.split(b"\n", RECOGNISED_LINES)[:RECOGNISED_LINES]
        return len(first) == RECOGNISED_LINES and all(map(_is_object, first))

    def texts(self, path: Path, at: int, stop: int, taking: Taking) -> Iterator[tuple[Any, int]]:
        """Yield the text of each line, with the byte after the line."""
        convert = taking.record or (lambda line: _text(line, taking.field))
        first = 0
        for count, (line, end) in enumerate(_lines(path, at)):
            if end > stop:
                return
            if line and not line.isspace():
                try:
                    found = convert(line)
                except (NoTextError, ValueError) as error:
                    first = first or _line_number(path, at)
                    taking.skip(f"{path}, line {first + count}", error)
                else:
                    yield found, end

    def cuts(
        self,
        path: Path,
        size: int,
        unit_bytes: int,
        cut: Callable[[bytes], int],  # noqa: ARG002 - lines end where they end.
    ) -> Iterator[tuple[int, int]]:
        """Yield the first line end after every `unit_bytes`."""
        start = 0
        with path.open("rb", buffering=0) as file:
            while (end := _line_end(file, start + unit_bytes - 1)) and end < size:
                yield end, end - start
                start = end


def json_in(line: bytes) -> object:
    """Return the value of a line, or raise a `NoTextError`."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise NoTextError(f"is not JSON: {getattr(error, 'msg', error)}") from None


def _text(line: bytes, field: str) -> str:
    record = json_in(line)
    if not isinstance(record, dict):
        raise NoTextError(f"is {record!r:.40}, not an object with a field {field!r}")
    if field not in record:
        raise NoTextError(f"has no field {field!r}{known_fields(field, record)}")
    return text_in(record[field], field)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json_in(line), dict)
    except NoTextError:
        return False


def _lines(path: Path, at: int) -> Iterator[tuple[bytes, int]]:
    """Yield the lines of a file from a byte on, without their ends, each with the byte after it."""
    begun: list[bytes] = []
    for chunk in chunks(path, at):
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


def _line_number(path: Path, at: int) -> int:
    """Return the number of the line that begins at a byte, by reading all before it."""
    number = 1
    for chunk in chunks(path, 0) if at else ():
        number += chunk.count(b"\n", 0, at)
        at -= len(chunk)
        if at <= 0:
            break
    return number


def _line_end(file: FileIO, at: int) -> int:
    """Return the byte after the first newline from a byte on, or 0 if there is none."""
    file.seek(at)
    while (found := (chunk := file.read(LOOK_BYTES)).find(b"\n")) < 0:
        if not chunk:
            return 0
        at += len(chunk)
    return at + found + 1


JSON_LINES = JsonLines()
