"""The results of `train.py` as tables in Markdown and as a picture."""

from collections.abc import Iterator
from statistics import median

import chart
from records import Record, Results, figures, ratio
from report import markdown, spread
from zeton.training.report.charts import STYLE, lines

TASKS = {
    "strings": "From a list of texts, one core",
    "threads": "Counting on two threads",
    "budget": "A corpus of files, within a budget of memory",
    "sizes": "Time and memory by the size of the corpus, one core",
}
TITLES = {"en": "English", "enwik8": "enwik8", "multi": "other languages"}
PEAK_MAX, SLOWER_MAX, PIECES_MIN = 400, 2.0, 5_000_000
"""The limits: MB with a budget of 256 MB, time relative to no budget, distinct pieces."""

COLORS = {"ink": chart.INK, "pale": chart.ORACLE, "rule": "#dddddd", "bar": chart.OTHER}
COLORS |= {"first": chart.OURS, "second": chart.ORACLE}
PICTURE_WIDTH, PICTURE_HEIGHT, TOP, MARGIN = 440, 280, 68, 16


def tables(results: Results) -> str:
    """Return the whole report."""
    return "\n".join(_lines(results))


def _lines(results: Results) -> Iterator[str]:
    yield "# Training in one run\n"
    size = " on small texts, to try it" if results["quick"] else ""
    yield f"Made by `python bench/train.py` on {results['date']}, {results['rounds']} rounds{size}."
    yield ", ".join(f"{name}: {value}" for name, value in results["machine"].items()) + ".  "
    yield ", ".join(f"{name} {version}" for name, version in results["versions"].items()) + "."
    yield "[How to read it](../README.md).\n"
    shown = {"strings": _strings, "threads": _threads, "budget": _budget, "sizes": _sizes}
    for task, title in TASKS.items():
        yield f"## {title}\n"
        records = [record for record in results["records"] if record["task"] == task]
        yield from shown[task](results, records) if records else ["Not measured in this run."]
        yield ""
    yield "## Other merges, or no figure\n"
    yield from sorted({_reason(record) for record in results["records"] if "reason" in record})


def _strings(results: Results, records: list[Record]) -> Iterator[str]:
    peers = list(results["versions"])
    for name, title in (("cpu", "CPU seconds"), ("memory", "MB above the texts")):
        yield f"{title}:\n"
        head = ["texts", "MB", "vocabulary", *peers, "rustbpe ÷ zeton"]
        yield from markdown(head, _strings_rows(records, peers, name))
        yield ""
    yield "\\* other merges than rustbpe's"


def _strings_rows(records: list[Record], peers: list[str], name: str) -> Iterator[list[str]]:
    for texts, vocab in dict.fromkeys((record["texts"], record["vocab"]) for record in records):
        row = {r["peer"]: r for r in records if (r["texts"], r["vocab"]) == (texts, vocab)}
        first = next(iter(row.values()))
        times = ratio(figures(row.get("zeton"), name), figures(row.get("rustbpe"), name))
        yield [
            *(TITLES[texts], f"{first['bytes'] / 1e6:.1f}", f"{int(vocab):,}"),
            *(_entry(row.get(peer), name) for peer in peers),
            "-" if times is None else f"{times:.1f}",
        ]


def _threads(_: Results, records: list[Record]) -> Iterator[str]:
    one = figures(records[0], "wall")
    rows = []
    for record in records:
        times = ratio(figures(record, "wall"), one)
        row = [record["form"], f"{record['bytes'] / 1e6:.1f}", _entry(record, "wall")]
        rows.append([*row, _entry(record, "cpu"), "-" if times is None else f"{times:.2f}"])
    yield from markdown(["threads", "MB", "seconds", "CPU seconds", "times as fast"], rows)


