"""Progress of a command on stderr: a bar on a terminal, elsewhere a line a minute."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from zeton.text.escape import visible
from zeton.work.progress import Lines, Shown

AnyBlock = TypeVar("AnyBlock", bytes, str, bytes | str)


def say(message: Any) -> None:  # noqa: ANN401 - a text or a warning.
    """Write a line on stderr."""
    click.echo(f"zeton: {visible(str(message))}", err=True)


def shown(*, quiet: bool) -> Shown:
    """Return how the package shows progress: as bars on a terminal, else as a line a minute."""
    if quiet:
        return False
    return True if sys.stderr.isatty() else Lines(say)


@contextmanager
def bar(
    file: str | Path, size: int | None, *, quiet: bool = False
) -> Iterator[Callable[[int], object]]:
    """Yield a function that takes the number of bytes done so far, of a file."""
    name = visible(str(file))
    if quiet:
        yield int
    elif sys.stderr.isatty():
        from tqdm import tqdm

        with tqdm(desc=name, total=size, unit="B", unit_scale=True, leave=False, delay=1) as drawn:
            yield lambda done: drawn.update(done - drawn.n)
    else:
        lines = Lines(say)
        yield lambda done: lines.read(name, done, size)


def watched(
    blocks: Iterator[AnyBlock], file: str | Path, size: int | None, *, quiet: bool = False
) -> Iterator[AnyBlock]:
    """Yield the blocks of a file, and show how much was read."""
    done = 0
    with bar(file, size, quiet=quiet) as tell:
        for block in blocks:
            yield block
            done += len(block)
            tell(done)
