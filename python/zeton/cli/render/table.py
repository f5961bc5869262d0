"""A table, drawn for a terminal or in Markdown."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal

import click

from zeton.text.escape import visible

COLORS = {"best": "green", "worst": "red"}

# An underscore within a word is no markup.
MARKUP = re.compile(r"[\\`*|<\[]|(?<![^\W_])_|_(?![^\W_])")


@dataclass(frozen=True)
class Cell:
    """What stands in a row of a column, and how it compares with the rest of the row."""

    text: str
    mark: Literal["best", "worst"] | None = None


@dataclass(frozen=True)
class Column:
    """Cells under a label, under a title that neighbours share."""

    label: str
    cells: list[Cell]
    title: str = ""
    left: bool = False

    def lines(self) -> list[Cell]:
        """Return the label and the cells."""
        return [Cell(self.label), *self.cells]


def aligned(columns: list[Column], *, colored: bool) -> list[str]:
    """Draw titles, labels and cells for people; without colours a star marks the best."""
    groups = groupby(columns, key=lambda column: column.title)
    blocks = [block(title, list(group), colored=colored) for title, group in groups]
    return ["   ".join(line).rstrip() for line in zip(*blocks, strict=True)]


def block(title: str, columns: list[Column], *, colored: bool) -> list[str]:
    """Draw the columns of one title, whose first is widened until the title fits."""
    title = visible(title)
    drawn = [[draw(cell, colored=colored) for cell in column.lines()] for column in columns]
    widths = [max(map(width, texts)) for texts in drawn]
    least = sum(widths) + 2 * (len(widths) - 1)
    whole = max(least, width(title))
    widths[0] += whole - least
    padded = [
        [pad(text, size, left=column.left) for text in texts]
        for column, texts, size in zip(columns, drawn, widths, strict=True)
    ]
    return [pad(title, whole), *("  ".join(line) for line in zip(*padded, strict=True))]


def draw(cell: Cell, *, colored: bool) -> str:
    """Show a cell's text with its mark."""
    text = visible(cell.text)
    if cell.mark and colored:
        return click.style(text, fg=COLORS[cell.mark])
    return f"*{text}" if cell.mark == "best" else text


def pad(text: str, size: int, *, left: bool = False) -> str:
    """Fill a text up with spaces."""
    spaces = " " * (size - width(text))
    return text + spaces if left else spaces + text


@lru_cache(maxsize=1 << 14)
def width(text: str) -> int:
    r"""Count the places that a text takes on a terminal: colours none, wide characters two.

    >>> width("é"), width("e\u0301"), width("कु"), width("\x1b[32mgreen\x1b[0m")
    (1, 1, 1, 5)
    >>> width("한"), width("\u1112\u1161\u11ab")
    (2, 2)
    """
    plain = unicodedata.normalize("NFC", click.unstyle(text))
    seen = [c for c in plain if unicodedata.category(c) not in {"Mn", "Me"}]
    return len(seen) + sum(unicodedata.east_asian_width(c) in {"W", "F"} for c in seen)


def markdown(columns: list[Column]) -> list[str]:
    """Draw in Markdown, the best in bold."""
    lines = [
        [escaped(f"{column.title} {column.label}".strip()) for column in columns],
        [":--" if column.left else "--:" for column in columns],
    ]
    for cells in zip(*(column.cells for column in columns), strict=True):
        texts = ((escaped(cell.text), cell.mark) for cell in cells)
        lines.append([f"**{text}**" if mark == "best" else text for text, mark in texts])
    return [f"| {' | '.join(line)} |" for line in lines]


def escaped(text: str) -> str:
    r"""Write a text so that Markdown shows it as it is.

    >>> print(escaped("a|b __init__.py cl100k_base"))
    a\|b \_\_init\_\_.py cl100k_base
    """
    return MARKUP.sub(r"\\\g<0>", visible(text))
