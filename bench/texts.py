"""The texts of the benchmarks."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

SEPARATOR = "\x1e"
TEXT_BYTES = 100_000

LINE = re.compile(rb"\n(?=[A-Za-z])")
"""No piece of nanochat's pattern crosses this string, so texts cut here have the same pieces."""


def groups(arguments: list[str]) -> dict[str, list[str]]:
    """Return texts by group: the named files, or the files of ZETON_DATA by folder."""
    if arguments:
        return {Path(name).name: [Path(name).read_text()] for name in arguments}
    folder = data() / "dev"
    if not folder.is_dir():
        sys.exit("name files to measure on, or set ZETON_DATA to a folder with dev/*/*.txt")
    files: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*/*.txt")):
        files.setdefault(file.parent.name, []).extend(file.read_bytes().decode().split(SEPARATOR))
    return files


def data() -> Path:
    """Return the folder of texts, which may not exist."""
    default = Path(__file__).parent.parent.parent / "shared" / "data"
    return Path(os.environ.get("ZETON_DATA", default))


def given(files: list[Path], *default: str) -> list[Path]:
    """Return the named files, or the files of ZETON_DATA, which must exist."""
    found = files or [data() / name for name in default]
    if missing := [str(file) for file in found if not file.exists()]:
        sys.exit(f"{', '.join(missing)} is not there; name files, or set ZETON_DATA")
    return found


def texts_of(content: bytes) -> Iterator[str]:
    """Cut a long text at line ends, into texts of about 100 KB."""
    start = 0
    while start < len(content):
        end = cut(content, start + TEXT_BYTES)
        yield content[start:end].decode()
        start = end


def cut(content: bytes, at: int) -> int:
    """Return the first line end of a text from `at` on, or the text's end."""
    found = LINE.search(content, at)
    return found.end() if found else len(content)


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
