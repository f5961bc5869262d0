"""Piece -> ids: what every engine must do."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.paths import VECTORS
from support.strategies import vocab_with, vocabs
from zeton import reference
from zeton.reference import Vocab

ANYTHING = "(?s).+"  # One piece, whatever the text.


def vectors() -> list[tuple[str, str, str]]:
    lines = (VECTORS / "merge.txt").read_text().splitlines()
    rows = (line.split("|") for line in lines if not line.startswith("#"))
    return [(tokens.strip(), piece.strip(), parts.strip()) for tokens, piece, parts in rows]


@pytest.mark.parametrize(("tokens", "piece", "expected"), vectors())
def test_vectors(
    merge: Callable[[bytes, Vocab], list[int]], tokens: str, piece: str, expected: str
) -> None:
    vocab = vocab_with([token.encode() for token in tokens.split()])
    assert merge(piece.encode(), vocab) == [vocab[token.encode()] for token in expected.split()]


small_tokens = st.lists(st.text("ab", min_size=2, max_size=5).map(str.encode), max_size=20)


@given(tokens=small_tokens, piece=st.text("abc", max_size=40))
def test_merges_as_the_reference_and_tiktoken_do(tokens: list[bytes], piece: str) -> None:
    vocab = vocab_with(tokens)
    tok = zeton.Tokenizer(vocab, pattern=ANYTHING)
    expected = reference.merge(piece.encode(), vocab) if piece else []
    assert tok.encode(piece) == expected
    assert tok.as_tiktoken().encode_ordinary(piece) == expected


@given(tokens=small_tokens, start=st.text("ab", max_size=12), repeats=st.integers(20, 120))
def test_long_pieces_merge_as_tiktoken_merges_them(
    tokens: list[bytes], start: str, repeats: int
) -> None:
    tok = zeton.Tokenizer(vocab_with(tokens), pattern=ANYTHING)
    piece = (start + "aab") * repeats + start
    assert tok.encode(piece) == tok.as_tiktoken().encode_ordinary(piece)


@given(vocab=vocabs())
def test_the_pairs_spell_their_tokens(vocab: Vocab) -> None:
    tok = zeton.Tokenizer(vocab)
    for (left, right), joined in tok.merges().items():
        assert tok.token_bytes(left) + tok.token_bytes(right) == tok.token_bytes(joined)


RUNS = ["a", " ", "中", "\n", "ab", "'s", "A", "1", "=", "\u0301", "QWxs"]


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_long_runs_are_exact(name: str, run: str) -> None:
    tok = zeton.pretrained(name)
    encoding = tok.as_tiktoken()
    for count in [1, 2, 3, 63, 64, 65, 127, 128, 129, 1000, 4096]:
        for text in (run * count, run * count + "x", "x" + run * count):
            assert tok.encode(text) == encoding.encode_ordinary(text)
            if count < 130:
                assert tok.encode(text) == reference.encode(text, ranks(name), tok.pattern)


RANKS: dict[str, Vocab] = {}


def ranks(name: str) -> Vocab:
    return RANKS.setdefault(name, zeton.pretrained(name).ranks())


def test_a_megabyte_of_anything_is_encoded() -> None:
    """Quadratic work would take hours here; the timeout of the suite is the judge."""
    for name in ("gpt2", "cl100k_base", "o200k_base"):
        tok = zeton.pretrained(name)
        for run in [*RUNS, "abcdefghijklmnopqrstuvwxyzACDCBBA"]:
            text = run * (1_000_000 // len(run.encode()))
            for whole in (text, text + "x"):
                assert tok.decode(tok.encode(whole)) == whole
