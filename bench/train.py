"""Training, measured in one run: beside peers, on two threads, within a memory budget, by size."""

import argparse
import lzma
import os
import random
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import train_report as report
import zeton
from cells import Cell
from peers import cores, machine, save, say, start_worker, versions
from prepare import SEED
from records import Record, Results
from texts import SEPARATOR, cut, data, groups, texts_of
from train_worker import TRAINERS

ENWIK8 = Path("large", "enwik8.txt.xz")
NEEDED = (ENWIK8, *(Path("dev", group) for group in ("en", "code", "multi", "web")))
OTHER_TIES = ("tokenizers",)
"""Peers with another rule for equally frequent pairs; their merges may differ."""


@dataclass(frozen=True)
class Plan:
    """The sizes of a run, in bytes and tokens."""

    english: int
    enwik8: int
    multilingual: int
    vocab: int
    vocab_large: int
    source: int
    """The largest part of each file in the corpus."""
    sizes: tuple[int, ...]
    """Sizes of the corpus; the last one is its full size."""
    rustbpe_max: int
    """The largest corpus that rustbpe trains on."""
    budget: str


MB = 10**6
NO_BUDGET = "64GB"
FULL = Plan(
    english=10 * MB,
    enwik8=100 * MB,
    multilingual=100 * MB,
    vocab=32_768,
    vocab_large=65_536,
    source=100 * MB,
    sizes=tuple(MB * size for size in (1, 3, 10, 30, 100, 300, 1000)),
    rustbpe_max=100 * MB,
    budget="256MB",
)
QUICK = Plan(
    english=MB,
    enwik8=2 * MB,
    multilingual=MB,
    vocab=2_048,
    vocab_large=4_096,
    source=MB,
    sizes=(MB // 3, MB, 3 * MB, 10 * MB, 30 * MB),
    rustbpe_max=3 * MB,
    budget="16MB",
)


def main() -> None:
    options = parse()
    plan = QUICK if options.quick else FULL
    whole = not (options.quick or options.only)
    results: Results = {
        "date": datetime.now(UTC).date().isoformat(),
        "rounds": options.rounds,
        "quick": options.quick,
        "machine": machine() | {"measured on": f"cores {cores()}"},
        "versions": versions({peer: peer for peer in TRAINERS}),
        "records": [],
    }
    with TemporaryDirectory(prefix="zeton-bench-") as folder:
        run = Run(Path(folder), plan, options.timeout)
        run.prepare(options.only or list(report.TASKS))
        for number in range(1, options.rounds + 1):
            run.round(number)
            results["records"] = list(run.records.values())
            name = "train" if whole else "train-part"
            save(results, name, report.tables(results), report.svg(results))
    print(report.tables(results))


def parse() -> argparse.Namespace:
    def words(given: str) -> list[str]:
        return given.split(",")

    parser = argparse.ArgumentParser(prog="train.py", description=__doc__)
    parser.add_argument("--rounds", type=int, help="rounds of measurement (3)")
    parser.add_argument("--quick", action="store_true", help="one round on small texts, as a trial")
    parser.add_argument(
        "--only", type=words, default=[], help=f"some of {','.join(report.TASKS)}, with commas"
    )
    parser.add_argument(
        "--timeout", type=float, default=1800, help="time limit of a process in seconds (1800)"
    )
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 3)
    if strange := set(options.only) - set(report.TASKS):
        parser.error(f"{', '.join(sorted(strange))} is none of {', '.join(report.TASKS)}")
    if missing := [str(name) for name in NEEDED if not (data() / name).exists()]:
        sys.exit(f"{data()} has no {', '.join(missing)}; set ZETON_DATA to a folder that has")
    return options


