"""A run's results as tables in Markdown."""

from collections.abc import Callable, Iterable, Iterator
from statistics import median

from adapters import PEERS
from cells import GROUPS, HOSTILE, TASKS, VOCABS, Cell, all_cells
from records import Record, Results, best_peer, figures, look_up, rate, ratio

PASSES = {"first": "cold cache", "warm": "warm cache"}
README_ROWS = (
    ("encode", "large", "array", "cl100k_base", tuple(GROUPS)),
    ("encode", "large", "array", "o200k_base", tuple(GROUPS)),
    ("encode", "large", "array", "nanochat", ("en",)),
    ("encode 1 to 4 KB of", "small", "list", "cl100k_base", ("en",)),
    ("decode", "decode", "array", "cl100k_base", ("en",)),
)
"""The rows of the README's table; `latest.md` has all."""


def tables(results: Results) -> str:
    """Return the whole report."""
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield "# Encoders in one run\n"
    size = " on small texts, as a trial" if results["quick"] else ""
    yield f"Made by `python bench/peers.py` on {results['date']}, {_rounds(results)}{size}."
    yield ", ".join(f"{name}: {value}" for name, value in results["machine"].items()) + ".  "
    yield ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + "."
    yield "[How to read it](../README.md).\n"
    for task in ("large", "small", "batch", "decode"):
        for name, title in PASSES.items():
            clock = "second" if task == "batch" else "CPU second"
            yield f"## {TASKS[task]}, {title}: MB a {clock}\n"
            yield from _table(results, [task], name, _rate, best=True)
    yield "## one large text: peak memory in MB, above the interpreter with the package\n"
    yield from _table(results, ["large"], "memory", _plain(1))
    yield "## 1 MB of hostile text: CPU time as a multiple of that of 1 MB of English\n"
    yield from _table(results, ["hostile"], "first", _over_english)
    yield '## "hello world": ns a call\n'
    yield from _table(results, ["hello"], "first", _plain(1))
    empty = [each for record in results["records"] for each in figures(record, "empty")]
    if empty:
        yield f"The cheapest call with a str, `len(text)`, takes {median(empty):.0f} ns.\n"
    for name, title in (("first", "an empty cache folder"), ("warm", "the cache it left")):
        yield f"## load with {title}: ms by the clock\n"
        yield from _table(results, ["load"], name, _plain(1000))
    yield "## Why there is no figure\n"
    yield from sorted({_reason(record) for record in results["records"] if "reason" in record})


def _rounds(results: Results) -> str:
    """Return the number of rounds of the cells."""
    counts = [len(figures(each, "first")) for each in results["records"] if each["peer"] == "zeton"]
    least, most = min(counts, default=0), max(counts, default=0)
    return f"{most} rounds" if least == most else f"{least} to {most} rounds"


def _reason(record: Record) -> str:
    where = "" if record["status"] in ("absent", "refuses") else f", {record['task']}"
    return f"- {record['peer']} {record['status']}, {record['vocab']}{where}: {record['reason']}"


def _table(
    results: Results,
    tasks: list[str],
    name: str,
    show: Callable[[Record, str], str],
    *,
    best: bool = False,
) -> Iterator[str]:
    rows = []
    for cell in (cell for cell in all_cells() if cell.task in tasks):
        records = look_up(results, cell)
        if not records:
            continue
        row = [VOCABS[cell.vocab].title, _texts(cell), cell.form]
        row += [_entry(records.get(peer), name, show) for peer in PEERS]
        if best:
            row.append(_against_best(records, name))
        rows.append(row)
    if not rows:
        yield "Not measured in this run.\n"
        return
    yield from markdown(["vocabulary", "texts", "ids", *PEERS] + ["zeton ÷ best"] * best, rows)
    yield ""


def markdown(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _texts(cell: Cell) -> str:
    return GROUPS.get(cell.texts) or HOSTILE.get(cell.texts, "")


def _entry(record: Record | None, name: str, show: Callable[[Record, str], str]) -> str:
    if record is None:
        return "-"
    return show(record, name) if figures(record, name) else record["status"]


def spread(values: list[float], digits: int = 1) -> str:
    """Return the median and, if values differ, their range; only values below 20 have digits."""
    digits = 0 if median(values) >= 20 else digits
    middle, low, high = (f"{v:.{digits}f}" for v in (median(values), min(values), max(values)))
    return middle if low == high else f"{middle} ({low}..{high})"


def _rate(record: Record, name: str) -> str:
    return spread([record["bytes"] / 1e6 / seconds for seconds in figures(record, name)])


def _plain(factor: float) -> Callable[[Record, str], str]:
    return lambda record, name: spread([factor * value for value in figures(record, name)])


def _over_english(record: Record, name: str) -> str:
    pairs = zip(figures(record, name), figures(record, "english"), strict=True)
    return spread([hostile / english for hostile, english in pairs])


def _against_best(records: dict[str, Record], name: str) -> str:
    peer = best_peer(records, name)
    if peer is None:
        return "-"
    times = ratio(figures(records.get("zeton"), name), figures(records[peer], name))
    return "-" if times is None else f"{times:.2f} {peer}"


def readme(results: Results) -> str:
    """Return the README's table: MB a CPU second of each peer that has figures in a row."""
    cells = {
        f"{name} {GROUPS[group]} ({VOCABS[vocab].title})": look_up(
            results, Cell(task, vocab, group, form)
        )
        for name, task, form, vocab, groups in README_ROWS
        for group in groups
    }
    peers = [peer for peer in PEERS if any(rate(cell.get(peer)) for cell in cells.values())]
    rows = [[title, *_rates(cell, peers), _over_tiktoken(cell)] for title, cell in cells.items()]
    return "\n".join(markdown(["MB per CPU second", *peers, "zeton ÷ tiktoken"], rows))


def _rates(cell: dict[str, Record], peers: Iterable[str]) -> Iterator[str]:
    for peer in peers:
        found = rate(cell.get(peer))
        yield "-" if found is None else f"{found:.0f}"


def _over_tiktoken(cell: dict[str, Record]) -> str:
    ours, theirs = (figures(cell.get(peer), "first") for peer in ("zeton", "tiktoken"))
    times = ratio(ours, theirs)
    return "-" if times is None else f"{times:.1f}"
