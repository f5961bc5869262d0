"""Text and ids as they come: the same as all at once, and nothing that later ones can change."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.strategies import BYTES, family_patterns, odd_bytes, odd_text, vocabs
from zeton.reference import Vocab

TOK = zeton.pretrained("cl100k_base")
SPECIALS = {"<|a": 5000, "<|a|>": 5001}
parts = st.lists(
    st.one_of(odd_text, odd_bytes, st.sampled_from(["<|", "a", "|>", " word"])), max_size=8
)


def as_bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@given(vocab=vocabs(), pattern=family_patterns(), texts=parts)
def test_pushed_text_has_the_ids_of_the_whole(
    vocab: Vocab, pattern: str, texts: list[str | bytes]
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern, specials=SPECIALS)
    for specials in (None, "all"):
        whole = tok.encode(b"".join(map(as_bytes, texts)), allowed_special=specials)
        encoder = tok.encoder(allowed_special=specials)
        for _ in range(2):  # A stream can be used again.
            ids: list[int] = []
            for text in texts:
                ids += encoder.push(text)
                assert whole[: len(ids)] == ids
            assert ids + encoder.finish() == whole
            assert encoder.pending == b""


units = st.text(st.characters() | st.characters(min_codepoint=0xD7F0, max_codepoint=0xE010))


@given(text=units, cuts=st.lists(st.integers(0, 20), max_size=5))
def test_any_split_of_any_str_has_the_ids_of_the_whole(text: str, cuts: list[int]) -> None:
    whole = TOK.encode(text)
    places = [0, *sorted(cuts), len(text)]
    encoder = TOK.encoder()
    for _ in range(2):
        ids: list[int] = []
        for start, end in pairwise(places):
            ids += encoder.push(text[start:end])
            assert whole[: len(ids)] == ids
        assert ids + encoder.finish() == whole
        assert encoder.pending == b""


def test_a_surrogate_waits_for_its_other_half() -> None:
    encoder = TOK.encoder()
    ids = encoder.push("a \ud83d")
    assert encoder.pending == b" \xed\xa0\xbd"
    ids += encoder.push("")
    ids += encoder.push("\ude00")
    assert ids + encoder.finish() == TOK.encode("a \ud83d\ude00") == TOK.encode("a 😀")
    assert encoder.push("\ud83d") == []
    assert encoder.push(b"b") + encoder.finish() == TOK.encode("\ufffdb")
    assert encoder.push("\ud83d") + encoder.finish() == TOK.encode("\ufffd")
    assert encoder.finish() == []


def test_a_refused_text_leaves_a_stream_that_begins_anew() -> None:
    tok = zeton.Tokenizer(BYTES, pattern=r"(?:(a|aa)+)\1b|(?s:.)", specials={"<s>": 300})
    encoder = tok.encoder(allowed_special="all")
    encoder.push("z" * 1000)
    with pytest.raises(zeton.errors.PatternError):
        encoder.push("a" * 50 + "<s>")
    assert encoder.push("q<s>") == [113, 300]


def test_what_is_held_back_is_the_last_word() -> None:
    encoder = TOK.encoder()
    assert encoder.push("one two thr") == TOK.encode("one two")
    assert encoder.pending == b" thr"


def test_a_pattern_of_bounded_pieces_has_a_bound() -> None:
    bounded = zeton.Tokenizer(TOK.ranks(), pattern="(?s:.)").encoder()
    assert (bounded.pending_bytes_max, bounded.why_unbounded) == (4, None)
    unbounded = TOK.encoder()
    assert unbounded.pending_bytes_max is None
    assert "for ever" in str(unbounded.why_unbounded)
    backtracking = zeton.Tokenizer(TOK.ranks(), pattern=r"(.)\1+|(?s:.)").encoder()
    assert "backtracking" in str(backtracking.why_unbounded)


def test_a_word_of_a_megabyte_is_pushed_a_letter_at_a_time() -> None:
    encoder, text = TOK.encoder(), "a" * (1 << 20)
    ids = [each for letter in text for each in encoder.push(letter)]
    assert ids + encoder.finish() == TOK.encode(text)


some_ids = st.lists(st.one_of(st.integers(0, 255), st.integers(0, 100255)), max_size=16)


@given(ids=some_ids, errors=st.sampled_from(["replace", "ignore"]), graphemes=st.booleans())
def test_pushed_ids_have_the_text_of_the_whole(
    *, ids: list[int], errors: str, graphemes: bool
) -> None:
    decoder = TOK.decoder(errors=errors, graphemes=graphemes)
    one_by_one = "".join(decoder.push(each) for each in ids) + decoder.finish()
    assert one_by_one == TOK.decode(ids, errors=errors)
    assert decoder.push(ids) + decoder.finish() == one_by_one


@given(text=odd_text, stops=st.lists(odd_text.filter(bool), min_size=1, max_size=3))
def test_text_ends_before_the_stop_that_is_complete_first(text: str, stops: list[str]) -> None:
    stops += [text[i : i + 2] for i in range(0, len(text) - 1, 5)]
    ends = [at for at in range(len(text) + 1) if any(text[:at].endswith(stop) for stop in stops)]
    decoder = TOK.decoder(stop=stops)
    decoded = "".join(decoder.push(each) for each in TOK.encode(text))
    stopped = decoder.stopped
    decoded += decoder.finish()
    if not ends:
        assert (decoded, stopped) == (text, None)
    else:
        longest = max((stop for stop in stops if text[: ends[0]].endswith(stop)), key=len)
        assert (decoded, stopped) == (text[: ends[0] - len(longest)], longest)


@given(ids=some_ids, back=st.integers(0, 6), stop=st.lists(odd_text.filter(bool), max_size=2))
def test_ids_that_are_taken_back_were_never_there(
    ids: list[int], back: int, stop: list[str]
) -> None:
    back = min(back, len(ids))
    decoder, fresh = TOK.decoder(stop=stop), TOK.decoder(stop=stop)
    text = "".join(decoder.push(each) for each in ids)
    taken = decoder.rewind(back)
    assert text[: len(text) - taken] == fresh.push(ids[: len(ids) - back])
    assert decoder.stopped == fresh.stopped
    assert (
        decoder.push(ids[len(ids) - back :]) + decoder.finish()
        == fresh.push(ids[len(ids) - back :]) + fresh.finish()
    )


def test_an_id_may_be_any_number() -> None:
    decoder = TOK.decoder()
    same: list[Any] = [np.int64(64), np.uint16(64), np.array(64), [np.int64(64)], np.array([64])]
    for each in same:
        assert decoder.push(each) == TOK.decode([64])


def test_a_character_in_parts_comes_whole() -> None:
    ids = TOK.encode("日本語😀")
    decoder = TOK.decoder()
    pushed = [decoder.push(each) for each in ids]
    assert "".join(pushed) == "日本語😀"
    assert "" in pushed
    assert all("\ufffd" not in text for text in pushed)


def test_a_cluster_comes_whole_on_request() -> None:
    family = "👨\u200d👩\u200d👧"
    ids = TOK.encode(f"a{family}b")
    decoder = TOK.decoder(graphemes=True)
    assert [text for each in ids if (text := decoder.push(each))] == ["a", family]
    assert decoder.finish() == "b"


def test_refuses_broken_text_if_it_is_to_be_strict() -> None:
    decoder = TOK.decoder(errors="strict")
    assert decoder.push([64, 65]) == TOK.decode([64, 65])
    broken = TOK.encode(b"\xff")
    with pytest.raises(UnicodeDecodeError, match="errors="):
        decoder.push([64, *broken])
    assert decoder.rewind(2) == 2
    assert decoder.push(64) == TOK.decode([64])
    decoder.push(TOK.encode(b"\xe4\xb8"))
    with pytest.raises(UnicodeDecodeError):
        decoder.finish()


def test_refuses_what_cannot_be() -> None:
    decoder = TOK.decoder(rewind_max=2)
    decoder.push([64, 65, 66])
    with pytest.raises(zeton.errors.IdError, match="because the decoder remembers 2"):
        decoder.rewind(3)
    with pytest.raises(zeton.errors.IdError, match="200000"):
        decoder.push([64, 200000])
    with pytest.raises(zeton.errors.TextError, match='errors="loud" is not an error handler'):
        TOK.decoder(errors="loud")
    with pytest.raises(ValueError, match="a stop string is empty"):
        TOK.decoder(stop=["", "a"])
    with pytest.raises(zeton.errors.TextError, match=r"the stop 'a\\ud800' has a lone surrogate"):
        TOK.decoder(stop="a\ud800")
    with pytest.raises(zeton.errors.TextError, match="the stops have 20000 bytes in all"):
        TOK.decoder(stop="a" * 20_000)
