"""The effect of ready-made rules: bytes per token with and without them, at one vocabulary size.

Every fifth text is measured, and the others are for training. Logs are five long texts of five
systems, so every fifth block of 40 lines is measured.

`words_of` finds the words for Thai and Chinese in the training texts. It only knows that marks
belong to letters, so a real dictionary does better.
"""

import argparse
import json
import math
import re
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zeton
from texts import SEPARATOR, data, table
from zeton import Rules, rules

SIZES = {"logs": [1024, 3072]}
"""The largest size that the corpus of logs gives."""
SIZES_OF_OTHERS = [4096, 16384]
HELD_OUT = 5
"""One text of this many is measured, and the others are for training."""

BLOCK_LINES = 40

KINDS = {
    "code": "code",
    "Thai": "multi/th.txt",
    "Chinese": "multi/zh.txt",
    "logs": "web/logs.txt",
    "chats": "web/chat.txt",
}

WORDS_MAX = 30_000
COUNT_MIN = 5
WORD_CHARACTERS_MAX = {"Thai": 5, "Chinese": 4}
TIES_MIN = 8.0
"""The smallest ratio of a word's count to its expected count, at its weakest cut."""
NEIGHBOURS_MIN = 0.8
"""The smallest entropy in bits of the characters beside a word."""

RUNS = {"Thai": r"[\u0e01-\u0e3a\u0e40-\u0e4e]+", "Chinese": r"[\u4e00-\u9fff\u3400-\u4dbf]+"}
CLUSTER = r"[\u0e40-\u0e44]?.[\u0e30-\u0e3a\u0e45\u0e47-\u0e4e]*"
"""A Thai cluster: an optional leading vowel, a letter, and its signs."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to a file")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], help="kinds of texts")
    arguments = parser.parse_args()
    rows = []
    for kind in arguments.kinds or KINDS:
        train, held_out = texts_of(kind)
        made = rules_of(kind, train)
        rows += [
            measured(kind, size, made, train, held_out) for size in SIZES.get(kind, SIZES_OF_OTHERS)
        ]
    head = ["texts", "vocabulary", "cl100k's pattern", "o200k's pattern", "rules", "to cl100k"]
    table(head, [shown(row) for row in rows])
    if arguments.json:
        arguments.json.write_text("".join(json.dumps(row) + "\n" for row in rows))


def texts_of(kind: str) -> tuple[list[str], list[str]]:
    """Return the training texts and the measured texts."""
    place = data() / "dev" / KINDS[kind]
    files = sorted(place.glob("*.txt")) if place.is_dir() else [place]
    texts = [text for file in files for text in file.read_bytes().decode().split(SEPARATOR)]
    if len(texts) < HELD_OUT * HELD_OUT:
        texts = [block for text in texts for block in blocks_of(text)]
    return [text for at, text in enumerate(texts) if at % HELD_OUT], texts[::HELD_OUT]


def blocks_of(text: str) -> Iterable[str]:
    lines = text.splitlines(keepends=True)
    for start in range(0, len(lines), BLOCK_LINES):
        yield "".join(lines[start : start + BLOCK_LINES])


def rules_of(kind: str, texts: list[str]) -> Rules:
    ready = {"code": rules.code, "logs": rules.logs, "chats": rules.chat}
    if kind in ready:
        return ready[kind]()
    words = words_of(texts, kind)
    print(f"{kind}: {len(words)} words, such as {' '.join(words[100:130])}")
    return rules.thai(words) if kind == "Thai" else rules.chinese(words)


def measured(
    kind: str, size: int, made: Rules, train: list[str], held_out: list[str]
) -> dict[str, Any]:
    row: dict[str, Any] = {"texts": kind, "size": size}
    held_bytes = sum(len(text.encode()) for text in held_out)
    ways = {"cl100k": Rules(base="cl100k"), "o200k": Rules(base="o200k"), "rules": made}
    for name, given in ways.items():
        tok = zeton.train(train, vocab_size=size, rules=given, exact_size=True)
        start = time.process_time()
        tokens = sum(tok.count(text) for text in held_out)
        row[name] = held_bytes / tokens
        row[f"{name}_megabytes_per_second"] = held_bytes / 1e6 / (time.process_time() - start)
    return row


def shown(row: dict[str, Any]) -> list[str]:
    figures = [f"{row[name]:.3f}" for name in ("cl100k", "o200k", "rules")]
    return [row["texts"], f"{row['size']:,}", *figures, f"{row['rules'] / row['cl100k'] - 1:+.1%}"]


# ---- words out of texts ----


def words_of(texts: Iterable[str], kind: str) -> list[str]:
    """Return character sequences that are frequent, cohesive, and have varied neighbours."""
    most = WORD_CHARACTERS_MAX[kind]
    counts: Counter[tuple[str, ...]] = Counter()
    before: dict[tuple[str, ...], Counter[str]] = {}
    after: dict[tuple[str, ...], Counter[str]] = {}
    for text in texts:
        for run in re.findall(RUNS[kind], text):
            parts = clusters(run) if kind == "Thai" else list(run)
            for start in range(len(parts)):
                for end in range(start + 1, min(start + most, len(parts)) + 1):
                    part = tuple(parts[start:end])
                    counts[part] += 1
                    if len(part) > 1:
                        left = parts[start - 1] if start else ""
                        right = parts[end] if end < len(parts) else ""
                        before.setdefault(part, Counter())[left] += 1
                        after.setdefault(part, Counter())[right] += 1
    total = sum(count for part, count in counts.items() if len(part) == 1)
    found = [
        (count * len(part), "".join(part))
        for part, count in counts.items()
        if count >= COUNT_MIN
        and len(part) > 1
        and tie(part, counts, total) >= TIES_MIN
        and min(uncertainty(before[part]), uncertainty(after[part])) >= NEIGHBOURS_MIN
    ]
    return [word for _, word in sorted(found, key=lambda pair: (-pair[0], pair[1]))][:WORDS_MAX]


def clusters(run: str) -> list[str]:
    return re.findall(CLUSTER, run)


def tie(part: tuple[str, ...], counts: Counter[tuple[str, ...]], total: int) -> float:
    """Return the ratio of a sequence's count to its expected count, at its weakest cut."""
    cuts = range(1, len(part))
    return min(counts[part] * total / (counts[part[:at]] * counts[part[at:]]) for at in cuts)


def uncertainty(beside: Counter[str]) -> float:
    """Return the entropy of a sequence's neighbours; each end of a run is a new neighbour."""
    total = beside.total()
    ends = beside[""]
    bits = sum(-n / total * math.log2(n / total) for side, n in beside.items() if side)
    return bits + (ends / total * math.log2(total) if ends else 0.0)


if __name__ == "__main__":
    main()
