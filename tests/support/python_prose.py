"""The prose of Python files: docstrings, comments and the help of options, line by line."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

DIRECTIVE = re.compile(r"^(?:noqa|type|ruff|pragma):[^-]*(?:- )?")
"""The part of a comment that is for tools; a reason may follow it."""


def prose_of(file: Path) -> list[tuple[int, str]]:
    """Return the lines of prose of a source with their numbers, without the examples in them."""
    tree = ast.parse(file.read_text())
    return sorted([*docstrings(tree), *option_help(tree), *comments(file)])


def docstrings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the lines of docstrings, of attributes too; examples are left out.

    An example goes from `>>>` to the next blank line.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Expr) or not is_text(node.value):
            continue
        in_example = False
        for number, line in enumerate(text_of(node.value).splitlines(), node.lineno):
            in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
            if not in_example:
                yield number, line.strip()


def option_help(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the texts given as `help=`, for options of commands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "help" and is_text(node.value):
            yield node.value.lineno, text_of(node.value)


def comments(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the comments of a source, without their marks."""
    with file.open("rb") as source:
        for token in tokenize.tokenize(source.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], DIRECTIVE.sub("", token.string.lstrip("# "))


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def text_of(node: ast.AST) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""
