"""Kills of `zeton train --executor ray` or its workers at random moments: the same bytes."""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from texts import given

AIMS = ("worker", "driver")
NAME = "tok.zeton"
PAUSE = 0.005
BUSY = b"ray::_outcome"
"""Ray's title of a process that runs a unit."""
SECONDS_MAX = 600
"""Seconds after which a run counts as hanging."""


def main() -> None:
    options = parse()
    chance = random.Random(options.seed)  # noqa: S311
    hits: Counter[str] = Counter()
    wrong = 0
    with TemporaryDirectory(prefix="zeton-kill-", ignore_cleanup_errors=True) as folder:
        expected = local(Path(folder, "local.zeton"), options)
        whole = Training(Path(folder, "whole"), options)
        span = whole.finish(whole.start())
        wrong += whole.out.read_bytes() != expected
        print(f"whole: {span:.1f} s from the first unit on", file=sys.stderr)
        attempt = 0
        while hits.total() < options.kills and attempt < 3 * options.kills:
            attempt += 1
            aim = AIMS[attempt % len(AIMS)]
            training = Training(Path(folder, str(attempt)), options)
            process = training.start()
            training.wait_for_unit(process)
            time.sleep(chance.random() * span)
            units = training.units()
            if not kill(process, aim, chance):
                training.finish(process)
                continue  # The process ended before the signal.
            hits[aim] += 1
            if aim == "driver":
                process.wait()
                process = training.start()
            training.finish(process)
            left = sorted({file.name for file in training.folder.iterdir()} - {NAME})
            is_same = training.out.read_bytes() == expected
            wrong += not is_same
            told = "same bytes" if is_same else "OTHER BYTES"
            also = f"; left behind: {', '.join(left)}" if left else ""
            after = f"{aim} killed with {units} units done"
            print(f"kill {hits.total()}: {after}, {told}{also}", file=sys.stderr, flush=True)
    print(", ".join(f"{hits[aim]} kills hit a {aim}" for aim in AIMS), end="; ")
    print("all files have the same bytes" if not wrong else f"{wrong} files have OTHER BYTES")
    sys.exit(wrong > 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kill_ray.py", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files to train on (dev/en, dev/web)")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--vocab-size", default="4096")
    parser.add_argument(
        "--checkpoint-every", default="1MB", help="approximate bytes of a unit (1MB)"
    )
    parser.add_argument("--workers", default="2")
    parser.add_argument("--seed", type=int, help="seed of the random moments")
    options = parser.parse_args()
    options.files = given(options.files, "dev/en", "dev/web")
    return options


def command(out: Path, options: argparse.Namespace) -> list[str]:
    return [
        *(sys.executable, "-m", "zeton", "train", *map(str, options.files), "--out", str(out)),
        *(
            "--vocab-size",
            options.vocab_size,
            "--checkpoint-every",
            options.checkpoint_every,
            "--quiet",
        ),
    ]


def local(out: Path, options: argparse.Namespace) -> bytes:
    subprocess.run(command(out, options), check=True, stdout=subprocess.DEVNULL)
    return out.read_bytes()


class Training:
    """A folder with a training run on Ray."""

    def __init__(self, folder: Path, options: argparse.Namespace) -> None:
        folder.mkdir()
        self.folder = folder
        self.out = folder / NAME
        self.checkpoint = folder / f"{NAME}.checkpoint"
        self.command = [*command(self.out, options), "--executor", "ray"]
        self.command += ["--workers", options.workers]

    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def units(self) -> int:
        return len(list(self.checkpoint.glob("*.json")))

    def wait_for_unit(self, process: "subprocess.Popen[bytes]") -> None:
        end = time.monotonic() + SECONDS_MAX
        while process.poll() is None and not busy(process.pid) and not self.units():
            if time.monotonic() > end:
                sys.exit("no unit has begun")
            time.sleep(PAUSE)

    def finish(self, process: "subprocess.Popen[bytes]") -> float:
        """Wait for the end; return the seconds from the first unit on."""
        self.wait_for_unit(process)
        begun = time.monotonic()
        if code := process.wait(SECONDS_MAX):
            sys.exit(f"{' '.join(self.command)} ended with {code}")
        return time.monotonic() - begun


def kill(process: "subprocess.Popen[bytes]", aim: str, chance: random.Random) -> bool:
    """Kill the process, or one of its workers; return whether it existed."""
    victims = [process.pid] if aim == "driver" else busy(process.pid)
    if process.poll() is not None or not victims:
        return False
    try:
        os.kill(chance.choice(victims), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def busy(pid: int) -> list[int]:
    """Return the descendants of a process that run a unit."""
    parents, titles = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text()
            titles[int(folder.name)] = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])

    def comes_from(child: int) -> bool:
        while child in parents and child != pid:
            child = parents[child]
        return child == pid

    return [
        child for child, title in titles.items() if title.startswith(BUSY) and comes_from(child)
    ]


if __name__ == "__main__":
    main()
