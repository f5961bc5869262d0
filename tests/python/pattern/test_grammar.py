"""The grammar and its transducer, as Python sees them: all that splitting needs."""

import pytest
from hypothesis import given

import zeton
from support.strategies import BYTES, family_patterns, odd_bytes, odd_text, patterns
from zeton import reference
from zeton.pattern.grammar import (
    CUT_HERE,
    CUT_MARK_0,
    CUT_MARK_1,
    SET_MARK_0,
    SET_MARK_1,
    Transducer,
)


def run(transducer: Transducer, text: bytes) -> list[bytes]:
    """Interpret the table, as the engine and the accelerator do."""
    characters = [char.encode("utf-8", "surrogateescape") for char in reference.read(text)]
    state = start = at = 0
    marks = [0, 0]
    pieces = []
    for char in [*characters, b""]:
        if not char:
            column = transducer.class_of_end
        elif len(char) == 1 and char >= b"\x80":
            column = transducer.class_of_bad_byte
        else:
            column = transducer.class_of[ord(char.decode())]
        actions = transducer.actions[state][column]
        state = transducer.next[state][column]
        for action, end in ((CUT_MARK_0, marks[0]), (CUT_MARK_1, marks[1]), (CUT_HERE, at)):
            if actions & action:
                pieces.append(text[start:end])
                start = end
        if actions & SET_MARK_0:
            marks[0] = at + len(char)
        if actions & SET_MARK_1:
            marks[1] = at
        at += len(char)
    return pieces


@given(pattern=family_patterns(), text=odd_text)
def test_the_table_alone_splits_as_the_engine(pattern: str, text: str) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=pattern)
    if tok.grammar is not None:
        assert run(tok.grammar.transducer, text.encode()) == tok.split(text)


@given(text=odd_bytes)
@pytest.mark.parametrize("name", patterns())
def test_the_table_knows_bytes_that_are_not_utf8(name: str, text: bytes) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=patterns()[name])
    assert tok.grammar is not None
    assert run(tok.grammar.transducer, text) == tok.split(text)


def test_a_grammar_says_what_a_pattern_means() -> None:
    nanochat = zeton.Tokenizer(BYTES, pattern=patterns()["nanochat"]).grammar
    rustbpe = zeton.Tokenizer(BYTES, pattern=patterns()["rustbpe"]).grammar
    assert nanochat is not None
    assert rustbpe is not None
    assert (nanochat.number_digits_max, rustbpe.number_digits_max) == (2, 3)
    assert nanochat.contractions == ("d", "ll", "m", "re", "s", "t", "ve")
    assert nanochat.contractions_place == "piece"
    assert nanochat.transducer.states[0] == "start"
    assert len(nanochat.transducer.states) < 32
    assert zeton.Tokenizer(BYTES, pattern="(?s).").grammar is None
