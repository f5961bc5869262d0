"""Compare random calls of tiktoken and zeton.tiktoken, and print every difference.

    python scripts/agree_with_tiktoken.py [CALLS] [SEED]

The encodings are the seven published ones, and random ones.
"""

import random
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import zeton.tiktoken
from support.calls import Caller, agree, custom, outcome, published
from support.strategies import patterns

EACH = 250
"""Calls of one random encoding before the next is made."""


def main(count: int, seed: int) -> int:
    """Make a number of calls; return the number of differences."""
    rng = random.Random(seed)  # noqa: S311 - to be repeated.
    names = zeton.tiktoken.list_encoding_names()
    pairs = [published(name) for name in names]
    done: Counter[str] = Counter()
    differences = errors = 0
    while done.total() < count:
        pair = rng.choice(pairs) if rng.random() < 0.5 else custom(rng, list(patterns().values()))
        for name, argument, options in islice(Caller(rng, pair[0]), EACH):
            theirs, ours = (outcome(one, name, argument, options) for one in pair)
            done[name] += 1
            errors += isinstance(theirs, Exception)
            if not agree(theirs, ours):
                differences += 1
                call = f"{name}({argument!r:.200}, {options})"
                print(f"{pair[0]} {call}: {theirs!r:.200}, but ours: {ours!r:.200}")
    print(f"{done.total():,} calls, {errors:,} of them refused, {differences} differ")
    return differences


if __name__ == "__main__":
    count, seed = (int(given) for given in (*sys.argv[1:], *("100000", "1")[len(sys.argv) - 1 :]))
    sys.exit(min(1, main(count, seed)))
