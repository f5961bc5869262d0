"""Executors: where the units of a plan run, in this process or on the machines of a Ray cluster."""

from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

from zeton.errors import JobError

__all__ = ["EXECUTORS", "check_executor", "run_units"]

EXECUTORS = ("local", "ray")

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def run_units(
    work: Callable[[Unit], Result],
    *,
    units: Iterable[Unit],
    executor: str = "local",
    workers: int | None = None,
    cores: int = 1,
    address: str | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """Yield the number of each unit and its result from `work`, in the order of the units.

    - `executor`: "local" runs one unit after the other in this process. "ray" runs up to `workers`
      units at once, by default as many as the cluster has cores for.
    - `cores`: cores that one unit takes on Ray.
    - `address`: the Ray cluster. Without it, RAY_ADDRESS names the cluster, or this machine is one.

    Units are taken from the iterable as they are needed. Work and units are pickled. Results should
    be small: large ones belong in a file that all machines see.

    A unit whose worker dies runs again, a bounded number of times, so `work` must tolerate being
    run twice. An exception in `work` is raised here when the unit's turn comes. The rest is then
    cancelled, as it is when the iterator is closed.

    >>> list(run_units(len, units=["a", "bcd"]))
    [(0, 1), (1, 3)]
    """
    check_executor(executor, workers)
    if executor == "ray":
        from zeton.work.executor import ray_cluster  # noqa: PLC0415 - Ray is an extra.

        return ray_cluster.run(work, units, workers, cores, address)
    return ((number, work(unit)) for number, unit in enumerate(units))


def check_executor(executor: str, workers: int | None) -> None:
    """Raise an error for an unknown executor or an invalid number of workers."""
    if executor not in EXECUTORS:
        names = " or ".join(map(repr, EXECUTORS))
        raise JobError(f"executor={executor!r:.40} is unknown; give {names}")
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int)):
        raise TypeError(f"workers is an int, not {type(workers).__name__}")
    if workers is not None and not 1 <= workers < 2**16:
        raise JobError(f"workers={workers} is out of range; give 1 to {2**16 - 1}")