class Run:
    """A run: its folder of texts, its cells, and its records so far."""

    def __init__(self, folder: Path, plan: Plan, timeout: float) -> None:
        self.folder = folder
        self.plan = plan
        self.timeout = timeout
        self.cores = cores()
        self.cells: dict[Cell, list[str]] = {}
        """The peers that are measured in each cell."""
        self.records: dict[tuple[Cell, str], Record] = {}
        self.refused: dict[str, dict[str, Any]] = {}

    def prepare(self, tasks: list[str]) -> None:
        """Choose the cells, and write their texts."""
        plan, vocab, large = self.plan, str(self.plan.vocab), str(self.plan.vocab_large)
        whole = str(plan.sizes[-1])
        ours = ["zeton"]
        if "strings" in tasks:
            texts = [("en", vocab), ("enwik8", vocab), ("enwik8", large), ("multi", vocab)]
            self.cells |= {Cell("strings", size, name): list(TRAINERS) for name, size in texts}
        if "threads" in tasks:
            self.cells |= {Cell("threads", "", "enwik8", form): ours for form in ("1", "2")}
        if "strings" in tasks or "threads" in tasks:
            say("cut the texts")
            write_texts(self.folder, plan)
        if "budget" in tasks or "sizes" in tasks:
            say(f"write a corpus of {plan.sizes[-1] / MB:.0f} MB")
            write_corpus(self.folder, plan)
            self.measure(Cell("pieces", "", whole), "zeton", "the corpus")
        if "budget" in tasks:
            budgets = (plan.budget, NO_BUDGET)
            self.cells |= {Cell("budget", vocab, whole, form): ours for form in budgets}
        if "sizes" in tasks:
            for size in plan.sizes:
                both = [*ours, "rustbpe"] if size <= plan.rustbpe_max else ours
                self.cells[Cell("sizes", vocab, str(size))] = both

    def round(self, number: int) -> None:
        for at, (cell, peers) in enumerate(self.cells.items(), 1):
            turn = number % len(peers)
            for peer in peers[turn:] + peers[:turn]:
                self.measure(cell, peer, f"round {number}, cell {at} of {len(self.cells)}")
        for cell, peers in self.cells.items():
            for peer in peers:
                self.compare(cell, peer)

    def measure(self, cell: Cell, peer: str, place: str) -> None:
        """Measure a peer once more, unless it failed before."""
        files = self.files(cell)
        record = self.records.setdefault((cell, peer), self.record(cell, peer, files))
        if record["status"] != "ok":
            return
        outcome = self.refused.get(peer) or self.start(cell, peer, files)
        if outcome["status"] == "ok":
            for name, value in outcome["figures"].items():
                record["figures"].setdefault(name, []).append(float(f"{value:.7g}"))
            told = ", ".join(f"{name} {value:.3g}" for name, value in outcome["figures"].items())
        else:
            record |= {"status": outcome["status"], "reason": outcome["reason"]}
            told = f"{outcome['status']}: {outcome['reason'][:80]}"
        if outcome["status"] in ("absent", "refuses"):
            self.refused[peer] = outcome
        say(f"{place}: {' '.join(filter(None, asdict(cell).values()))}: {peer} {told}")

    def start(self, cell: Cell, peer: str, files: list[Path]) -> dict[str, Any]:
        used = self.cores if cell.task in ("threads", "budget", "pieces") else self.cores[-1:]
        job = {
            "peer": peer,
            "cell": asdict(cell),
            "folder": str(self.folder),
            "files": [file.name for file in files],
            "learned": self.learned(cell, peer).name,
            "pattern": zeton.DEFAULT_PATTERN,
            "cores": used,
        }
        environment = os.environ | {
            "RAYON_NUM_THREADS": str(len(used)),
            "TOKENIZERS_PARALLELISM": "false",
        }
        return start_worker("train_worker.py", job, environment, self.timeout)

    def compare(self, cell: Cell, peer: str) -> None:
        """Compare learned tokens with the expected ones; another tie rule may differ."""
        record, reference = self.records[cell, peer], self.reference(cell)
        if record["status"] != "ok" or reference is None:
            return
        if not reference.exists():
            record |= {"status": "fails", "reason": "there is nothing to compare it with"}
        elif told := difference(self.learned(cell, peer), reference):
            record |= {"status": "ok" if peer in OTHER_TIES else "differs", "reason": told}

    def reference(self, cell: Cell) -> Path | None:
        match cell.task:
            case "threads":
                return self.learned(replace(cell, form="1"), "zeton")
            case "budget":
                return self.learned(replace(cell, form=NO_BUDGET), "zeton")
            case "sizes" if int(cell.texts) > self.plan.rustbpe_max:
                return None
            case _:
                return self.learned(cell, "rustbpe")

    def learned(self, cell: Cell, peer: str) -> Path:
        """Return the file of a peer's tokens, one per line."""
        return self.folder / f"{'-'.join([*filter(None, asdict(cell).values()), peer])}.learned"

    def files(self, cell: Cell) -> list[Path]:
        """Return the files of a cell: one file of texts, or the first parts of the corpus."""
        if cell.task in ("strings", "threads"):
            return [self.folder / f"{cell.texts}.texts"]
        return [
            part_file(self.folder, at) for at in range(self.plan.sizes.index(int(cell.texts)) + 1)
        ]

    def record(self, cell: Cell, peer: str, files: list[Path]) -> Record:
        return {
            "task": cell.task,
            "vocab": cell.vocab,
            "texts": cell.texts,
            "form": cell.form,
            "peer": peer,
            "status": "ok",
            "bytes": sum(file.stat().st_size for file in files),
            "figures": {},
        }


