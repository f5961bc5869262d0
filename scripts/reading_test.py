"""Draw functions for the reading test: the path, the name and the comment of each, and no code.

    python scripts/reading_test.py SEED [--count 10] [--answers]

A reader without knowledge of the code describes each function: its effect, its callers, its inputs
and outputs. `--answers` prints the source of the same functions and the lines that call them.
"""

import argparse
import random
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCES = "crates/*/src/**/*.rs"
FUNCTION = re.compile(r"^\s*(?:pub(?:\([\w: ]+\))? )?(?:const |unsafe )*fn (\w+)")


class Function(NamedTuple):
    """A function with a comment: its file, its name, its comment and its source."""

    file: Path
    name: str
    comment: str
    source: str


def functions() -> list[Function]:
    """Return every function outside of tests that has a comment of its own."""
    found = []
    for file in sorted(ROOT.glob(SOURCES)):
        if file.name == "tests.rs":
            continue
        lines = re.split(r"#\[cfg\(test\)\]\n\s*(?:pub\(\w+\) )?mod", file.read_text())[
            0
        ].splitlines()
        comment: list[str] = []
        for number, line in enumerate(lines):
            stripped = line.strip()
            if stripped.startswith("///"):
                comment.append(stripped.removeprefix("///").strip())
            elif not stripped.startswith(("#[", "//")):
                if (match := FUNCTION.match(line)) and comment:
                    end = end_of_function(lines, number)
                    source = "\n".join(lines[number : end + 1])
                    found.append(Function(file, match[1], "\n".join(comment), source))
                comment = []
    return found


def end_of_function(lines: list[str], start: int) -> int:
    """Return the line of the brace that closes a function: the first one indented like its `fn`."""
    indent = lines[start][: len(lines[start]) - len(lines[start].lstrip())]
    ends = (at for at in range(start, len(lines)) if lines[at] == indent + "}")
    return next(ends, start)


def callers(name: str) -> list[str]:
    """Return the lines of the sources that seem to call a function."""
    return [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in sorted(ROOT.glob(SOURCES))
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if re.search(rf"\b{name}(::<.*>)?\(", line) and not FUNCTION.match(line)
    ]


def main() -> None:
    """Print the functions that a seed draws."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("seed", type=int)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--answers", action="store_true", help="print sources and callers too")
    options = parser.parse_args()
    drawn = random.Random(options.seed).sample(functions(), options.count)  # noqa: S311
    for number, function in enumerate(drawn, 1):
        print(
            f"{number}. {function.file.relative_to(ROOT)}: {function.name}\n\n{function.comment}\n"
        )
        if options.answers:
            print(function.source, *callers(function.name), sep="\n", end="\n\n")


if __name__ == "__main__":
    main()
