"""The simulated accelerator: wrong ids (0 is required), bytes per cycle and raw share, by text.

A cell is a file of texts under one regime of gaps and back-pressure. Cells that are recorded for
the same RTL are skipped, so a run is resumable. Rates are bytes per clock cycle in simulation;
nothing here ran on a card.
"""

import argparse
import ast
import hashlib
import json
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import zeton
from texts import SEPARATOR, data
from zeton import accel
from zeton.accel.transports.build import list_sources

if TYPE_CHECKING:
    from zeton.accel.transports.sim import SimTransport

RESULTS = Path(__file__).parent / "results" / "accel.json"

REGIMES = {"free": (0, 0), "gaps": (90, 0), "stalls": (0, 60), "both": (85, 50)}
"""Percentages of cycles: without a word offered to the card, and without a word taken from it.

A word has eight bytes: with nine gaps of ten, lanes wait for text.
"""

REAL_BYTES = 640_000
"""Bytes of each file of real text; together more than 20 MB."""

HOSTILE_TEXTS = 100_000
HOSTILE_CELL = 12_500
HOSTILE_BYTES = 100
"""Number of short texts in a cell, and their largest number of bytes."""

WORST_BYTES = 100_000
MEGABYTE = ("run_a", "run_han", "run_newlines_then_letter", "run_space_then_letter")
"""Bytes of each hostile file that are one text; the listed files have a megabyte."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """Some texts under one regime; `kind` is real, hostile or worst."""

    kind: str
    name: str
    regime: str


@dataclass(frozen=True)
class Card:
    """A tokenizer on a card."""

    vocab: str
    config: str
    parameters: tuple[tuple[str, int], ...]

    @property
    def label(self) -> str:
        changed = "".join(f", {name} {value}" for name, value in self.parameters)
        return f"{self.vocab} on {self.config}{changed}"


def main() -> None:
    options = read_options()
    card = Card(options.vocab, options.config, tuple(sorted(options.set)))
    state = rtl_state()
    records = [] if options.anew else read(RESULTS)
    known = {key_of(record) for record in records if is_current(record, state)}
    cells = [cell for cell in all_cells(options.only) if (card.label, cell) not in known]
    print(f"{card.label}: {len(cells)} cells to run", file=sys.stderr)
    wrong = 0
    for record in run(card, cells, options.jobs):
        record |= {"rtl": state, "date": time.strftime("%Y-%m-%d")}
        records = [each for each in records if key_of(each) != key_of(record)] + [record]
        write(records)
        wrong += record["wrong"]
        print(line_of(record), file=sys.stderr, flush=True)
    if not cells:
        write(records)
    print(RESULTS.with_suffix(".md").read_text())
    if wrong:
        sys.exit(f"{wrong} texts have wrong ids")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocab", default="cl100k_base", help="a pretrained tokenizer")
    parser.add_argument("--config", default="default", help="a card by name")
    parser.add_argument("--set", action="append", default=[], type=parameter, metavar="NAME=N")
    parser.add_argument(
        "--only", default="", help="words; cells that have all of them in their name"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--restart", action="store_true", help="discard the records, and measure again"
    )
    return parser.parse_args()


def parameter(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    return name, int(value)


# ---- cells ----


def all_cells(only: str) -> list[Cell]:
    """Return the cells whose names contain all words."""
    files = sorted((data() / "dev").glob("*/*.txt"))
    if not files:
        sys.exit("set ZETON_DATA to a folder with dev/*/*.txt and gen_adversarial.py")
    names = [f"{file.parent.name}/{file.stem}" for file in files]
    cells = [Cell("real", name, regime) for regime in REGIMES for name in names]
    parts = [f"part {at}" for at in range(HOSTILE_TEXTS // HOSTILE_CELL)]
    cells += [Cell("hostile", part, regime) for regime in REGIMES for part in parts]
    cells += [Cell("worst", name, "free") for name in sorted(hostile_files())]
    words = only.split()
    return [cell for cell in cells if all(word in spelled(cell) for word in words)]


def spelled(cell: Cell) -> str:
    return f"{cell.kind} {cell.name} {cell.regime}"


def texts_of(cell: Cell) -> list[bytes]:
    """Return the texts of a cell."""
    if cell.kind == "real":
        content = (data() / "dev" / f"{cell.name}.txt").read_bytes()
        return content[:REAL_BYTES].split(SEPARATOR.encode())
    if cell.kind == "worst":
        content = hostile_files()[cell.name]
        return [content if cell.name in MEGABYTE else content[:WORST_BYTES]]
    at = int(cell.name.split()[1]) * HOSTILE_CELL
    return hostile_texts()[at : at + HOSTILE_CELL]


@cache
def hostile_folder() -> tuple[dict[str, bytes], list[bytes]]:
    """Return the files and the small cases of the generator."""
    with tempfile.TemporaryDirectory() as folder:
        generator = data() / "gen_adversarial.py"
        command = [sys.executable, str(generator), folder, "--big", "1000000"]
        subprocess.run(command, check=True, capture_output=True)
        files = {path.stem: path.read_bytes() for path in Path(folder, "files").iterdir()}
        lines = Path(folder, "cases.jsonl").read_text().splitlines()
        cases = [ast.literal_eval(json.loads(line)["repr"]) for line in lines]
    return files, [
        case.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        for case in cases
    ]


def hostile_files() -> dict[str, bytes]:
    return hostile_folder()[0]


@cache
def hostile_texts() -> list[bytes]:
    """Return the small cases, and short parts of the files, cut at any byte."""
    files, cases = hostile_folder()
    draw, names = random.Random(9), sorted(files)  # noqa: S311
    texts = list(cases)
    while len(texts) < HOSTILE_TEXTS:
        content = files[draw.choice(names)]
        start = draw.randrange(len(content))
        texts.append(content[start : start + draw.randrange(HOSTILE_BYTES)])
    draw.shuffle(texts)
    return texts


# ---- measuring ----


def run(card: Card, cells: list[Cell], jobs: int) -> Iterator[Record]:
    """Yield a record for each cell."""
    if cells:
        device_of(card)  # It is built once, before processes need it.
    if jobs == 1:
        yield from (measure(card, cell) for cell in cells)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(measure, [card] * len(cells), cells)


@cache
def device_of(card: Card) -> accel.Device:
    parameters: dict[str, Any] = dict(card.parameters)
    device = accel.open("sim", config=card.config, **parameters)
    device.load(zeton.pretrained(card.vocab))
    return device


def measure(card: Card, cell: Cell) -> Record:
    """Encode the texts of a cell, compare all ids with the software's, and count."""
    device, tokenizer = device_of(card), zeton.pretrained(card.vocab)
    texts = texts_of(cell)
    transport = cast("SimTransport", device.transport)
    device.reset()
    transport.regime(
        *REGIMES[cell.regime], seed=int.from_bytes(cell.name.encode(), "big") % 9973 + 1
    )
    before, start = device.counters(), time.process_time()
    ids = device.encode_batch(texts)
    seconds, after = time.process_time() - start, device.counters()
    transport.regime()
    expected = tokenizer.encode_batch(texts, threads=1)
    wrong = sum(own != right for own, right in zip(ids, expected, strict=True))
    counted = {name: after[name] - before[name] for name in after}
    if counted["bytes"] != sum(map(len, texts)):
        sys.exit(f"{cell}: the card counted {counted['bytes']} bytes")
    gap, stall = REGIMES[cell.regime]
    shape = {"card": card.label, "configuration": asdict(device.info.configuration)}
    found = {"texts": len(texts), "wrong": wrong, "seconds": seconds, "gap": gap, "stall": stall}
    return shape | asdict(cell) | found | counted


