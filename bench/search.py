"""Search in 100 MB of English beside `bytes.count` and memmem; worst cases, ids, many needles.

Counts are verified. Times are CPU seconds, the best of the rounds; the functions take turns.
"""

import argparse
import ctypes
import lzma
import random
import re
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import regex

import zeton
from texts import groups, table
from zeton.search import Finder, FinderMany

SIZE = 100_000_000
NEEDLES = {
    "common": [b" of the ", b" in the ", b"that the", b" United States", b" the same time "],
    "rare": [b"Sherlock Holmes", b"the quick brown fox", b"xylophone", b"zeitgeist of the"],
    "frequent letters": [
        b"e t e a t",
        b"tttttttt",
        b" a a a a ",
        b"eat one tea at nine",
        b"the the the ",
    ],
    "rare letters": [b"QuiZZical", b"jazz & quiz", b"{{Infobox X|Z}}", b"@@@@@@@@"],
    "absent": [b"qwertzuiopasdfgh", b"no such stretch of letters here", b"aaaaaaab"],
}


def english(paths: list[str]) -> bytes:
    """Return 100 MB of text; a shorter file is repeated."""
    texts = [Path(path) for path in paths]
    if texts and texts[0].suffix == ".xz":
        text = lzma.decompress(texts[0].read_bytes())
    else:
        text = "".join(groups(paths)["en"]).encode()
    return (text * (SIZE // len(text) + 1))[:SIZE]


def seconds(ways: dict[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """Return the best CPU time of each function, in turns; all counts must be equal."""
    best: dict[str, float] = {}
    counts = set()
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            counts.add(way())
            took = time.process_time() - start
            best[name] = min(took, best.get(name, took))
    if len(counts) > 1:
        raise SystemExit(f"counts differ: {counts}")
    return best


def count_by_memmem(text: bytes) -> Callable[[bytes], int]:
    """Count by the C library's memmem."""
    memmem = ctypes.CDLL(None).memmem
    memmem.restype = ctypes.c_void_p
    memmem.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    start = ctypes.cast(ctypes.c_char_p(text), ctypes.c_void_p).value or 0

    def count(needle: bytes) -> int:
        at, end, found = start, start + len(text), 0
        while (place := memmem(at, end - at, needle, len(needle))) is not None:
            at, found = place + len(needle), found + 1
        return found

    return count


def sampled(text: bytes, count: int) -> list[bytes]:
    """Return parts of the text of 8 to 32 bytes."""
    chance = random.Random(1)  # noqa: S311
    starts = [chance.randrange(len(text) - 32) for _ in range(count)]
    return [text[start : start + chance.randint(8, 32)] for start in starts]


def average(text: bytes, rounds: int, samples: int) -> float:
    """Print each kind of needle beside the other functions; return our mean seconds per byte."""
    memmem = count_by_memmem(text)
    kinds = {**NEEDLES, "taken from the text": sampled(text, samples)}
    rows, ratios, ours = [], [], []
    for kind, needles in kinds.items():
        all_ratios, speeds = [], []
        for needle in needles:
            finder = Finder(needle)
            took = seconds(
                {
                    "ours": lambda finder=finder: finder.count(text),  # type: ignore[misc]
                    "bytes.count": lambda needle=needle: text.count(needle),  # type: ignore[misc]
                    "memmem": lambda needle=needle: memmem(needle),  # type: ignore[misc]
                },
                rounds,
            )
            all_ratios.append(took["bytes.count"] / took["ours"])
            speeds.append([took[name] for name in ("ours", "bytes.count", "memmem")])
            ours.append(took["ours"] / len(text))
        ratios += all_ratios
        middle = [f"{len(text) / median(column) / 1e9:.1f}" for column in zip(*speeds, strict=True)]
        rows.append(
            [
                kind,
                str(len(needles)),
                *middle,
                f"{min(all_ratios):.1f}",
                f"{median(all_ratios):.1f}",
            ]
        )
    table(
        ["needles", "number", "GB/s", "bytes.count", "memmem", "times count, least", "median"], rows
    )
    print(f"all: {min(ratios):.2f} times bytes.count at least, {median(ratios):.2f} the median")
    return sum(ours) / len(ours)


def fibonacci(size: int) -> bytes:
    before, word = b"a", b"ab"
    while len(word) < size:
        before, word = word, word + before
    return word[:size]


def worst(usual: float, rounds: int) -> None:
    """Print the time per byte of hostile texts relative to the average case."""
    texts = {"a": b"a" * SIZE, "(ab)": b"ab" * (SIZE // 2), "Fibonacci": fibonacci(SIZE)}
    rows = []
    for length in (8, 32, 1000):
        some = b"a" * (length - 1)
        pairs = (b"ab" * length)[: length - 1]
        word = texts["Fibonacci"][:length]
        flip = {97: b"b", 98: b"a"}
        cases = {
            "a…ab in a…": (some + b"b", "a"),
            "ba…a in a…": (b"b" + some, "a"),
            "(ab)…x in (ab)…": (pairs + flip[pairs[-2]], "(ab)"),
            "Fibonacci, the last other": (word[:-1] + flip[word[-1]], "Fibonacci"),
            "Fibonacci, the middle other": (
                word[: length // 2] + flip[word[length // 2]] + word[length // 2 + 1 :],
                "Fibonacci",
            ),
            "Fibonacci, the first other": (flip[word[0]] + word[1:], "Fibonacci"),
        }
        for name, (needle, text) in cases.items():
            finder, searched = Finder(needle), texts[text]
            took = seconds(
                {
                    "forwards": lambda f=finder, t=searched: f.find(t),  # type: ignore[misc]
                    "backwards": lambda f=finder, t=searched: f.rfind(t),  # type: ignore[misc]
                },
                rounds,
            )
            if needle in searched[: 20 * length] or finder.find(searched) != -1:
                raise SystemExit(f"{name} is not there, or found")
            rows.append([name, str(length), *(f"{took[way] / SIZE / usual:.1f}" for way in took)])
    table(["worst case", "length", "times the average, forwards", "backwards"], rows)


def arrays(text: bytes, rounds: int) -> None:
    """Print the speed of finding sequences of ids, in bytes of the array."""
    some = zeton.pretrained("gpt2").encode_array(text[:20_000_000].decode(errors="replace"))
    ids = np.tile(np.asarray(some), 6)
    chance = random.Random(2)  # noqa: S311
    rows = []
    for width in (np.uint16, np.uint32):
        array = ids.astype(width)
        speeds = []
        for length in (2, 3, 4, 8, 16, 32) * 3:
            start = chance.randrange(len(array) - length)
            finder = Finder(array[start : start + length])
            took = seconds({"ours": lambda f=finder, a=array: f.count(a)}, rounds)  # type: ignore[misc]
            speeds.append(array.nbytes / took["ours"] / 1e9)
        rows.append([width.__name__, f"{min(speeds):.1f}", f"{median(speeds):.1f}"])
    table(["ids", "GB/s, least", "median"], rows)


def many(text: bytes, rounds: int) -> None:
    """Print the speed of finding many needles, verified by a regex on a part of the text."""
    counts = Counter(re.findall(rb"[A-Za-z]{4,}", text[:30_000_000]))
    words = [word for word, count in counts.items() if count < 50]
    rows = []
    for number in (10, 1000, 10_000):
        chosen = random.Random(3).sample(words, number)  # noqa: S311
        wanted = set(chosen)
        sample = text[:5_000_000]
        for options in ({"whole_word": True}, {"whole_word": True, "ignore_case": True}, {}):
            finder = FinderMany(chosen, **options)
            if options == {"whole_word": True}:
                found = regex.findall(r"\w+", sample.decode(errors="replace"))
                expected = sum(word.encode() in wanted for word in found)
                if finder.count(sample) != expected:
                    raise SystemExit(f"{finder.count(sample)} words are found of {expected}")
            took = seconds({"ours": lambda f=finder: f.count(text)}, rounds)  # type: ignore[misc]
            speed = f"{len(text) / took['ours'] / 1e6:,.0f}"
            rows.append([str(number), ", ".join(options) or "anywhere", speed])
    table(["needles", "how", "MB/s"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--samples", type=int, default=20)
    asked = parser.parse_args()
    text = english(asked.paths)
    usual = average(text, asked.rounds, asked.samples)
    print(f"average: {usual * 1e9:.3f} ns a byte\n")
    worst(usual, asked.rounds)
    arrays(text, asked.rounds)
    many(text, asked.rounds)


if __name__ == "__main__":
    main()
