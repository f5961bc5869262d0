"""No two places of the Python sources share eight or more identical lines."""

import ast
from collections import defaultdict
from pathlib import Path

from support.paths import ROOT

FOLDERS = ["python"]
"""Folders whose files are compared with each other: a line a folder."""

LINES = 8
"""Identical lines in a row, blank lines and imports aside, that are too many."""


def lines_of(file: Path) -> list[tuple[int, str]]:
    """Return the lines of a source that count, numbered from 1."""
    source = file.read_text()
    imports = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    return [
        (number, line.strip())
        for number, line in enumerate(source.splitlines(), 1)
        if line.strip() and number not in imports
    ]


def test_no_eight_lines_stand_twice() -> None:
    places = defaultdict(list)
    for folder in FOLDERS:
        for file in sorted((ROOT / folder).rglob("*.py")):
            lines = lines_of(file)
            for at in range(len(lines) - LINES + 1):
                run = lines[at : at + LINES]
                place = f"{file.relative_to(ROOT)}:{run[0][0]}"
                places["\n".join(line for _, line in run)].append(place)
    repeated = [f"{' and '.join(found)}:\n{run}" for run, found in places.items() if found[1:]]
    assert repeated == [], "\n\n".join(repeated)
