"""Every encoder there is, measured in one run: each cell in a fresh process, peers in turn."""

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bars
import chart
import report
from adapters import PEERS, THREADS
from cells import Cell, choose, ids_file, text_file
from prepare import FULL, QUICK, prepare_texts, prepare_vocab
from records import Record, Results, read, write
from zeton import _engine

BENCH = Path(__file__).parent
RESULTS = BENCH / "results"
SLOW = 6
"""Seconds. A peer that takes longer in a cell is measured once."""


def main() -> None:
    options = parse()
    shown = options.readme or options.picture
    if (shown or options.more) and not (RESULTS / "latest.json").exists():
        sys.exit("there is no results/latest.json yet; run `make bench` first")
    if shown:
        draw = report.readme if options.readme else bars.svg
        print(draw(read(RESULTS / "latest.json")))
        return
    cells: list[Cell] = options.cells
    whole = not (options.quick or options.only)
    peers = [peer for peer in PEERS if not options.peers or peer in options.peers]
    results: Results = {
        "date": datetime.now(UTC).date().isoformat(),
        "rounds": options.rounds,
        "quick": options.quick,
        "machine": machine(),
        "versions": versions({peer: PEERS[peer].package for peer in peers}),
        "engine": sha256(Path(_engine.__file__).read_bytes()).hexdigest()[:12],
        "records": [],
    }
    with TemporaryDirectory(prefix="zeton-bench-") as folder:
        run = Run(Path(folder), peers, options.timeout)
        if options.more:
            run.go_on(read(RESULTS / "latest.json"), results)
        run.prepare(cells, quick=options.quick)
        for number in range(1, options.rounds + 1):
            for _ in run.round(cells, number):
                results["records"] = list(run.records.values())
                name = "latest" if whole or options.more else "part"
                save(results, name, report.tables(results), chart.svg(results))
    print(report.tables(results))


def parse() -> argparse.Namespace:
    def words(given: str) -> list[str]:
        return given.split(",")

    parser = argparse.ArgumentParser(prog="peers.py", description=__doc__)
    parser.add_argument("--rounds", type=int, help="rounds of measurement (5)")
    parser.add_argument("--quick", action="store_true", help="one round on small texts, as a trial")
    parser.add_argument(
        "--only",
        type=words,
        default=[],
        help="words that choose cells, as in cl100k_base,en,code,list",
    )
    parser.add_argument("--peers", type=words, default=[], help="these peers only")
    parser.add_argument("--more", action="store_true", help="add rounds to results/latest.json")
    parser.add_argument(
        "--timeout", type=float, default=180, help="time limit of a process in seconds (180)"
    )
    parser.add_argument("--readme", action="store_true", help="print the README's table and stop")
    parser.add_argument(
        "--picture", action="store_true", help="print the README's picture, an SVG, and stop"
    )
    options = parser.parse_args()
    options.rounds = options.rounds or (1 if options.quick else 5)
    if strange := set(options.peers) - set(PEERS):
        parser.error(f"{', '.join(sorted(strange))} is no peer; there are {', '.join(PEERS)}")
    if options.more and options.quick:
        parser.error("--quick has other texts than the rounds that --more would add to")
    try:
        options.cells = choose(options.only)
    except ValueError as error:
        parser.error(str(error))
    return options


