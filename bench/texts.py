"""The texts that benchmarks run on."""

import os
import sys
from pathlib import Path

SEPARATOR = "\x1e"


def groups(arguments: list[str]) -> dict[str, list[str]]:
    """Return texts by group: the files named, or those of JETON_DATA by folder."""
    if arguments:
        return {Path(name).name: [Path(name).read_text()] for name in arguments}
    default = Path(__file__).parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("JETON_DATA", default)) / "dev"
    if not folder.is_dir():
        sys.exit("name files to measure on, or set JETON_DATA to a folder with dev/*/*.txt")
    files: dict[str, list[str]] = {}
    for file in sorted(folder.glob("*/*.txt")):
        files.setdefault(file.parent.name, []).extend(file.read_bytes().decode().split(SEPARATOR))
    return files


def table(head: list[str], rows: list[list[str]]) -> None:
    """Print a table in Markdown."""
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
