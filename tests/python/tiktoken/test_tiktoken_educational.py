"""The encoding that shows its steps, against tiktoken's and the reference."""

import ast
import inspect
from typing import Any

import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken import _educational as theirs

import zeton
from support.strategies import family_patterns, odd_text, vocab_with, vocabs
from zeton import reference
from zeton.reference import Vocab
from zeton.tiktoken import _educational as ours
from zeton.tiktoken import get_encoding

WORDS = r"\w+|\W"
SHOWN = ["colour", "color", "simple", None, "other"]

small_vocabs = st.lists(st.text("ab", min_size=2, max_size=5).map(str.encode)).map(vocab_with)
small_pieces = st.text("abc", max_size=12).map(str.encode)


def printed(capsys: pytest.CaptureFixture[str], function: Any, *arguments: Any) -> tuple[Any, str]:
    """Call a function, and return its result with its printed output."""
    return function(*arguments), capsys.readouterr().out


def test_the_names_and_their_parameters_are_tiktokens() -> None:
    def parameters(module: object, name: str) -> list[tuple[str, object]]:
        found = inspect.signature(getattr(module, name)).parameters.values()
        return [(parameter.name, parameter.default) for parameter in found]

    for name in ours.__all__:
        assert parameters(ours, name) == parameters(theirs, name)
    simple = theirs.SimpleBytePairEncoding
    for name in (name for name in vars(simple) if not name.startswith("_")):
        assert parameters(ours.SimpleBytePairEncoding, name) == parameters(simple, name)


@given(vocab=st.one_of(small_vocabs, vocabs()), piece=st.one_of(small_pieces, st.binary()))
def test_merges_as_tiktoken_does(vocab: Vocab, piece: bytes) -> None:
    assert ours.bpe_encode(vocab, piece, None) == theirs.bpe_encode(vocab, piece, None)


@given(vocab=small_vocabs, piece=small_pieces, shown=st.sampled_from(SHOWN))
def test_shows_the_steps_that_tiktoken_shows(
    vocab: Vocab, piece: bytes, shown: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = vocab, piece, shown
    assert printed(capsys, ours.bpe_encode, *arguments) == printed(
        capsys, theirs.bpe_encode, *arguments
    )


@given(tokens=st.lists(st.one_of(st.binary(max_size=9), st.text(max_size=9).map(str.encode))))
def test_draws_tokens_as_tiktoken_does(
    tokens: list[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    assert printed(capsys, ours.visualise_tokens, tokens) == printed(
        capsys, theirs.visualise_tokens, tokens
    )


@given(vocab=vocabs(), text=odd_text, pattern=family_patterns())
@settings(max_examples=100)
def test_encodes_and_decodes_as_tiktoken_does(vocab: Vocab, text: str, pattern: str) -> None:
    our_enc = ours.SimpleBytePairEncoding(pat_str=pattern, mergeable_ranks=vocab)
    enc = theirs.SimpleBytePairEncoding(pat_str=pattern, mergeable_ranks=vocab)
    ids = our_enc.encode(text, visualise=None)
    assert our_enc.decode(ids) == text
    assert ids == enc.encode(text, visualise=None)
    assert our_enc.decode_bytes(ids[:1]) == enc.decode_bytes(ids[:1])
    assert our_enc.decode(ids[:1]) == enc.decode(ids[:1])
    assert our_enc.decode_tokens_bytes(ids) == enc.decode_tokens_bytes(ids)


def test_refuses_an_unknown_id() -> None:
    enc = ours.SimpleBytePairEncoding(pat_str=WORDS, mergeable_ranks={b"a": 0})
    for decode in (enc.decode, enc.decode_bytes, enc.decode_tokens_bytes):
        with pytest.raises(KeyError, match="7"):
            decode([0, 7])


def test_takes_a_name_an_encoding_of_ours_and_one_of_tiktokens() -> None:
    tok = zeton.pretrained("gpt2")
    encodings: list[Any] = ["gpt2", get_encoding("gpt2"), tok.as_tiktoken()]
    assert isinstance(encodings[2], tiktoken.Encoding)
    text = "hello world, and 12 more ünïcödé words"
    for encoding in encodings:
        enc = ours.SimpleBytePairEncoding.from_tiktoken(encoding)
        assert enc.pat_str == tok.pattern
        assert enc.encode(text, visualise=None) == tok.encode(text)


def test_trains_as_tiktoken_does_where_no_counts_are_equal() -> None:
    for size in (256, 257, 258, 259):
        ranks = ours.bpe_train("abababab cdcd", size, WORDS, None)
        assert ranks == theirs.bpe_train("abababab cdcd", size, WORDS, None)


def test_of_equal_counts_the_smallest_pair_goes_first() -> None:
    assert ours.bpe_train("yz ab", 258, WORDS, None)[b"ab"] == 256
    assert theirs.bpe_train("yz ab", 258, WORDS, None)[b"yz"] == 256


@given(text=st.text("ab ", min_size=20, max_size=200), merges=st.integers(0, 8))
@settings(max_examples=100)
def test_training_shows_the_first_words_after_every_merge(
    text: str, merges: int, capsys: pytest.CaptureFixture[str]
) -> None:
    vocab = reference.train([text], 256 + merges, WORDS)
    ranks, out = printed(capsys, ours.bpe_train, text, len(vocab), WORDS, "simple")
    assert ranks == vocab
    shown = [ast.literal_eval(line) for line in out.splitlines() if line.startswith("[")]
    tokens = list(vocab)
    assert len(shown) == len(tokens) - 256
    for size, parts in enumerate(shown, 257):
        so_far = {token: vocab[token] for token in tokens[:size]}
        words = reference.split(text, WORDS)[:50]
        assert parts == [tokens[i] for word in words for i in reference.merge(word, so_far)]


def test_training_names_the_pair_of_every_merge(capsys: pytest.CaptureFixture[str]) -> None:
    ours.bpe_train("low low lower", 258, WORDS)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "b'l' and b'o' occur most often: b'lo' is token 256."
    assert lines[3] == "b'lo' and b'w' occur most often: b'low' is token 257."
    assert lines[4].startswith("\x1b[48;5;167mlow\x1b[48;5;77m ")


def test_refuses_a_size_below_256_and_too_little_text() -> None:
    with pytest.raises(ValueError, match="vocab_size is 255; it must be at least 256"):
        ours.bpe_train("text", 255, WORDS, None)
    message = "the text has pairs for 259 tokens, not for 300; give more text or a smaller size"
    with pytest.raises(zeton.errors.TrainError, match=message):
        ours.SimpleBytePairEncoding.train("text", 300, WORDS)


def test_trains_on_its_own_source(capsys: pytest.CaptureFixture[str]) -> None:
    enc, out = printed(capsys, ours.train_simple_encoding)
    assert len(enc.mergeable_ranks) == 600
    assert out.count(" occur most often: ") == 600 - 256
    ids = enc.encode("hello world", visualise=None)
    assert len(ids) < len("hello world")
    assert enc.decode(ids) == "hello world"
