"""A text -> as much of it as has so many tokens: every service is what its definition says."""

import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.strategies import BYTES, family_patterns, odd_bytes, odd_text, vocab_with, vocabs
from zeton.reference import Vocab
from zeton.text.fit import Border, Side

TOK = zeton.pretrained("cl100k_base")
SPECIALS = {"<|a": 5000, "<|a|>": 5001}

patterns_of_all_kinds = st.one_of(
    family_patterns(),
    st.sampled_from(
        [r"\w+|\W", r"(?s:.)", r"\w+(?=\W)|\w+|\W", r"\p{N}{1,3}(?=(?:\p{N}{3})*)|[^\p{N}]+"]
    ),
)
texts = st.one_of(
    odd_text,
    st.lists(st.one_of(odd_text, st.sampled_from(["<|a", "|>", "word ", "\n\n", "!? "]))).map(
        "".join
    ),
)


def cuts(text: str) -> list[int]:
    return list(range(len(text) + 1))


@given(vocab=vocabs(), pattern=patterns_of_all_kinds, text=texts, limit=st.integers(0, 12))
def test_counting_to_a_limit_is_counting(vocab: Vocab, pattern: str, text: str, limit: int) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern, specials=SPECIALS)
    for specials in (None, "all"):
        count = len(tok.encode(text, allowed_special=specials))
        assert tok.count(text, allowed_special=specials) == count
        assert tok.count(text, limit=limit, allowed_special=specials) == min(count, limit)
        assert tok.fits(text, n=limit, allowed_special=specials) == (count <= limit)
    assert tok.count_batch([text, text.encode(), ""]) == [tok.count(text)] * 2 + [0]


@given(vocab=vocabs(), pattern=patterns_of_all_kinds, text=texts, n=st.integers(0, 9))
def test_truncate_leaves_the_longest_that_fits(
    vocab: Vocab, pattern: str, text: str, n: int
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern, specials=SPECIALS)
    for specials in (None, "all"):

        def fits(part: str) -> bool:
            return len(tok.encode(part, allowed_special=specials)) <= n  # noqa: B023

        head = next(text[:at] for at in reversed(cuts(text)) if fits(text[:at]))
        assert tok.truncate(text, n=n, allowed_special=specials) == head
        tail = next(text[at:] for at in cuts(text) if fits(text[at:]))
        assert tok.truncate(text, n=n, side="start", allowed_special=specials) == tail
        middle = tok.truncate(text, n=n, side="middle", allowed_special=specials)
        assert fits(middle)
        if not fits(text):
            head = tok.truncate(text, n=(n + 1) // 2, allowed_special=specials)
            tails = (text[at:] for at in range(len(head), len(text) + 1))
            assert middle == head + next(tail for tail in tails if fits(head + tail))


@given(text=st.one_of(odd_bytes, odd_text.map(str.encode)), n=st.integers(0, 6))
def test_bytes_are_cut_between_characters_as_well(text: bytes, n: int) -> None:
    cut = TOK.truncate(text, n=n)
    assert text.startswith(cut)
    assert TOK.count(cut) <= n
    assert (
        cut.decode(errors="surrogateescape")
        == text.decode(errors="surrogateescape")[: len(cut.decode(errors="surrogateescape"))]
    )


@given(
    vocab=vocabs(),
    pattern=patterns_of_all_kinds,
    text=texts,
    n=st.integers(4, 12),
    overlap=st.integers(0, 3),
    at=st.sampled_from(["piece", "line", "sentence", "paragraph", "word", "grapheme", "character"]),
)
def test_chunks_fit_and_joined_are_the_text(
    *, vocab: Vocab, pattern: str, text: str, n: int, overlap: int, at: Border
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern)
    chunks = tok.chunk(text, n=n, overlap=overlap, at=at)
    done = 0
    for chunk in chunks:
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.tokens == len(tok.encode(chunk.text)) <= n
        assert chunk.start <= done < chunk.end
        assert len(tok.encode(text[chunk.start : done])) <= overlap
        done = chunk.end
    assert done == len(text)
    assert "".join(chunk.text for chunk in tok.chunk(text, n=n, at=at)) == text


def test_a_wide_text_is_not_read_to_its_end() -> None:
    text = "naïve 中文 tokens " * 200_000
    assert TOK.count(text, limit=100) == 100
    head = TOK.truncate(text, n=100)
    assert TOK.count(head) <= 100
    assert head == text[: len(head)]
    tail = TOK.truncate(text, n=100, side="start")
    assert tail == text[-len(tail) :]
    assert TOK.count(tail) <= 100


@pytest.mark.parametrize("side", ["end", "start", "middle"])
@pytest.mark.parametrize("kind", ["letters", "Han", "a", "digits", "newlines", "flags"])
def test_a_run_without_a_place_to_cut_is_filled(kind: str, side: Side) -> None:
    chance = random.Random(1)
    text = {
        "letters": "".join(chance.choices("etaoinshrdlu", k=20_000)),
        "Han": "".join(chr(chance.randint(0x4E00, 0x9FA5)) for _ in range(9000)),
        "a": "a" * 30_000,
        "digits": "1234567890" * 3000,
        "newlines": "\n" * 90_000,
        "flags": "🇩🇪" * 3000,
    }[kind]
    cut = TOK.truncate(text, n=512, side=side)
    assert 508 <= TOK.count(cut) <= 512
    chunks = TOK.chunk(text, n=512)
    assert "".join(chunk.text for chunk in chunks) == text
    assert all(508 <= chunk.tokens <= 512 for chunk in chunks[:-1])


def test_the_middle_of_a_text_with_specials_fits() -> None:
    vocab = vocab_with([b"<|", b"xy", b"xyz"])
    tok = zeton.Tokenizer(vocab, pattern=r"\w+|\W+", specials={"<|x": 900})
    cut = tok.truncate("<|x a b c yz", n=2, side="middle", allowed_special="all")
    assert tok.count(cut, allowed_special="all") == 2


@pytest.mark.parametrize("at", ["grapheme", "word", "piece"])
def test_the_start_of_a_long_text_is_cut_at_its_own_borders(at: Border) -> None:
    tok = zeton.Tokenizer(BYTES, pattern="(?s:.{1,3})")
    text = "é1a" * 2000 + "🇩🇪" * 30
    for n in (7, 8, 100):
        tail = tok.truncate(text, n=n, side="start", at=at)
        assert len(tok.encode(tail)) <= n
        flags = tail[len(tail.rstrip("🇩🇪")) :]
        assert at == "piece" or len(flags) % 2 == 0
    assert TOK.truncate("1" * 6001, n=1, side="start", at="piece") == "1"


def test_borders_that_depend_on_far_text_are_found() -> None:
    tok = zeton.Tokenizer(BYTES, pattern="(?s:.)")
    far = "1" * 2000
    assert not tok.truncate(f"One etc. {far} lower. End", n=12, at="sentence")
    assert tok.truncate("One\n\n" + " " * 400 + "two three\n", n=12, at="paragraph") == "One\n\n"


PROSE = "One line.\nAnother one: e\u0301a! Is it?\n\nA paragraph. The end."


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        ("character", "One line.\nAnother one: e"),
        ("grapheme", "One line.\nAnother one: "),
        ("word", "One line.\nAnother one: "),
        ("sentence", "One line.\n"),
        ("line", "One line.\n"),
        ("paragraph", ""),
    ],
)
def test_a_cut_is_at_the_border_that_was_asked_for(at: Border, expected: str) -> None:
    n = TOK.count("One line.\nAnother one: e")
    assert TOK.truncate(PROSE, n=n, at=at) == expected