# ---- records ----


def is_current(record: Record, state: str) -> bool:
    """Return whether a record has this RTL and these regimes."""
    return record["rtl"] == state and (record["gap"], record["stall"]) == REGIMES[record["regime"]]


def key_of(record: Record) -> tuple[str, Cell]:
    return record["card"], Cell(record["kind"], record["name"], record["regime"])


def rtl_state() -> str:
    """Return a hash of all sources that affect ids: RTL, tables, and the reader of its words."""
    folder = Path(accel.__file__).parent
    made_by = [folder / f"{name}.py" for name in ("tables", "pairs", "bridges", "hashes", "words")]
    state = hashlib.sha256()
    for path in sorted([*list_sources(), *made_by], key=lambda path: path.name):
        state.update(path.read_bytes())
    return state.hexdigest()[:12]


def read(file: Path) -> list[Record]:
    return cast("list[Record]", json.loads(file.read_text())["records"]) if file.exists() else []


def write(records: list[Record]) -> None:
    """Write all records, one per line, and the tables."""
    lines = ",\n".join(map(json.dumps, records))
    RESULTS.write_text(f'{{"records": [\n{lines}\n]}}\n')
    RESULTS.with_suffix(".md").write_text("\n".join(tables(records)) + "\n")


def tables(records: list[Record]) -> Iterator[str]:
    """Yield the lines of a page."""
    newest = rtl_state()
    yield "# The accelerator, simulated"
    yield ""
    yield (
        f"Made by `python bench/accel.py` on {platform.machine()}. Rates are of the clock alone: "
        "nothing here ran on a card. Raw is the share of bytes that leave the card for the host to "
        f"merge. The RTL of the sources is {newest}; in tables, * marks what was run with earlier "
        "RTL."
    )
    records = [
        record if record["rtl"] == newest else record | {"name": f"{record['name']} *"}
        for record in records
    ]
    for card in sorted({record["card"] for record in records}):
        own = [record for record in records if record["card"] == card]
        yield from ("", f"## {card}", "", f"{sizes(own)}.", "")
        yield from by_text([each for each in own if each["kind"] == "real"])
        yield from by_regime([each for each in own if each["kind"] in ("real", "hostile")])
        yield from slowest([each for each in own if each["kind"] == "worst"])


