"""`zeton shard` beside the encoder alone: time and memory, with all ids compared."""

import argparse
import hashlib
import json
import lzma
import shutil
import statistics
import string
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import zeton
from texts import data, table
from zeton import shards

ROTATIONS = 10
LETTERS = string.ascii_lowercase
WARM = b"a warm cat " * 100


def main() -> None:
    options = parse()
    if options.worker:
        print(json.dumps(WORKERS[options.worker](options)))
        return
    rows = []
    with TemporaryDirectory(prefix="zeton-shard-", dir=options.folder) as folder:
        for name, file in corpora(Path(folder), options):
            rows += measure(name, file, Path(folder, "out"), options)
    head = [
        "corpus",
        "encoder MB/s",
        "shards MB/s",
        "share",
        "CPU",
        "command MB/s",
        "peak MB",
        "ids",
    ]
    table(head, rows)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="shard.py", description=__doc__)
    parser.add_argument("file", nargs="?", type=Path, help="a text (large/enwik8.txt.xz)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="also a corpus ten times as large")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokenizer", default="gpt2", help="name of a pretrained tokenizer (gpt2)")
    parser.add_argument("--folder", type=Path, help="folder of corpus and shards during the run")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.file = options.file or data() / "large" / "enwik8.txt.xz"
    if not options.file.exists():
        sys.exit(f"{options.file} is not there; name a text, or set ZETON_DATA")
    return options


def corpora(folder: Path, options: argparse.Namespace) -> list[tuple[str, Path]]:
    """Write the text, and one ten times as large, in which every repeat has shifted letters."""
    content = options.file.read_bytes()
    if options.file.suffix == ".xz":
        content = lzma.decompress(content)
    small, large = folder / "small.txt", folder / "large.txt"
    small.write_bytes(content)
    found = [(f"{len(content) / 1e6:.0f} MB", small)]
    if options.large:
        with large.open("wb") as file:
            for turn in range(ROTATIONS):
                rotated = LETTERS[turn:] + LETTERS[:turn]
                file.write(content.translate(bytes.maketrans(LETTERS.encode(), rotated.encode())))
        found.append((f"{ROTATIONS * len(content) / 1e6:.0f} MB", large))
    return found


def measure(name: str, file: Path, out: Path, options: argparse.Namespace) -> list[list[str]]:
    """Run both in turns, each in a process of its own; return rows of the table."""
    found: dict[str, list[dict[str, Any]]] = {worker: [] for worker in WORKERS}
    for turn in range(options.rounds):
        for worker, runs in found.items():
            runs.append(run(worker, file, out, options))
        last = {worker: runs[-1] for worker, runs in found.items()}
        if last["encode"]["ids"] != last["write"]["ids"]:
            sys.exit(f"the shards of {name} have other ids than the encoder makes")
        print(f"{name}, round {turn + 1}: {json.dumps(last)}", file=sys.stderr)
    peak = max(run["peak"] for run in found["write"])
    rows = []
    for time_ in ("first", "again"):
        seconds = {worker: [run[time_][0] for run in runs] for worker, runs in found.items()}
        speeds = {
            worker: f"{file.stat().st_size / 1e6 / statistics.median(each):.0f}"
            for worker, each in seconds.items()
        }
        both = list(zip(found["encode"], found["write"], strict=True))
        share = statistics.median(alone[time_][0] / made[time_][0] for alone, made in both)
        cpu = statistics.median(made[time_][1] / alone[time_][1] for alone, made in both)
        row = [speeds["encode"], speeds["write"], f"{share:.0%}", f"{cpu:.2f}"]
        rows.append([f"{name}, {time_}", *row, speeds["command"], f"{peak:.0f}", "equal"])
    return rows


def run(worker: str, file: Path, out: Path, options: argparse.Namespace) -> dict[str, Any]:
    shutil.rmtree(out, ignore_errors=True)
    arguments = [sys.executable, __file__, str(file), "--worker", worker, "--out", str(out)]
    arguments += ["--threads", str(options.threads), "--tokenizer", options.tokenizer]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def encode(options: argparse.Namespace) -> dict[str, Any]:
    """Time the encoder on the whole text, with a cold and with a warm cache."""
    tok = zeton.pretrained(options.tokenizer)
    text = options.file.read_bytes()
    tok.encode_array(WARM)
    times = [timed(lambda: tok.encode_array(text, threads=options.threads)) for _ in range(2)]
    ids = tok.encode_array(text, threads=options.threads)
    dtype = "<u2" if tok.vocab_size <= 1 << 16 else "<u4"
    digest = hashlib.sha256(ids.astype(dtype).data).hexdigest()
    return {"first": times[0], "again": times[1], "ids": digest}


def write(options: argparse.Namespace) -> dict[str, Any]:
    """Time the writing of shards with a cold and a warm cache; return the peak memory too."""
    tok = zeton.pretrained(options.tokenizer)
    tok.encode_array(WARM)
    out, threads = options.out, options.threads
    first = timed(lambda: shards.write([options.file], tokenizer=tok, out=out, threads=threads))
    shutil.rmtree(out)
    again = timed(lambda: shards.write([options.file], tokenizer=tok, out=out, threads=threads))
    most = peak()
    digest = hashlib.sha256()
    for file in sorted(out.glob("train_0*.bin")):
        digest.update(np.fromfile(file, np.uint8).data)
    return {"first": first, "again": again, "peak": most, "ids": digest.hexdigest()}


def command(options: argparse.Namespace) -> dict[str, Any]:
    """Time the whole command, process start included."""
    arguments = [sys.executable, "-m", "zeton", "shard", str(options.file), "-o", str(options.out)]
    arguments += ["-t", options.tokenizer, "--threads", str(options.threads), "--quiet"]
    took = timed(lambda: subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True))
    return {"first": took, "again": took}


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the wall seconds and CPU seconds of a function."""
    cpu, start = time.process_time(), time.perf_counter()
    work()
    return time.perf_counter() - start, time.process_time() - cpu


def peak() -> float:
    """Return the peak memory of this process, in megabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    [line] = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) * 1024 / 1e6


WORKERS = {"encode": encode, "write": write, "command": command}

if __name__ == "__main__":
    main()
