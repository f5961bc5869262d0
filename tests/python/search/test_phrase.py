"""Phrases are found in ids wherever the decoded text has them, and what can spell them is told."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.strategies import BYTES, odd_bytes, odd_text, patterns, vocabs
from zeton import search, shards
from zeton.errors import SearchError
from zeton.reference import Vocab
from zeton.search import occurrences as module

OUTSIDE = [r"\w+|\W", r"(\w)\1*|\W", r"(?s:.)", r"(?s).+"]

texts = st.one_of(odd_text.map(str.encode), odd_bytes)


def by_decoding(
    tok: zeton.Tokenizer, texts: list[bytes], ids: list[int]
) -> Iterator[tuple[int, ...]]:
    """Find phrases the slow way: by decoding what follows each id."""
    tokens = [tok.token_bytes(each) for each in ids]
    for first, token in enumerate(tokens):
        rest = b"".join(tokens[first:])
        for number, text in enumerate(texts):
            for offset in range(len(token)):
                if rest.startswith(text, offset):
                    end, length = first, 0
                    while length < offset + len(text):
                        length += len(tokens[end])
                        end += 1
                    yield first, end, offset, number


@given(vocabs(), st.sampled_from([*patterns().values(), *OUTSIDE]), texts, st.data())
def test_phrases_are_where_the_decoded_text_has_them(
    vocab: Vocab, pattern: str, text: bytes, data: st.DataObject
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern)
    parts = st.lists(st.one_of(texts.filter(bool), stretches(text)), min_size=1, max_size=4)
    wanted = data.draw(parts)
    ids = tok.encode(text)
    expected = sorted(by_decoding(tok, wanted, ids))
    for block in (1, 3, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "BLOCK_IDS", block)
            found = search.phrases(wanted, tokenizer=tok)
            assert sorted(found.find_all(np.array(ids, np.uint32))) == expected
            one = search.phrase(wanted[0], tokenizer=tok)
            hits = [each[:3] for each in expected if each[3] == 0]
            assert [each[:3] for each in one.find_all(ids)] == sorted(
                hits, key=lambda it: (it[0], it[2])
            )
            assert one.count(ids) == len(hits)
    assert found.count(ids) == [sum(each[3] == n for each in expected) for n in range(len(wanted))]


@given(vocabs(), st.sampled_from([*patterns().values(), *OUTSIDE]), texts, texts, texts)
def test_the_ids_of_every_text_hold_one_of_the_sequences(
    vocab: Vocab, pattern: str, left: bytes, text: bytes, right: bytes
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern)
    if not text:
        return
    located = tok.encode_with_offsets(left + text + right)
    within = [
        each
        for each, (start, end) in zip(located.ids, located.offsets, strict=True)
        if end > len(left) and start < len(left) + len(text)
    ]
    found = search.phrase(text, tokenizer=tok)
    try:
        assert tuple(within) in found.sequences
    except SearchError as error:
        assert "sequences of ids" in str(error)  # noqa: PT017 - it may be either.
        return
    for ids in found.sequences[:100]:
        first, *_, last = map(tok.token_bytes, (ids[0], *ids, ids[-1]))
        spelled = tok.decode_bytes(ids)
        # The phrase begins in the first of its tokens and ends in the last.
        places = range(max(len(spelled) - len(last) - len(text) + 1, 0), len(first))
        assert any(spelled.startswith(text, place) for place in places)


def stretches(text: bytes) -> st.SearchStrategy[bytes]:
    """Draw a part of a text."""
    if not text:
        return st.just(b"a")
    return st.integers(0, len(text) - 1).flatmap(
        lambda at: st.integers(1, 8).map(lambda size: text[at : at + size])
    )


@pytest.fixture(scope="module")
def tok() -> zeton.Tokenizer:
    return zeton.pretrained("cl100k_base")


def test_arrays_of_every_kind_are_read(tok: zeton.Tokenizer) -> None:
    ids = tok.encode("the concatenated cat, a Cat", append="<|endoftext|>")
    cat = search.phrase("cat", tokenizer=tok)
    expected = cat.find_all(ids)
    assert len(expected) == 2
    little = np.dtype(np.uint32).newbyteorder("<")
    for dtype in (np.uint32, np.int32, np.int64, np.uint64, ">u4", "<u4", little):
        assert cat.find_all(np.array(ids, dtype)) == expected
    doubled = np.array(ids, np.uint32).repeat(2)
    assert cat.find_all(doubled[::2]) == expected
    assert cat.find_all(tuple(ids)) == expected
    shifted = np.frombuffer(b"\0" + np.array(ids, np.uint32).tobytes(), np.uint32, offset=1)
    assert cat.find_all(shifted) == expected
    read_only = np.array(ids, np.uint32)
    read_only.flags.writeable = False
    assert cat.find_all(read_only) == expected
    small = zeton.Tokenizer(BYTES | {b"ca": 256})
    narrow = np.array(small.encode("a cat"), np.uint16)
    assert [tuple(each) for each in search.phrase("at", tokenizer=small).find_all(narrow)] == [
        (2, 4, 1, 0)
    ]


def test_a_special_and_a_number_that_is_no_id_stand_for_no_text(tok: zeton.Tokenizer) -> None:
    end = tok.specials["<|endoftext|>"]
    assert search.phrase("endoftext", tokenizer=tok).find_all([end]) == []
    hello = tok.encode("hel") + tok.encode("lo")
    assert search.phrase("hello", tokenizer=tok).count(hello) == 1
    for between in (end, 2**31 - 1, tok.vocab_size):
        ids = [*tok.encode("hel"), between, *tok.encode("lo")]
        assert search.phrase("hello", tokenizer=tok).count(ids) == 0
    padded = np.array([-100, *tok.encode("hello"), -1], np.int32)
    assert search.phrase("hello", tokenizer=tok).count(padded) == 1


def test_the_core_is_the_same_in_every_text(tok: zeton.Tokenizer) -> None:
    question = search.phrase("What is the capital of France?", tokenizer=tok)
    assert tok.decode(question.core) == " is the capital of France"
    assert all(tok.decode_bytes(start).endswith(b"What") for start in question.starts)
    assert all(tok.decode_bytes(end).startswith(b"?") for end in question.ends)
    assert tuple(tok.encode("What is the capital of France?")) in question.sequences


def test_refuses_an_empty_phrase_and_too_many_sequences(tok: zeton.Tokenizer) -> None:
    with pytest.raises(SearchError, match="a needle is empty"):
        search.phrase("", tokenizer=tok)
    with pytest.raises(SearchError, match="more than 65536 sequences of ids can begin or end"):
        _ = search.phrase("  ", tokenizer=tok).sequences
    with pytest.raises(SearchError, match="listed; use starts, core and ends, or search with"):
        _ = search.phrase("don't stop", tokenizer=tok).sequences
    assert search.phrase("  ", tokenizer=tok).count(tok.encode("a    b")) == 3


def test_refuses_what_is_no_tokenizer_no_text_and_no_ids(tok: zeton.Tokenizer) -> None:
    with pytest.raises(TypeError, match="texts must be a list, not one str"):
        search.phrases("cat", tokenizer=tok)
    with pytest.raises(TypeError, match="a text must be str or bytes, not list"):
        search.phrase(["cat"], tokenizer=tok)  # type: ignore[arg-type]
    with pytest.raises(
        TypeError, match=r"a search in ids needs a zeton\.Tokenizer, not str; zeton"
    ):
        search.phrase("cat", tokenizer="gpt2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="not str; encode a text first"):
        search.phrase("cat", tokenizer=tok).find_all("a cat")  # type: ignore[arg-type]


def test_refuses_a_reader_in_place_of_its_tokens(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a cat")
    shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out")
    reader = shards.open(tmp_path / "out")
    with pytest.raises(TypeError, match="not Reader; give its tokens"):
        search.phrase("cat", tokenizer=tok).count(reader)  # type: ignore[arg-type]
    assert search.phrase("cat", tokenizer=tok).count(reader.tokens) == 1


def test_a_phrase_is_a_value(tok: zeton.Tokenizer) -> None:
    cat = search.phrase("cat", tokenizer=tok)
    assert cat == search.phrase(b"cat", tokenizer=tok)
    assert cat != search.phrase("dog", tokenizer=tok)
    assert cat.count(tok.encode("cat")) == 1
    again = pickle.loads(pickle.dumps(cat))  # noqa: S301 - our own.
    assert again == cat
    assert hash(again) == hash(cat)
    with pytest.raises(AttributeError):
        cat.text = b"dog"  # type: ignore[misc]
    assert repr(search.phrases(["abcd"], tokenizer=tok)) == "Phrases([b'abcd'])"
    assert (
        repr(search.phrases([*"abcd"], tokenizer=tok)) == "Phrases([b'a', b'b', b'c', … 4 in all])"
    )
