"""Which way a pattern goes, and why."""

import pytest

import zeton
from support.strategies import BYTES, patterns


@pytest.mark.parametrize("pattern", patterns().values(), ids=patterns())
def test_published_patterns_run_as_transducers_with_vectors(pattern: str) -> None:
    info = zeton.Tokenizer(BYTES, pattern=pattern).info
    assert info.split == "transducer"
    assert info.vectors in {"AVX-512", "AVX2", "SSE2", "plain"}
    assert info.why.startswith("of the family")


def test_a_pattern_outside_the_family_runs_as_an_automaton() -> None:
    info = zeton.Tokenizer(BYTES, pattern=r"\w+|\W").info
    assert info == zeton.Info(
        split="automaton",
        why=r"outside the family, at `\w+|\W`; it looks at most one character ahead",
        states=3,
        classes=3,
        vectors=None,
    )
    assert info.way == "automaton, 3 states by 3 classes"


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(\w)\1|(?s:.)", "it refers back to a group"),
        (r"(?<=a)b|(?s:.)", "it looks behind"),
        (r"a(?=bc)|(?s:.)", "it looks ahead by more than one character"),
        (r"\b\w+|(?s:.)", "it tests for the edge of a word"),
        (r"(?>a|ab)c|(?s:.)", "possessive part that is not proven equal"),
    ],
)
def test_the_rest_says_why_it_steps_back(pattern: str, why: str) -> None:
    info = zeton.Tokenizer(BYTES, pattern=pattern).info
    assert info.way == "backtracking"
    assert why in info.why
