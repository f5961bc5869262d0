"""Where ids are in a text, how two tokenizers lie side by side, and what may follow."""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import zeton
from support.strategies import family_patterns, odd_bytes, odd_text, vocab_with, vocabs
from zeton.reference import Vocab

TOK = zeton.pretrained("cl100k_base")
OTHER = zeton.pretrained("gpt2")


def character_of(text: str, byte: int) -> int:
    """Return the number of the character that a byte is of."""
    return len(text.encode()[: byte + 1].decode(errors="ignore")) - (
        text.encode()[: byte + 1].decode(errors="ignore").encode() == text.encode()[: byte + 1]
    )


@given(vocab=vocabs(), pattern=family_patterns(), text=odd_text)
def test_offsets_are_where_the_tokens_are(vocab: Vocab, pattern: str, text: str) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern)
    ids, places = tok.encode_with_offsets(text, unit="byte")
    assert ids == tok.encode(text)
    assert [text.encode()[start:end] for start, end in places] == [
        tok.token_bytes(each) for each in ids
    ]
    expected = [(character_of(text, a), character_of(text, b - 1) + 1) for a, b in places]
    assert tok.encode_with_offsets(text).offsets == expected
    assert tok.encode_with_offsets(text.encode()).offsets == places


@given(text=odd_text.filter(bool), data=st.data())
def test_the_token_at_a_position_is_the_first_that_has_it(text: str, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(text) - 1))
    located = TOK.encode_with_offsets(text)
    expected = next(i for i, (a, b) in enumerate(located.offsets) if a <= position < b)
    token = located.token_at(position)
    assert token == (expected, located.ids[expected], *located.offsets[expected])
    assert TOK.token_at(text, position=position) == token


@pytest.mark.parametrize("position", [-1, 2, 10])
def test_refuses_a_position_outside_the_text(position: int) -> None:
    with pytest.raises(
        zeton.errors.TextError, match=f"no token at position {position}; positions are from 0 to 1"
    ):
        TOK.token_at("ab", position=position)


@given(text=st.one_of(odd_text, odd_bytes))
def test_aligned_stretches_are_the_text_and_as_short_as_may_be(text: Any) -> None:
    whole = text.encode() if isinstance(text, str) else text
    aligned = TOK.align(text, other=OTHER)
    assert [each for part in aligned for each in part.ours] == TOK.encode(text)
    assert [each for part in aligned for each in part.theirs] == OTHER.encode(text)
    done = b""
    for part in aligned:
        mine = [TOK.decode_bytes(part.ours[:i]) for i in range(1, len(part.ours))]
        other = [OTHER.decode_bytes(part.theirs[:i]) for i in range(1, len(part.theirs))]
        assert not {len(x) for x in mine} & {len(x) for x in other}
        assert TOK.decode_bytes(part.ours) == OTHER.decode_bytes(part.theirs)
        done += TOK.decode_bytes(part.ours)
    assert done == whole


@given(vocab=vocabs(), prefix=st.one_of(odd_text, odd_bytes))
def test_completions_are_all_tokens_that_begin_so(vocab: Vocab, prefix: str | bytes) -> None:
    tok = zeton.Tokenizer(vocab)
    begin = prefix.encode() if isinstance(prefix, str) else prefix
    assert tok.completions(prefix) == sorted(
        each for token, each in vocab.items() if token.startswith(begin)
    )


@given(vocab=vocabs(), pattern=family_patterns(), text=odd_text, more=odd_text)
def test_every_continuation_begins_with_an_allowed_id(
    vocab: Vocab, pattern: str, text: str, more: str
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern)
    ids, rest, allowed = tok.heal(text)
    assert tok.decode_bytes(ids) + rest == text.encode()
    whole = tok.encode(text + more)
    assert whole[: len(ids)] == ids
    assume(rest)
    assert allowed is not None
    assert whole[len(ids)] in allowed


def test_a_prompt_that_ends_inside_a_token_is_healed() -> None:
    ids, rest, allowed = TOK.heal("The url is http:")
    assert (TOK.decode(ids), rest) == ("The url is http", b":")
    assert allowed is not None
    assert TOK.encode("://")[0] in allowed
    assert all(TOK.token_bytes(each).startswith(b":") for each in allowed)
    assert TOK.heal("") == ([], b"", None)


def test_a_special_that_has_begun_may_come() -> None:
    healed = TOK.heal("<|endof", allowed_special="all")
    assert healed.allowed is not None
    assert TOK.specials["<|endoftext|>"] in healed.allowed


def test_what_is_not_utf8_may_go_on_too() -> None:
    healed = TOK.heal(b"a\xff")
    assert healed.allowed is not None
    assert TOK.encode(b"a\xffb")[len(healed.ids)] in healed.allowed


@pytest.mark.parametrize(
    ("pattern", "token", "text", "more"),
    [
        (r"\p{L}+(?i:'s|'t)?|[^\p{L}]", b"x'", "x'", "s"),
        (r"ab+c|a|(?s:.)", b"ab", "ab", "c"),
    ],
)
def test_a_pattern_that_looks_ahead_is_asked_about_all_its_classes(
    pattern: str, token: bytes, text: str, more: str
) -> None:
    tok = zeton.Tokenizer(vocab_with([token]), pattern=pattern)
    healed = tok.heal(text)
    assert healed.allowed is not None
    assert tok.encode(text + more)[len(healed.ids)] in healed.allowed