class Run:
    """A run: its folder of texts and vocabularies, and its records so far."""

    def __init__(self, folder: Path, peers: list[str], timeout: float) -> None:
        self.folder = folder
        self.peers = peers
        self.timeout = timeout
        self.records: dict[tuple[Cell, str], Record] = {}
        self.refused: dict[tuple[str, str], dict[str, Any]] = {}
        self.done: set[tuple[Cell, str]] = set()
        self.caches = 0
        self.cores = cores()

    def go_on(self, known: Results, results: Results) -> None:
        """Begin with the records of another run, of the same encoders on the same machine."""
        alike = [
            (each["machine"], each["versions"], each.get("engine")) for each in (known, results)
        ]
        if alike[0] != alike[1]:
            sys.exit("results/latest.json is of another machine, or of other encoders")
        for record in known["records"]:
            cell = Cell(record["task"], record["vocab"], record["texts"], record["form"])
            self.records[cell, record["peer"]] = record
            if record["status"] != "ok":
                self.done.add((cell, record["peer"]))

    def prepare(self, cells: list[Cell], *, quick: bool) -> None:
        """Write texts and vocabularies, and tiktoken's ids of all texts of the cells."""
        say("cut the texts")
        rest = prepare_texts(self.folder, QUICK if quick else FULL)
        for vocab in dict.fromkeys(cell.vocab for cell in cells):
            say(f"write {vocab}")
            prepare_vocab(self.folder, vocab, rest)
        for cell in {ids_file(cell): cell for cell in cells if cell.task != "load"}.values():
            say(f"ids of {cell.vocab}, {text_file(cell)}")
            outcome = self.start("tiktoken", cell, expect=True)
            if outcome["status"] != "ok":
                say(f"tiktoken {outcome['status']}: {outcome['reason']}")

    def round(self, cells: list[Cell], number: int) -> Iterator[Cell]:
        """Measure all cells once more; yield each finished cell."""
        for at, cell in enumerate(cells, 1):
            turn = number % len(self.peers)
            for peer in self.peers[turn:] + self.peers[:turn]:
                place = f"round {number}, cell {at} of {len(cells)}"
                for told in self.measure(cell, peer):
                    say(f"{place}: {' '.join(filter(None, asdict(cell).values()))}: {peer} {told}")
            yield cell

    def measure(self, cell: Cell, peer: str) -> Iterator[str]:
        """Measure a peer once more, unless it failed or was slow; yield lines of progress."""
        if (cell, peer) in self.done:
            return
        record = self.records.setdefault((cell, peer), self.record(cell, peer))
        start = time.perf_counter()
        outcome = self.refused.get((peer, cell.vocab)) or self.start(peer, cell)
        if cell.task == "load" and outcome["status"] == "ok":
            outcome = both_loads(outcome, self.start(peer, cell, cache=self.caches))
        if outcome["status"] != "ok":
            record |= {"status": outcome["status"], "reason": outcome["reason"]}
            self.done.add((cell, peer))
            if outcome["status"] in ("absent", "refuses"):
                self.refused[peer, cell.vocab] = outcome
            yield f"{outcome['status']}: {outcome['reason'][:80]}"
            return
        found: dict[str, float] = outcome["figures"]
        for name, value in found.items():
            record["figures"].setdefault(name, []).append(float(f"{value:.5g}"))
        yield ", ".join(f"{name} {value:.3g}" for name, value in found.items())
        if time.perf_counter() - start > SLOW:
            self.done.add((cell, peer))
            yield "is slow, and not asked again"

    def record(self, cell: Cell, peer: str) -> Record:
        size = (self.folder / text_file(cell)).stat().st_size if cell.task != "load" else 0
        return {
            "task": cell.task,
            "vocab": cell.vocab,
            "texts": cell.texts,
            "form": cell.form,
            "peer": peer,
            "status": "ok",
            "bytes": size,
            "figures": {},
        }

    def start(
        self, peer: str, cell: Cell, *, expect: bool = False, cache: int | None = None
    ) -> dict[str, Any]:
        """Measure a cell in a process of its own."""
        if cell.task == "load" and cache is None:
            self.caches += 1
            cache = self.caches
        threads = THREADS if cell.task in ("batch", "load") else 1
        job = {
            "peer": peer,
            "cell": asdict(cell),
            "folder": str(self.folder),
            "cores": self.cores[-threads:],
            "expect": expect,
        }
        environment = os.environ | {
            "RAYON_NUM_THREADS": str(threads),
            "TOKENIZERS_PARALLELISM": "true" if threads > 1 else "false",
            "TIKTOKEN_CACHE_DIR": "",
            "HF_HUB_OFFLINE": "1",
            "XDG_CACHE_HOME": str(self.folder / f"cache{cache or 0}"),
        }
        return start_worker("worker.py", job, environment, self.timeout)


def start_worker(
    script: str, job: dict[str, Any], environment: Mapping[str, str], timeout: float
) -> dict[str, Any]:
    """Run a script of this folder with a job; return its outcome, also after a crash or hang."""
    try:
        done = subprocess.run(
            [sys.executable, BENCH / script, json.dumps(job)],
            capture_output=True,
            timeout=timeout,
            check=False,
            env=environment,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return {"status": "hangs", "reason": f"not done after {timeout:.0f} s"}
    if done.returncode or not done.stdout.strip():
        said = last_words(done).replace(job["folder"], "…").replace(sys.prefix, "…")
        return {"status": "crashes", "reason": said[:300]}
    outcome: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return outcome


def last_words(done: "subprocess.CompletedProcess[str]") -> str:
    how = f"exit code {done.returncode}"
    if done.returncode < 0:
        how = signal.Signals(-done.returncode).name
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return f"{how}: {lines[-1] if lines else 'no message'}"


def both_loads(first: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """Join the figures of a load with an empty cache folder, and of one with its cache."""
    if again["status"] != "ok":
        return again
    one, two = first["figures"], again["figures"]
    figures = {"first": one["load"], "warm": two["load"], "memory": one["memory"]}
    return {"status": "ok", "figures": figures}


def save(results: Results, name: str, tables: str, picture: str) -> None:
    """Write the records, their tables and their picture."""
    RESULTS.mkdir(exist_ok=True)
    write(results, RESULTS / f"{name}.json")
    (RESULTS / f"{name}.md").write_text(tables + "\n")
    (RESULTS / f"{name}.svg").write_text(picture)


def machine() -> dict[str, str]:
    """Return the properties of the machine that affect speed, and none that identify it."""
    file = Path("/proc/cpuinfo")
    info = file.read_text() if file.exists() else ""
    model = re.search(r"model name\s*: (.*)", info)
    flags = sorted(set(re.findall(r"\b(avx2|avx512\w*)\b", info)))
    return {
        "CPU": model[1] if model else platform.processor() or platform.machine(),
        "cores": str(os.cpu_count()),
        "flags": " ".join(flags) or "neither AVX2 nor AVX-512",
        "system": platform.system(),
        "Python": platform.python_version(),
    }


def versions(packages: Mapping[str, str]) -> dict[str, str]:
    """Return the version of each peer's package."""
    found = {}
    for peer, package in packages.items():
        try:
            found[peer] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[peer] = "absent"
    return found


def cores() -> list[int]:
    """Return the cores to measure on: the last ones, because the system uses the first."""
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    return allowed[-THREADS:]


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
