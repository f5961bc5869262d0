"""Two builds of zeton side by side: CPU time in turn, or instructions; results compared.

    python bench/two_builds.py BEFORE/bin/python AFTER/bin/python
    python bench/two_builds.py BEFORE/bin/python AFTER/bin/python --instructions

A refactoring must leave speed as it was. Each cell runs in one process of each build. The
processes take turns, so that a change of the machine's speed meets both. Each result has a digest,
and different digests end the run. Instructions in the engine's library are counted by valgrind's
callgrind, as the difference between two and more rounds. It knows AVX2 but not AVX-512.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import IO

import numpy as np

import zeton
from texts import data

GROUPS = ("en", "code", "multi")
CELLS = [f"{task} {group}" for task in ("large", "small", "decode") for group in GROUPS]
CELLS += ["train en"]
ROUNDS = 15
LARGE_BYTES = 10_000_000
COUNTED_BYTES = 500_000
"""Text under valgrind, which is fifty times as slow as the machine."""
FIRST_ROUNDS = 2
"""Rounds under valgrind that fill the caches."""
COUNTED_ROUNDS = {"train": 8}
"""Rounds that count, 48 unless named: loading varies by millions of instructions."""
SMALL_CHARACTERS = 2_000
TRAIN_SIZE = 8_192


def work(cell: str, limit: int) -> Callable[[], bytes]:
    """Return a function that runs one round of a cell and returns the digest of its result."""
    task, group = cell.split()
    files = sorted(data().glob(f"dev/{group}/*.txt"))
    share = limit // len(files)
    parts = [file.read_bytes()[:share].decode(errors="ignore") for file in files]
    text = "".join(parts)
    tok = zeton.pretrained("cl100k_base")
    ids = tok.encode_array(text)
    small = [text[at : at + SMALL_CHARACTERS] for at in range(0, len(text), SMALL_CHARACTERS)]

    def digest(values: object) -> bytes:
        return hashlib.sha256(np.asarray(values, dtype=np.uint32).tobytes()).digest()

    def large() -> bytes:
        return digest(tok.encode_array(text, threads=1))

    def lists() -> bytes:
        return digest([len(tok.encode(one)) for one in small])

    def decode() -> bytes:
        return hashlib.sha256(tok.decode_bytes(ids)).digest()

    def train() -> bytes:
        learned = zeton.train(parts, vocab_size=TRAIN_SIZE, threads=1)
        return hashlib.sha256(repr(sorted(learned.ranks().items())).encode()).digest()

    return {"large": large, "small": lists, "decode": decode, "train": train}[task]


def serve(cell: str) -> None:
    """Run a round for each line of standard input; print its CPU seconds and its digest."""
    once = work(cell, LARGE_BYTES)
    for _ in sys.stdin:
        start = time.process_time()
        digest = once()
        print(time.process_time() - start, digest.hex(), flush=True)


def compare_times(pythons: list[str], cell: str) -> list[float]:
    """Run a cell in both builds in turn; return the median seconds of each, and of the ratio."""
    command = [str(Path(__file__)), "--serve", cell]
    workers = [
        subprocess.Popen([python, *command], stdin=-1, stdout=-1, text=True) for python in pythons
    ]
    rounds: list[list[float]] = []
    for _ in range(ROUNDS):
        answers = []
        for worker in workers:
            pipe(worker.stdin).write("\n")
            pipe(worker.stdin).flush()
            answers.append(pipe(worker.stdout).readline().split())
        if len({digest for _, digest in answers}) > 1:
            sys.exit(f"{cell}: the results differ")
        rounds.append([float(seconds) for seconds, _ in answers])
    for worker in workers:
        worker.communicate()
    warm = rounds[2:]  # The first rounds fill the piece cache.
    before, after = (median(times) for times in zip(*warm, strict=True))
    return [before, after, median(after / before for before, after in warm)]


def pipe(stream: IO[str] | None) -> IO[str]:
    """Return a pipe to a worker, which `Popen` was asked to open."""
    if stream is None:
        raise ValueError("the worker has no pipe")
    return stream


def count_instructions(python: str, cell: str) -> float:
    """Return the instructions that the engine takes for one warm round."""
    counted = COUNTED_ROUNDS.get(cell.split(maxsplit=1)[0], 48)
    few = instructions_of_engine(python, cell, FIRST_ROUNDS)
    return (instructions_of_engine(python, cell, FIRST_ROUNDS + counted) - few) / counted


def instructions_of_engine(python: str, cell: str, rounds: int) -> int:
    """Return the instructions in the engine's library; Python's own vary from run to run."""
    environment = os.environ | {"PYTHONHASHSEED": "0"}
    with TemporaryDirectory() as folder:
        profile = f"{folder}/profile"
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={profile}"]
        command = [*valgrind, python, __file__, "--rounds", str(rounds), cell]
        subprocess.run(command, capture_output=True, check=True, env=environment)
        annotate = ["callgrind_annotate", "--threshold=100", profile]
        functions = subprocess.run(annotate, capture_output=True, text=True, check=True).stdout
    found = re.findall(r"(?m)^ *([\d,]+) .*\[.*/_engine\.[^/]*\]$", functions)
    return sum(int(count.replace(",", "")) for count in found)


def main() -> None:
    """Compare every chosen cell, or be a worker."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", help="the interpreter of each build's environment")
    parser.add_argument("--instructions", action="store_true", help="count instead of timing")
    parser.add_argument("--only", default="", help="cells whose name contains this")
    parser.add_argument("--serve", metavar="CELL", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve)
        return
    if options.rounds:
        once = work(options.pythons[0], COUNTED_BYTES)
        for _ in range(options.rounds):
            once()
        return
    print(f"{'cell':14} {'before':>12} {'after':>12}  after / before")
    for cell in (cell for cell in CELLS if options.only in cell):
        if options.instructions:
            before, after = (count_instructions(python, cell) for python in options.pythons)
            print(f"{cell:14} {before / 1e6:11.1f}M {after / 1e6:11.1f}M  {after / before:.4f}")
        else:
            before, after, ratio = compare_times(options.pythons, cell)
            print(f"{cell:14} {before:11.4f}s {after:11.4f}s  {ratio:.3f}", flush=True)


if __name__ == "__main__":
    main()
