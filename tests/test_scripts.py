"""Tokens are told by what they are made of."""

import pytest

from zeton.training.report.scripts import KINDS, kind


@pytest.mark.parametrize(
    ("token", "expected"),
    [
        (" the", "Latin"),
        ("Ａ", "Latin"),
        ("é", "Latin"),
        ("где", "Cyrillic"),
        ("λόγος", "Greek"),
        ("سلام", "Arabic"),
        ("שלום", "Hebrew"),
        ("ि", "Devanagari"),
        ("ไทย", "Thai"),
        ("漢々", "Han"),
        ("々", "Han"),
        ("の", "Hiragana"),
        ("ー", "Katakana"),
        ("ｶ", "Katakana"),
        ("한", "Hangul"),
        ("ა", "other letters"),
        ("٣4", "digits"),
        (" 4.", "digits"),
        (" .\n", "punctuation and symbols"),
        ("\0", "punctuation and symbols"),
        ("🎉", "punctuation and symbols"),
        ("\n \u3000", "white space"),
        ("日a", "Han"),
        ("4a日", "Latin"),
    ],
)
def test_a_token_is_of_the_kind_of_its_first_letter(token: str, expected: str) -> None:
    assert kind(token.encode()) == expected
    assert expected in KINDS


@pytest.mark.parametrize("token", [b"\xff", b" \xe4\xb8", b"the\xc3"])
def test_bytes_that_are_no_whole_text_are_parts(token: bytes) -> None:
    assert kind(token) == "parts of characters"


def test_every_character_is_of_a_known_kind() -> None:
    characters = (chr(code) for code in range(0x10000) if not 0xD800 <= code < 0xE000)
    assert {kind(c.encode()) for c in characters} == set(KINDS) - {"parts of characters"}
