"""Units of work, done by an engine; what comes of them comes in their order."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from jeton.errors import Error

__all__ = ["run"]

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def run(
    work: Callable[[Unit], Result],
    units: Sequence[Unit],
    engine: str = "local",
    workers: int | None = None,
) -> Iterator[tuple[int, Result]]:
    """Yield the number of each unit and what `work` makes of it, in order."""
    if engine != "local":
        raise Error(f"the engine is {engine!r}; there is 'local'")
    if workers is not None and workers < 1:
        raise Error(f"workers is {workers}; it must be at least 1")
    for number, unit in enumerate(units):
        yield number, work(unit)