def test_units_are_cut_where_people_expect() -> None:
    paragraphs = [chunk.text for chunk in TOK.chunk(PROSE, n=15, at="paragraph")]
    assert paragraphs == ["One line.\nAnother one: e\u0301a! Is it?\n\n", "A paragraph. The end."]
    sentences = [chunk.text for chunk in TOK.chunk("A b. C d! E f?", n=4, at="sentence")]
    assert sentences == ["A b. ", "C d! ", "E f?"]


def test_a_unit_that_does_not_fit_is_cut_between_finer_ones() -> None:
    chunks = [chunk.text for chunk in TOK.chunk("a b c d e f g h\ni", n=4, at="line")]
    assert chunks == ["a b c d", " e f g h", "\ni"]


def test_an_overlap_repeats_the_end_of_the_chunk_before() -> None:
    chunks = TOK.chunk("one two three four five six", n=4, overlap=2)
    assert [chunk.text for chunk in chunks] == [
        "one two three four",
        " three four five six",
    ]
    assert [(chunk.start, chunk.tokens) for chunk in chunks] == [(0, 4), (7, 4)]


def test_lone_surrogates_are_cut_as_they_are_encoded() -> None:
    text = "a\ud83d\ude00\ud83db" * 400
    assert TOK.count(text, limit=7) == 7
    assert TOK.truncate(text, n=10_000) == "a😀\ufffdb" * 400
    assert "".join(chunk.text for chunk in TOK.chunk(text, n=7)) == "a😀\ufffdb" * 400
    assert TOK.encode_with_offsets("\ud83d\ude00a").offsets[-1] == (1, 2)


def test_a_mark_stands_where_the_middle_was() -> None:
    cut = TOK.truncate("one two three four five six seven", n=5, side="middle", mark=" …")
    assert cut == "one two three … seven"
    assert TOK.count(cut) == 5


CALLS: list[tuple[Callable[[Any], object], str]] = [
    (lambda tok: tok.truncate("a", n=-1), "n is -1; it must be at least 0"),
    (lambda tok: tok.chunk("a", n=0), "n is 0; it must be at least 1"),
    (
        lambda tok: tok.truncate("a", n=1, at="glyph"),
        "at='glyph' is unknown; known are 'character', ",
    ),
    (
        lambda tok: tok.truncate("a", n=1, side="left"),
        "side='left' is unknown; known are 'end', 'start' and 'middle'",
    ),
    (lambda tok: tok.truncate("a", n=1, mark="…"), "give side='middle', or no mark"),
    (
        lambda tok: tok.truncate("a b c d e", n=2, side="middle", mark="one two three"),
        "give a larger n",
    ),
    (lambda tok: tok.chunk("a", n=2, overlap=2), "leaves no room"),
    (lambda tok: tok.chunk("🏴\u200d☠", n=1), "a character takes"),
    (lambda tok: tok.count("a", limit=-1), "a number of tokens is -1; it must be at least 0"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_refuses_what_cannot_be(call: Callable[[Any], object], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        call(TOK)
