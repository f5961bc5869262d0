"""What `explain` tells is what `encode` does, and what the reference says."""

import json
from itertools import pairwise

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.strategies import BYTES, odd_bytes, odd_text, patterns, vocab_with
from zeton import reference
from zeton.text.explain import Explanation, Merge

END = {"<|end|>": 90_000}

# The rules of each pattern, apart; joined by bars they are the pattern.
RULES = {
    "gpt2": {
        "contraction": "'(?:[sdmt]|ll|ve|re)",
        "word": r" ?\p{L}++",
        "number": r" ?\p{N}++",
        "punctuation": r" ?[^\s\p{L}\p{N}]++",
        "space": r"\s++$|\s+(?!\S)|\s",
    },
    "cl100k": {
        "contraction": "'(?i:[sdmt]|ll|ve|re)",
        "word": r"[^\r\n\p{L}\p{N}]?+\p{L}++",
        "number": r"\p{N}{1,3}+",
        "punctuation": r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        "space": r"\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    },
    "o200k": {
        "word": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        "number": r"\p{N}{1,3}",
        "punctuation": r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        "space": r"\s*[\r\n]+|\s+(?!\S)|\s+",
    },
    "qwen3_next": {
        "contraction": "(?i:'s|'t|'re|'ve|'m|'ll|'d)",
        "word": r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+",
        "number": r"\p{N}",
        "punctuation": r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*",
        "space": r"\s*[\r\n]+|\s+(?!\S)|\s+",
    },
    # Nobody's: a mark after a sign belongs to the sign, and begins a word elsewhere.
    "marks": {
        "contraction": "'s|'ll",
        "word": r" ?[\p{L}\p{M}]+",
        "number": r" ?\p{N}+",
        "punctuation": r" ?[^\s\p{L}\p{N}]+",
        "space": r"\s+(?!\S)|\s+",
    },
}

tokens = st.lists(st.text("abc", min_size=2, max_size=6).map(str.encode), max_size=20)


def rules_and_pieces(explanation: Explanation) -> list[tuple[str, bytes]]:
    return [(piece.rule, piece.content) for piece in explanation.pieces]


@pytest.mark.parametrize("name", RULES)
@given(text=odd_text)
def test_names_the_rule_of_the_pattern_that_matched(name: str, text: str) -> None:
    rules = RULES[name]
    pattern = "|".join(rules.values())
    assert pattern == patterns().get(name, pattern)
    named = regex.compile("|".join(f"(?P<{rule}>{part})" for rule, part in rules.items()))
    text = reference.read(text)
    expected = [(match.lastgroup, match.group().encode()) for match in named.finditer(text)]
    tok = zeton.Tokenizer(BYTES, pattern=pattern)
    assert rules_and_pieces(tok.explain(text)) == expected


def test_a_mark_after_a_sign_is_no_word_where_the_pattern_says_so() -> None:
    tok = zeton.Tokenizer(BYTES, pattern="|".join(RULES["marks"].values()))
    assert tok.grammar is not None
    assert [rule for rule, _ in rules_and_pieces(tok.explain("!\u0301 \u0301"))] == [
        "punctuation",
        "word",
    ]


def test_knows_no_rules_of_other_patterns() -> None:
    tok = zeton.Tokenizer(BYTES, pattern=r"\w+|\W")
    assert rules_and_pieces(tok.explain("a !")) == [
        ("pattern", b"a"),
        ("pattern", b" "),
        ("pattern", b"!"),
    ]


def test_names_rules_of_ones_own_by_their_fields() -> None:
    rules = (
        '{"rules":1,"case":"words","keep":["C++"],'
        '"isolate":[{"regex":"\\\\d+-\\\\d+","name":"date"}],"groups":[{"characters":"ACGT","size":3}]}'
    )
    tok = zeton.Tokenizer(BYTES, pattern=rules)
    text = "C++ 12-3 aBc ACGT"
    explanation = tok.explain(text)
    assert explanation.ids == tok.encode(text)
    assert rules_and_pieces(explanation) == [
        ("keep", b"C++"),
        ("space", b" "),
        ("isolate date", b"12-3"),
        ("word", b" a"),
        ("case", b"Bc"),
        ("space", b" "),
        ("groups ACGT", b"ACG"),
        ("groups ACGT", b"T"),
    ]


@given(spelled=tokens, piece=st.text("abc", max_size=30).map(str.encode))
def test_merges_as_the_reference_does_step_by_step(spelled: list[bytes], piece: bytes) -> None:
    vocab = vocab_with(spelled)
    tok = zeton.Tokenizer(vocab, pattern="(?s).+")
    for each in tok.explain(piece).pieces:
        steps = list(reference.merge_steps(piece, vocab))
        assert list(each.steps()) == steps
        assert list(each.ids) == reference.merge(piece, vocab)
        assert [vocab[token] for token in each.tokens] == list(each.ids)
        assert each.whole == (piece in vocab)
        assert each.reached == ([vocab[part] for part in steps[-1]] == list(each.ids))
        for merge, (before, after) in zip(each.merges, pairwise(steps), strict=True):
            assert len(after) == len(before) - 1
            assert piece[merge.start : merge.end] == merge.token == merge.left + merge.right
            assert merge.id == merge.rank == vocab[merge.token]
            assert (merge.left_id, merge.right_id) == (vocab[merge.left], vocab[merge.right])


@given(text=st.one_of(odd_text, odd_bytes), spelled=tokens)
def test_the_ids_and_pieces_are_those_of_encode_and_split(
    text: str | bytes, spelled: list[bytes]
) -> None:
    tok = zeton.Tokenizer(vocab_with(spelled), specials=END)
    explanation = tok.explain(text)
    assert explanation.ids == tok.encode(text)
    assert [piece.content for piece in explanation.pieces] == tok.split(text)


@given(parts=st.lists(st.one_of(st.just("<|end|>"), odd_text), max_size=6))
def test_places_are_in_characters_of_a_str(parts: list[str]) -> None:
    text = reference.read("".join(parts))
    explanation = zeton.Tokenizer(BYTES, specials=END).explain(text, allowed_special="all")
    assert explanation.unit == "character"
    ends = [0]
    for piece in explanation.pieces:
        assert text[piece.start : piece.end].encode() == piece.content
        assert piece.start == ends[-1]
        ends.append(piece.end)
        if piece.rule == "special":
            assert piece.ids == (90_000,)
            assert (piece.whole, piece.reached, piece.merges) == (True, False, ())
    assert ends[-1] == len(text)


def test_places_are_in_bytes_of_bytes() -> None:
    explanation = zeton.Tokenizer(BYTES).explain("é !\xff".encode("latin-1"))
    assert explanation.unit == "byte"
    assert [(piece.start, piece.end) for piece in explanation.pieces] == [(0, 1), (1, 4)]


def test_lone_surrogates_are_read_as_encode_reads_them() -> None:
    tok = zeton.Tokenizer(BYTES)
    assert tok.explain("a\ud800").ids == tok.encode("a\ud800")


def test_a_special_that_is_not_allowed_is_text() -> None:
    tok = zeton.Tokenizer(BYTES, specials=END)
    assert {piece.rule for piece in tok.explain("<|end|>").pieces} == {"word", "punctuation"}


def test_a_token_that_no_merge_reaches_is_taken_whole_and_says_so() -> None:
    (piece,) = zeton.Tokenizer(BYTES | {b"abc": 256}).explain("abc").pieces
    assert (piece.whole, piece.reached, piece.merges, piece.ids) == (True, False, (), (256,))
    assert piece.tokens == (b"abc",)


def test_no_merge_reaches_a_special_even_of_one_byte() -> None:
    (piece,) = (
        zeton.Tokenizer(BYTES, specials={"|": 300}).explain("|", allowed_special="all").pieces
    )
    assert (piece.ids, piece.whole, piece.reached) == ((300,), True, False)


def test_a_piece_of_a_megabyte_is_explained() -> None:
    tok = zeton.Tokenizer(BYTES | {b"ab": 256, b"abab": 257})
    (piece,) = tok.explain("ab" * 500_000).pieces
    assert len(piece.merges) == 750_000
    assert piece.ids == (257,) * 250_000


def test_it_is_plain_values_for_json() -> None:
    tok = zeton.Tokenizer(BYTES | {b"\xc3\xa9": 256, b"\xc3\xa9t": 257}, specials=END)
    explanation = tok.explain("été<|end|>", allowed_special="all")
    told = json.loads(json.dumps(explanation.to_dict()))
    assert told == explanation.to_dict()
    assert told["ids"] == [257, 256, 90_000]
    first, last = told["pieces"]
    assert (first["text"], first["bytes"], first["rule"]) == ("été", "c3a974c3a9", "word")
    assert first["merges"][2] == {
        "left": {"id": 256, "text": "é", "bytes": "c3a9"},
        "right": {"id": 116, "text": "t", "bytes": "74"},
        "joined": {"id": 257, "text": "ét", "bytes": "c3a974"},
        "rank": 257,
        "start": 0,
        "end": 3,
    }
    assert (last["start"], last["end"], last["rule"]) == (3, 10, "special")


def test_explanations_are_values() -> None:
    tok = zeton.Tokenizer(BYTES | {b"lo": 256})
    assert tok.explain("lo") == tok.explain("lo")
    assert tok.explain("lo").pieces[0].merges == (Merge(b"l", b"o", 108, 111, 256, 0),)
    with pytest.raises(AttributeError):
        tok.explain("lo").pieces[0].rule = "mine"  # type: ignore[misc]
