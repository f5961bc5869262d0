"""The time of `import zeton` and its other APIs, in fresh interpreters."""

import subprocess
import sys
import time
from statistics import median

from texts import table

ROUNDS = 21
MODULES = ["zeton", "zeton.tiktoken", "zeton.rustbpe", "zeton.chat", "zeton.nanochat", "tiktoken"]


def seconds(code: str) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return time.perf_counter() - start


def main() -> None:
    rounds: dict[str, list[float]] = {code: [] for code in ("pass", *MODULES)}
    for _ in range(ROUNDS):
        for name, times in rounds.items():
            times.append(seconds(name if name == "pass" else f"import {name}"))
    bare = median(rounds.pop("pass"))
    rows = [
        [name, *(f"{1000 * each:.0f}" for each in (median(times), median(times) - bare))]
        for name, times in rounds.items()
    ]
    table(["import", "ms, with the interpreter", "ms, without"], rows)


if __name__ == "__main__":
    main()
