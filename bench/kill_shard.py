"""Kills of `zeton shard` at random moments: after a rerun, all files must have the same bytes."""

import argparse
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from kill_ray import PAUSE, SECONDS_MAX, busy
from kill_ray import kill as kill_one_of
from texts import given

WAYS = {
    "bin": ["--format", "bin"],
    "npy, split": ["--format", "npy", "--validation", "0.1"],
    "megatron, shuffled": ["--format", "megatron", "--shuffle", "1"],
    "llmc, packed": ["--format", "llmc", "--pack", "1024", "--pad", "0", "--validation", "0.1"],
    "parquet": ["--format", "parquet"],
}


def main() -> None:
    options = parse()
    chance = random.Random(options.seed)  # noqa: S311
    hits: Counter[str] = Counter()
    wrong = 0
    with TemporaryDirectory(prefix="zeton-kill-", dir=options.folder) as folder:
        whole = {}
        ways = [options.only] if options.only else list(WAYS)
        for number, way in enumerate(ways):
            out = Path(folder, f"whole-{number}")
            seconds = finish(command(out, way, options))
            whole[way] = seconds, contents(out)
            if options.engine != "local":  # One process writes the same bytes as several.
                alone = Path(folder, f"alone-{number}")
                finish(
                    command(alone, way, argparse.Namespace(**{**vars(options), "engine": "local"}))
                )
                if contents(alone) != whole[way][1]:
                    sys.exit(f"{way}: OTHER BYTES on {options.engine}")
            print(f"{way}: {seconds:.2f} s, {len(whole[way][1])} files", file=sys.stderr)
        attempt = 0
        while hits.total() < options.kills:
            way = ways[attempt % len(ways)]
            out = Path(folder, f"out-{attempt}")
            attempt += 1
            seconds, expected = whole[way]
            phase = kill(command(out, way, options), out, seconds, chance, options.engine)
            if not phase:
                continue  # The process ended before the signal.
            hits[phase] += 1
            if phase != "a worker":
                finish(command(out, way, options))
            found = contents(out)
            names = {file for file in found | expected if found.get(file) != expected.get(file)}
            wrong += bool(names)
            told = f"OTHER BYTES: {', '.join(sorted(names))}" if names else "same bytes"
            print(f"kill {hits.total()}: {way}, {phase}, {told}", file=sys.stderr, flush=True)
    print(", ".join(f"{count} kills hit {phase}" for phase, count in hits.items()), end="; ")
    print(f"{hits.total() - wrong} of {hits.total()} folders have the same bytes")
    sys.exit(wrong > 0)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="kill_shard.py", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="files to make shards of (dev)")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--checkpoint-every", default="1MB", help="bytes between checkpoints (1MB)")
    parser.add_argument("--seed", type=int, help="seed of the random moments")
    parser.add_argument("--folder", type=Path, help="folder of the shards during the run")
    parser.add_argument("--executor", choices=["local", "ray"], default="local")
    parser.add_argument("--only", choices=WAYS, help="only this setup, instead of all in turn")
    options = parser.parse_args()
    options.files = given(options.files, "dev")
    return options


def command(out: Path, way: str, options: argparse.Namespace) -> list[str]:
    return [
        *(sys.executable, "-m", "zeton", "shard", *map(str, options.files), "--out", str(out)),
        *("--tokenizer", "gpt2", "--texts-end-with", r"\x1e", "--eos", "<|endoftext|>"),
        *(
            "--shard-size",
            "3M",
            "--checkpoint-every",
            options.checkpoint_every,
            "--quiet",
            *WAYS[way],
        ),
        *(("--executor", "ray", "--workers", "2") if options.engine == "ray" else ()),
    ]


def finish(arguments: list[str]) -> float:
    """Run to the end; return the seconds."""
    start = time.perf_counter()
    subprocess.run(arguments, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def kill(
    arguments: list[str], out: Path, seconds: float, chance: random.Random, engine: str
) -> str:
    """Start, and kill at some moment; return its progress, or nothing if it had ended."""
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
    after = chance.random() * seconds
    if engine == "ray":  # Starting takes most of the time.
        wait_for_unit(process)
        after /= 4
    time.sleep(after)
    if engine == "ray" and chance.random() < 0.5:
        is_killed = kill_one_of(process, "worker", chance)
        if process.wait(SECONDS_MAX):
            sys.exit(f"{' '.join(arguments)} ended with {process.returncode}")
        return "a worker" if is_killed else ""
    process.send_signal(signal.SIGKILL)
    if process.wait() != -signal.SIGKILL:
        return ""
    if not (out / ".checkpoint").exists():
        return "the start" if not out.exists() else "the end"
    return "the work" if (out / ".checkpoint" / "state.json").exists() else "the first unit"


def wait_for_unit(process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + SECONDS_MAX
    while process.poll() is None and not busy(process.pid) and time.monotonic() < end:
        time.sleep(PAUSE)


def contents(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in out.iterdir()}


if __name__ == "__main__":
    main()
