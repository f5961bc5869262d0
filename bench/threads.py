"""A batch of texts on one thread and on two: MB a second by the clock, and the median ratio.

Each measurement is a process of its own, which encodes other texts first to warm up.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import zeton
from cells import GROUPS
from prepare import FULL, prepare_texts
from texts import SEPARATOR, table
from worker import BEFORE_SMALL, touch_memory

VOCAB = "cl100k_base"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", nargs=3, metavar=("FOLDER", "GROUP", "THREADS"))
    options = parser.parse_args()
    if options.measure:
        folder, group, threads = options.measure
        print(json.dumps(measure(Path(folder), group, int(threads))))
        return
    with TemporaryDirectory(prefix="zeton-threads-") as name:
        prepare_texts(Path(name), FULL)
        rows = [[title, *compare(name, group, options.rounds)] for group, title in GROUPS.items()]
    table(["texts", "one thread", "two", "ratio", "again: one thread", "two", "ratio"], rows)


def compare(folder: str, group: str, rounds: int) -> list[str]:
    """Measure one thread and two in turns; return rates and ratios, with cold and warm caches."""
    found = [[ask(folder, group, threads) for threads in (1, 2)] for _ in range(rounds)]
    cells = []
    for time_of in ("first", "again"):
        rates = [[one[time_of] for one in pair] for pair in found]
        cells += [f"{median(side):.0f}" for side in zip(*rates, strict=True)]
        cells.append(f"{median(two / one for one, two in rates):.2f}")
    return cells


def ask(folder: str, group: str, threads: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", folder, group, str(threads)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rates: dict[str, float] = json.loads(done.stdout)
    return rates


def measure(folder: Path, group: str, threads: int) -> dict[str, float]:
    """Return MB per second for a batch with a cold cache, then with a warm one."""
    tok = zeton.pretrained(VOCAB)
    before = (folder / f"{group}.before").read_bytes().decode()
    starts = range(0, len(before), BEFORE_SMALL)
    tok.encode_batch_array([before[at : at + BEFORE_SMALL] for at in starts], threads=threads)
    touch_memory()
    rates = {}
    for name in ("first", "again"):
        content = (folder / f"{group}.small").read_bytes()
        texts = content.decode().split(SEPARATOR)
        start = time.perf_counter()
        ids, offsets = tok.encode_batch_array(texts, threads=threads)
        rates[name] = len(content) / 1e6 / (time.perf_counter() - start)
    expected = tok.encode(texts[-1])
    if ids[offsets[-2] :].tolist() != expected or len(offsets) != len(texts) + 1:
        sys.exit("the ids differ from those of the texts by themselves")
    return rates


if __name__ == "__main__":
    main()
