"""The records of a run: reading and writing them, and ratios of their figures."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import NotRequired, TypedDict

from cells import Cell


class Record(TypedDict):
    task: str
    vocab: str
    texts: str
    form: str
    peer: str
    status: str
    """ok; or absent, refuses, fails, differs, crashes, hangs, with a reason."""
    reason: NotRequired[str]
    bytes: int
    figures: dict[str, list[float]]
    """Seconds of each round; for `hello` nanoseconds, for memory MB."""


class Results(TypedDict):
    date: str
    rounds: int
    quick: bool
    machine: dict[str, str]
    versions: dict[str, str]
    engine: NotRequired[str]
    """A digest of zeton's engine, which changes more often than its version."""
    records: list[Record]


def write(results: Results, file: Path) -> None:
    """Write one record per line, so that two runs can be compared line by line."""
    head = json.dumps({**results, "records": []}, indent=1, ensure_ascii=False)
    lines = ",\n".join(json.dumps(record, ensure_ascii=False) for record in results["records"])
    file.write_text(head.replace('"records": []', f'"records": [\n{lines}\n]') + "\n")


def read(file: Path) -> Results:
    results: Results = json.loads(file.read_text())
    return results


def look_up(results: Results, cell: Cell) -> dict[str, Record]:
    """Return the records of a cell by peer."""
    key = asdict(cell).items()
    return {record["peer"]: record for record in results["records"] if key <= record.items()}


def figures(record: Record | None, name: str) -> list[float]:
    """Return the figures of all rounds; a wrong or missing result has none."""
    if record is None or record["status"] != "ok":
        return []
    return record["figures"].get(name, [])


def rate(record: Record | None, name: str = "first") -> float | None:
    """Return the median of the rounds in MB a second, None where there is no right result."""
    seconds = figures(record, name)
    return record["bytes"] / 1e6 / median(seconds) if record and seconds else None


def ratio(ours: Iterable[float], theirs: Iterable[float]) -> float | None:
    """Return our speed relative to theirs: the median over the rounds that both have.

    >>> ratio([1.0, 2.0, 1.0], [2.0, 4.0, 9.0])
    2.0
    """
    rounds = [their / our for our, their in zip(ours, theirs, strict=False)]
    return median(rounds) if rounds else None


def best_peer(cell: dict[str, Record], name: str) -> str | None:
    """Return the fastest exact peer, without zeton."""
    medians = {
        peer: median(figures(record, name))
        for peer, record in cell.items()
        if peer != "zeton" and figures(record, name)
    }
    return min(medians, key=medians.__getitem__) if medians else None
