"""Kills of `zeton train` at random moments: after a rerun, the file must have the same bytes."""

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from texts import given
from zeton import corpus

PHASES = ("counting", "learning", "saving")
NAME = "tok.zeton"
PAUSE = 0.0005
"""Seconds between two polls of the folder; they are short, because saving takes milliseconds."""


def main() -> None:
    options = parse()
    chance = random.Random(options.seed)  # noqa: S311
    hits: Counter[str] = Counter()
    wrong = 0
    with TemporaryDirectory(prefix="zeton-kill-") as folder:
        whole = Training(Path(folder, "whole"), options.files, options)
        lasts = whole.run_to_its_end()
        expected = whole.out.read_bytes()
        spans = ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in lasts.items())
        print(f"whole: {spans}, {len(expected)} bytes", file=sys.stderr)
        attempt = 0
        while hits.total() < options.kills:
            attempt += 1
            # Phases take turns, because the longest would get every kill.
            aim = PHASES[attempt % len(PHASES)]
            training = Training(Path(folder, str(attempt)), options.files, options)
            hit = training.kill(aim, chance.random() * lasts[aim])
            if not hit:
                continue  # The process ended before the signal.
            hits[hit] += 1
            training.run_to_its_end()
            left = sorted({file.name for file in training.folder.iterdir()} - {NAME})
            is_same = training.out.read_bytes() == expected
            wrong += not is_same
            told = "same bytes" if is_same else "OTHER BYTES"
            also = f"; left behind: {', '.join(left)}" if left else ""
            print(f"kill {hits.total()}: {hit}, {told}{also}", file=sys.stderr, flush=True)
    print(", ".join(f"{hits[phase]} kills hit {phase}" for phase in PHASES), end="; ")
    print(f"{hits.total() - wrong} of {hits.total()} files have the same bytes")
    sys.exit(wrong > 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kill.py", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files to train on (dev/en, dev/web)")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--vocab-size", default="32768")
    parser.add_argument("--checkpoint-every", default="2MB", help="bytes between checkpoints (2MB)")
    parser.add_argument("--memory", default="64MB")
    parser.add_argument("--seed", type=int, help="seed of the random moments")
    options = parser.parse_args()
    options.files = given(options.files, "dev/en", "dev/web")
    return options


class Training:
    """A folder with a training run."""

    def __init__(self, folder: Path, files: list[Path], options: argparse.Namespace) -> None:
        folder.mkdir()
        self.folder = folder
        self.out = folder / NAME
        self.checkpoint = folder / f"{NAME}.checkpoint"
        self.corpus_end = [len(corpus.files(files)), 0]
        self.command = [
            *(sys.executable, "-m", "zeton", "train", *map(str, files), "--out", str(self.out)),
            *("--vocab-size", options.vocab_size, "--checkpoint-every", options.checkpoint_every),
            *("--memory", options.memory, "--quiet", "--force"),
        ]

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL)

    def run_to_its_end(self) -> dict[str, float]:
        """Run to the end; return the seconds of each phase."""
        process, lasts, before = self.start(), dict.fromkeys(PHASES, 0.0), time.perf_counter()
        while process.poll() is None:
            phase, now = self.phase(), time.perf_counter()
            lasts[phase] += now - before
            before = now
            time.sleep(PAUSE)
        if process.returncode:
            sys.exit(f"{' '.join(self.command)} ended with {process.returncode}")
        return lasts

    def kill(self, aim: str, after: float) -> str:
        """Start, and kill some seconds after a phase begins; return the phase of the kill."""
        process = self.start()
        while process.poll() is None and PHASES.index(self.phase()) < PHASES.index(aim):
            time.sleep(PAUSE)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        return self.phase() if process.wait() == -signal.SIGKILL else ""

    def phase(self) -> str:
        """Return the phase of a training run, from the files in its folder."""
        if self.out.exists() or any(self.folder.glob(f".{NAME}.*")):
            return "saving"
        try:
            end = json.loads((self.checkpoint / "state.json").read_bytes())["end"]
        except FileNotFoundError:
            return "counting"
        return "learning" if end == self.corpus_end else "counting"


if __name__ == "__main__":
    main()
