"""Work that is a plan of units, each done on its own, on an engine: here, or on many machines."""

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from zeton.errors import JobError

__all__ = ["ENGINES", "check", "run"]

ENGINES = ("local", "ray")

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def run(
    work: Callable[[Unit], Result],
    units: Iterable[Unit],
    engine: str = "local",
    workers: int | None = None,
    *,
    cores: int = 1,
    address: str | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """Yield each unit's number and what `work` returns for it, in the order of the units.

    The engine `local` does one unit after the other, in this process. `ray` does up to `workers` at
    once (by default as many as there are cores for), each with so many `cores`, on the cluster at
    `address` or RAY_ADDRESS, or else on this machine; units are taken from the plan as they are
    needed. Work and units are pickled, and results should be small: what is large belongs to a
    file that all machines see.

    A unit whose worker dies is done again, a bounded number of times, so work must not mind being
    done twice. What work raises is raised here when the unit's turn comes; the rest is cancelled,
    as it is when the iterator is closed.

    >>> list(run(len, ["a", "bcd"]))
    [(0, 1), (1, 3)]
    """
    check(engine, workers)
    if engine == "ray":
        from zeton.jobs import cluster  # noqa: PLC0415 - Ray is an extra.

        return cluster.run(work, units, workers, cores, address)
    return ((number, work(unit)) for number, unit in enumerate(units))


def check(engine: str, workers: int | None) -> None:
    """Refuse an engine that there is not, or a number of workers that is none."""
    if engine not in ENGINES:
        raise JobError(f"engine is {engine!r:.40}; it must be one of {', '.join(ENGINES)}")
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int)):
        raise TypeError(f"workers is an int, not {type(workers).__name__}")
    if workers is not None and not 1 <= workers < 2**16:
        raise JobError(f"workers is {workers}; it must be from 1 to {2**16 - 1}")