def sizes(records: list[Record]) -> str:
    """Return a summary: the bytes encoded, the RTL, and the wrong ids."""
    parts = []
    for state in dict.fromkeys(record["rtl"] for record in records):
        total = added(record for record in records if record["rtl"] == state)
        pace = total["cycles"] / max(total["seconds"], 1e-9)
        parts.append(
            f"RTL {state}: {total['texts']:,} texts, {total['bytes'] / 1e6:.1f} MB: "
            f"**{total['wrong']} wrong**, {pace:,.0f} cycles of simulation a second of CPU"
        )
    return "; ".join(parts)


def by_text(records: list[Record]) -> Iterator[str]:
    """Yield a table of real texts without gaps or back-pressure."""
    yield from head("text", "MB", "wrong", "bytes per cycle", "raw", "look-ups per byte")
    free = [record for record in records if record["regime"] == "free"]
    groups: dict[str, list[Record]] = {}
    for record in sorted(free, key=lambda record: record["name"]):
        groups.setdefault(record["name"].split("/")[0], []).append(record)
    for group, own in groups.items():
        yield row(f"**{group}**", added(own))
        for record in own:
            yield row(record["name"].split("/")[1], record)
    yield row("**all**", added(free))


def by_regime(records: list[Record]) -> Iterator[str]:
    """Yield a table of real and of hostile short texts, by gaps and back-pressure."""
    yield from ("", "By gaps (cycles without a word of text) and stalls (without taking ids):", "")
    yield from head("texts", "gaps", "stalls", "texts", "MB", "wrong", "bytes per cycle")
    groups: dict[tuple[str, int, int], list[Record]] = {}
    for record in records:
        key = (record["kind"], record["gap"], record["stall"])
        groups.setdefault(key, []).append(record)
    for (kind, gap, stall), own in sorted(groups.items()):
        total = added(own)
        mark = " *" if any(record["name"].endswith(" *") for record in own) else ""
        yield (
            f"| {kind}{mark} | {gap} % | {stall} % | {total['texts']:,} "
            f"| {total['bytes'] / 1e6:.2f} | {total['wrong']} | {rate(total):.4f} |"
        )


def slowest(records: list[Record]) -> Iterator[str]:
    """Yield a table of the hostile files that take longest."""
    if not records:
        return
    yield from ("", f"Of {len(records)} hostile files, the slowest:", "")
    yield from head("file", "MB", "wrong", "bytes per cycle", "raw", "look-ups per byte")
    for record in sorted(records, key=rate)[:12]:
        yield row(record["name"], record)


def head(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|---|" + "---:|" * (len(names) - 1)


def row(name: str, record: Record) -> str:
    size = max(record["bytes"], 1)
    raw, looked = 100 * record["raw_bytes"] / size, record["lookups"] / size
    cells = [f"{size / 1e6:.2f}", f"{record['wrong']}", f"{rate(record):.4f}"]
    return f"| {name} | {' | '.join(cells)} | {raw:.2f} % | {looked:.2f} |"


def rate(record: Record) -> float:
    return float(record["bytes"] / max(record["cycles"], 1))


def added(records: Iterable[Record]) -> Record:
    names = ("texts", "wrong", "seconds", "bytes", "cycles", "raw_bytes", "lookups")
    own = list(records)
    return {name: sum(record[name] for record in own) for name in names}


def line_of(record: Record) -> str:
    pace = record["cycles"] / max(record["seconds"], 1e-9)
    figures = row(record["name"], record)
    return f"{record['kind']:<8} {figures} {record['regime']}, {pace:,.0f} cycles/s"


if __name__ == "__main__":
    main()
