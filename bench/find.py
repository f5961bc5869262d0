"""The speed of finding phrases in ids: `python bench/find.py [FILE]`, two minutes.

A text (enwik8 by default) is encoded with gpt2 (ids of 16 bits) and cl100k_base (32 bits). Phrases
are counted in the ids, mapped from a file, beside decoding them and counting in the text. Every
count is verified against the text outside the clock.
"""

import lzma
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

import zeton
from texts import given, table
from zeton import search

Ids: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.generic]]"

ROUNDS = 5

PHRASES = [
    "New York",
    "United States of America",
    "the capital of France",
    "What is the capital of France, and how many people live there?",
    "the",
]

MANY = 1000
"""Needles of 40 to 80 characters, half of them from the text."""


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Return the median CPU time of a function."""
    took = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        took.append(time.process_time() - start)
    return statistics.median(took)


def occurrences(text: bytes, phrase: bytes) -> int:
    """Count by a slow loop, including overlapping occurrences."""
    count, at = 0, text.find(phrase)
    while at >= 0:
        count, at = count + 1, text.find(phrase, at + 1)
    return count


def questions(text: bytes) -> list[bytes]:
    """Return parts of a text, every second one with a changed byte."""
    chance = random.Random(7)  # noqa: S311 - the same in every run.
    found: list[bytes] = []
    while len(found) < MANY:
        at = chance.randrange(len(text) - 100)
        part = text[at : at + chance.randrange(40, 80)].replace(b"\n", b" ")
        found.append(part if len(found) % 2 else part[:20] + b"\x01" + part[21:])
    return found


def verify(equal: bool, what: str) -> None:  # noqa: FBT001
    """Exit if a count differs from the count in the text."""
    if not equal:
        sys.exit(f"the count of {what} in ids is not that in the text")


def row(name: str, took: float, ids: Ids, size: int) -> list[str]:
    """Return a speed in bytes of ids, in ids and in bytes of text."""
    speeds = (ids.nbytes / took / 1e6, len(ids) / took / 1e6, size / took / 1e6)
    return [name, *(f"{speed:,.0f}" for speed in speeds)]


def main() -> None:
    """Print a table for each tokenizer."""
    (file,) = given([Path(name) for name in sys.argv[1:2]], "large/enwik8.txt.xz")
    content = file.read_bytes()
    text = lzma.decompress(content) if file.suffix == ".xz" else content
    wanted = questions(text)
    expected = [occurrences(text, each) for each in wanted]
    for name in ("gpt2", "cl100k_base"):
        tok = zeton.pretrained(name)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "ids.npy")
            dtype = np.uint16 if tok.vocab_size <= 1 << 16 else np.uint32
            np.save(path, tok.encode_array(text).astype(dtype))
            ids = np.load(path, mmap_mode="r")
            print(f"\n{name}, {len(ids):,} ids of {ids.itemsize} bytes\n")
            rows = measured(tok, ids, text, dict(zip(wanted, expected, strict=True)))
            table(["phrase", "MB/s of ids", "million ids/s", "MB/s of text"], rows)


def measured(
    tok: zeton.Tokenizer, ids: Ids, text: bytes, wanted: dict[bytes, int]
) -> list[list[str]]:
    """Measure single phrases, many at once, and decoding all."""
    rows = []
    for words in PHRASES:
        phrase = search.phrase(words, tokenizer=tok)
        count = phrase.count(ids)
        verify(count == occurrences(text, words.encode()), words)
        took = seconds(partial(phrase.count, ids))
        rows.append(row(f'"{words}", {count:,} times', took, ids, len(text)))
    many = search.phrases(wanted, tokenizer=tok)
    verify(many.count(ids) == list(wanted.values()), "many needles")
    took = seconds(partial(many.count, ids))
    rows.append(row(f"{len(wanted):,} needles at once", took, ids, len(text)))
    finder = search.Finder(PHRASES[0].encode())
    took = seconds(lambda: finder.count(tok.decode_bytes(ids)), 1)
    rows.append(row(f'"{PHRASES[0]}" by decoding all', took, ids, len(text)))
    return rows


if __name__ == "__main__":
    main()