def write_texts(folder: Path, plan: Plan) -> None:
    """Write the texts of each group, cut to size, and enwik8 in texts of about 100 KB."""
    by_group = groups([])
    for group, size in (("en", plan.english), ("multi", plan.multilingual)):
        texts = by_group[group]
        random.Random(SEED).shuffle(texts)  # noqa: S311
        whole = SEPARATOR.join(texts).encode()[:size].decode(errors="ignore")
        (folder / f"{group}.texts").write_bytes(whole.encode())
    texts = list(texts_of(enwik8(plan.enwik8)))
    (folder / "enwik8.texts").write_bytes(SEPARATOR.join(texts).encode())


def write_corpus(folder: Path, plan: Plan) -> None:
    """Write a corpus as parts; the first parts alone are a smaller corpus."""
    sources = ["\n".join(texts).encode()[: plan.source] for texts in groups([]).values()]
    source = b"\n".join([enwik8(plan.source), *sources]).decode(errors="ignore").encode()
    blocks, block, written = rotated(source), b"", 0
    for at, size in enumerate(plan.sizes):
        with part_file(folder, at).open("wb") as file:
            while written < size:
                block = block or next(blocks)
                end = cut(block, size - written)
                written += file.write(block[:end])
                block = block[end:]


def rotated(source: bytes) -> Iterator[bytes]:
    """Yield a text repeatedly, its letters shifted by one more each time: Zoo, App, Bqq."""
    lower = bytes(range(ord("a"), ord("z") + 1))
    for shift in range(len(lower)):
        moved = lower[shift:] + lower[:shift]
        yield source.translate(bytes.maketrans(lower + lower.upper(), moved + moved.upper()))


def enwik8(size: int) -> bytes:
    with lzma.open(data() / ENWIK8) as file:
        return file.read(size).decode(errors="ignore").encode()


def part_file(folder: Path, at: int) -> Path:
    return folder / f"part{at}.txt"


def difference(learned: Path, reference: Path) -> str:
    """Return the difference between learned and expected lines, or an empty string.

    The message has the number of equal tokens before the first difference, and of shared tokens.
    """
    ours, theirs = (file.read_text().splitlines() for file in (learned, reference))
    if ours == theirs:
        return ""
    pairs = zip(ours, theirs, strict=False)
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), len(ours))
    shared = len(set(ours) & set(theirs))
    return f"{shared:,} of {len(theirs):,} tokens are the same, in order the first {same:,}"


if __name__ == "__main__":
    main()
