"""What tokens are made of: letters of which script, digits, symbols, white space."""

import unicodedata
from functools import lru_cache

__all__ = ["KINDS", "kind"]

SCRIPTS = {
    "LATIN": "Latin",
    "CYRILLIC": "Cyrillic",
    "GREEK": "Greek",
    "ARABIC": "Arabic",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "Devanagari",
    "THAI": "Thai",
    "CJK": "Han",
    "IDEOGRAPHIC": "Han",
    "HIRAGANA": "Hiragana",
    "KATAKANA": "Katakana",
    "HANGUL": "Hangul",
}
"""Scripts by the word that their characters' names begin with."""

LETTERS, DIGITS, SYMBOLS = "other letters", "digits", "punctuation and symbols"
SPACE, PARTS = "white space", "parts of characters"

KINDS = [*dict.fromkeys(SCRIPTS.values()), LETTERS, DIGITS, SYMBOLS, SPACE, PARTS]
"""All that `kind` can say."""


def kind(token: bytes) -> str:
    r"""Name the script of a token's first letter, or what else it is made of.

    >>> [kind(token.encode()) for token in ("the", " где", "7th", "42.", "...", "\n")]
    ['Latin', 'Cyrillic', 'Latin', 'digits', 'punctuation and symbols', 'white space']
    >>> kind(b"the \xe4")
    'parts of characters'
    """
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return PARTS
    others = set()
    for character in text:
        found = _kind_of(character)
        if found not in (DIGITS, SYMBOLS, SPACE):
            return found
        others.add(found)
    return next((found for found in (DIGITS, SYMBOLS) if found in others), SPACE)


@lru_cache(1 << 16)
def _kind_of(character: str) -> str:
    """Name what one character is; a mark belongs to its script as a letter does."""
    category = unicodedata.category(character)
    if category[0] in "LM":
        name = unicodedata.name(character, "").replace("-", " ")
        words = name.removeprefix("FULLWIDTH ").removeprefix("HALFWIDTH ").split(maxsplit=1)
        return SCRIPTS.get(words[0], LETTERS) if words else LETTERS
    if category[0] == "N":
        return DIGITS
    return SPACE if character.isspace() else SYMBOLS