def _budget(results: Results, records: list[Record]) -> Iterator[str]:
    for record in results["records"]:
        if record["task"] == "pieces" and figures(record, "pieces"):
            count, size = int(figures(record, "pieces")[0]), record["bytes"] / 1e6
            bar = "" if results["quick"] else f" (bar: ≥ {PIECES_MIN:,})"
            yield f"{size:,.0f} MB with {count:,} distinct pieces{bar}.\n"
    unbounded = records[-1]
    rows = []
    for record in records:
        slower = [
            ratio(figures(unbounded, name), figures(record, name)) for name in ("wall", "cpu")
        ]
        bars = record is not unbounded and not results["quick"]
        told = ["-" if times is None else f"{times:.2f}" for times in slower]
        if bars:
            told = [f"{times} (bar: ≤ {SLOWER_MAX:g})" for times in told]
        peak = _entry(record, "peak") + (f" (bar: ≤ {PEAK_MAX})" if bars else "")
        rows.append([record["form"], _entry(record, "wall"), _entry(record, "cpu"), peak, *told])
    head = ["budget", "seconds", "CPU seconds", "peak MB of the process"]
    yield from markdown([*head, "wall ÷ unbounded", "CPU ÷ unbounded"], rows)


def _sizes(_: Results, records: list[Record]) -> Iterator[str]:
    rows = []
    for size in dict.fromkeys(record["texts"] for record in records):
        row = {record["peer"]: record for record in records if record["texts"] == size}
        ours, theirs = row.get("zeton"), row.get("rustbpe")
        entries = [_entry(record, name) for name in ("cpu", "memory") for record in (ours, theirs)]
        rows.append([f"{int(size) / 1e6:,.4g}", *entries])
    named = ["zeton, files", "rustbpe, strings"]
    head = [f"{what}, {peer}" for what in ("CPU s", "MB above before") for peer in named]
    yield from markdown(["MB of text", *head], rows)


def _entry(record: Record | None, name: str) -> str:
    if record is None:
        return "-"
    values = figures(record, name)
    if not values:
        return record["status"]
    return spread(values, digits=2) + (" \\*" if "reason" in record else "")


def _reason(record: Record) -> str:
    status = "differs" if record["status"] == "ok" else record["status"]
    where = "" if status in ("absent", "refuses") else f", {_place(record)}"
    return f"- {record['peer']} {status}{where}: {record.get('reason', '')}"


def _place(record: Record) -> str:
    parts = (record["task"], record["texts"], record["vocab"], record["form"])
    return " ".join(filter(None, parts))


def svg(results: Results) -> str:
    """Draw CPU time and memory over the size of the corpus, side by side."""
    width, height = 2 * (PICTURE_WIDTH + MARGIN) + MARGIN, TOP + PICTURE_HEIGHT + MARGIN
    size = f'width="{width}" height="{height}"'
    # The pictures take colours and width from the page around them.
    style = STYLE + f"svg {{ width: {width}px; max-width: none; height: {height}px; }}"
    style += f"svg svg {{ width: {PICTURE_WIDTH}px; height: {PICTURE_HEIGHT}px; }}"
    for name, color in COLORS.items():
        style = style.replace(f"var(--{name})", color)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
        f"<style>{style}</style>",
        f'<path d="M0 0H{width}V{height}H0Z" style="fill: #ffffff; stroke: none"/>',
        chart.text(MARGIN, 24, "Training by the size of the corpus, one core", bold=True),
        chart.text(MARGIN, 44, "zeton from files, rustbpe from strings; memory above before"),
    ]
    for column, (name, unit) in enumerate((("cpu", "CPU seconds"), ("memory", "MB"))):
        series = {peer: _series(results, peer, name) for peer in ("zeton", "rustbpe")}
        picture = lines(unit, series, x="MB of text", y=unit, log_y=True)
        across = MARGIN + column * (PICTURE_WIDTH + MARGIN)
        place = f'x="{across}" y="{TOP}" width="{PICTURE_WIDTH}" height="{PICTURE_HEIGHT}"'
        parts.append(picture.replace("<svg ", f"<svg {place} ", 1))
    return "\n".join([*parts, "</svg>", ""])


def _series(results: Results, peer: str, name: str) -> list[tuple[float, float]]:
    return [
        (record["bytes"] / 1e6, median(figures(record, name)))
        for record in results["records"]
        if (record["task"], record["peer"]) == ("sizes", peer) and figures(record, name)
    ]
