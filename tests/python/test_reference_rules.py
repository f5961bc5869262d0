"""How rules split: what the specification says, and that nothing is lost by it."""

import json
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given

from support.paths import ROOT
from support.rules_drawn import broken, rules_values, texts, vectors
from support.strategies import patterns
from zeton import Rules, reference, reference_rules
from zeton.reference_rules import PUBLISHED, compose, encode, script_of, split_by_rules


@pytest.mark.parametrize(("spelled", "text", "expected"), vectors())
def test_vectors(spelled: str, text: str, expected: str) -> None:
    pieces = split_by_rules(text, json.loads(spelled))
    assert pieces == [piece.encode() for piece in expected.split("|")]
    assert Rules.from_json(spelled).spelled == spelled


@given(rules_values(), texts)
def test_the_pieces_joined_are_the_text(rules: Rules, text: str) -> None:
    pieces = split_by_rules(reference.read(text), json.loads(rules.spelled))
    assert b"".join(pieces) == reference.read(text).encode("utf-8", "surrogateescape")
    assert all(pieces)


@given(rules_values(), broken)
def test_so_are_those_of_bytes_that_are_not_utf8(rules: Rules, text: bytes) -> None:
    pieces = split_by_rules(reference.read(text), json.loads(rules.spelled))
    assert b"".join(pieces) == text
    assert all(pieces)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_base_is_the_published_pattern(name: str) -> None:
    assert compose({"base": name}) == PUBLISHED[name] == patterns()[name]
    assert compose({"base": name, "underscores": "alone"}) == PUBLISHED[name]


@pytest.mark.parametrize("name", PUBLISHED)
@given(texts)
def test_knobs_at_their_own_values_split_as_the_base(name: str, text: str) -> None:
    """What is composed of a base's own values means the base, though it is spelled anew."""
    own: dict[str, Any] = dict(zip(reference_rules.KNOBS, reference_rules.OWN[name], strict=True))
    composed = compose({"base": name, **own})
    assert composed is not None
    text = reference.read(text)
    assert reference.split(text, composed) == reference.split(text, PUBLISHED[name])


def test_encodes_specials_first() -> None:
    vocab = {bytes([byte]): byte for byte in range(256)} | {b"ab": 256}
    rules = {"rules": 1, "base": None, "keep_words": ["ab"]}
    assert encode("xab", vocab, rules) == [120, 256]
    assert encode("b<|a|>ab", vocab, rules, {"<|a|>": 257}) == [98, 257, 256]


def test_every_letter_has_one_script() -> None:
    assert {script_of(c) for c in "aBé"} == {"LATIN"}
    assert [script_of(c) for c in "ªº\u30fcµ"] == ["LATIN", "LATIN", "COMMON", "COMMON"]
    letters = (chr(code) for code in range(0, sys.maxunicode, 997))
    assert all(script_of(c) for c in letters if unicodedata.category(c).startswith("L"))


def test_the_specification_stays_readable_in_one_sitting() -> None:
    lines = (ROOT / "python" / "zeton" / "reference_rules.py").read_text().splitlines()
    assert len(lines) <= 350
