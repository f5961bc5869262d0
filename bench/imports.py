"""The time of `import zeton`, of its other APIs and of `zeton --help`, in fresh interpreters."""

import subprocess
import sys
import time
from statistics import median

from texts import table

ROUNDS = 21
MODULES = ["zeton", "zeton.tiktoken", "zeton.rustbpe", "zeton.chat", "zeton.nanochat", "tiktoken"]
COMMANDS = {
    "a bare interpreter": ["-c", "pass"],
    **{f"import {module}": ["-c", f"import {module}"] for module in MODULES},
    "zeton --help": ["-m", "zeton", "--help"],
}


def seconds(arguments: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    rounds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(ROUNDS):
        for name, arguments in COMMANDS.items():
            rounds[name].append(seconds(arguments))
    bare = median(rounds["a bare interpreter"])
    rows = [
        [name, *(f"{1000 * each:.0f}" for each in (median(times), median(times) - bare))]
        for name, times in rounds.items()
    ]
    table(["start", "ms", "ms above a bare interpreter"], rows)


if __name__ == "__main__":
    main()
