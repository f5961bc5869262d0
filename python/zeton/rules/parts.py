"""The parts of rules beside knobs: isolates, lexicons and groups. A part never changes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from zeton._engine import scripts_of
from zeton.rules.checks import (
    check_choice,
    check_flag,
    check_number,
    check_text,
    check_texts,
    quote,
    refuse,
)

__all__ = ["GROUP_SIZE_MAX", "LITERAL_BYTES_MAX", "REGEX_BYTES_MAX", "Group", "Isolate", "Lexicon"]

LITERAL_BYTES_MAX = 1 << 10
"""Bytes of a literal or a word."""

REGEX_BYTES_MAX = 1 << 16
"""Bytes of a regex."""

GROUP_SIZE_MAX = 1 << 10
"""The largest `size` of a group."""

NO_SCRIPTS = ("Common", "Inherited", "Unknown")
"""The script property of characters that belong to several scripts or to none."""


@dataclass(frozen=True)
class Isolate:
    r"""A regex; each of its matches is one piece.

    >>> Isolate(r"\d{4}-\d\d-\d\d", "date", whole_word=True)
    Isolate(regex='\\d{4}-\\d\\d-\\d\\d', name='date', whole_word=True)
    """

    regex: str
    name: str | None = None
    """The name of the rule in `zeton info` and `zeton show --rules`."""
    whole_word: bool = False
    """Whether a match may have no word character directly before or after it."""

    def __post_init__(self) -> None:
        """Check the fields; the engine checks the regex when the rules are made."""
        check_text(self.regex, ("regex",), REGEX_BYTES_MAX)
        _check_name(self.name)
        check_flag(self.whole_word, ("whole_word",))


@dataclass(frozen=True)
class Lexicon:
    """Words of a script that is written without spaces; runs of the script are cut into words.

    >>> Lexicon(["แมว", "กิน", "ปลา"]).script
    'Thai'
    """

    words: Sequence[str]
    script: str | None = None
    """The Unicode name of the script; None takes the script of the words."""
    path: Literal["longest", "fewest"] = "longest"
    """The cut: the longest word from the left, or the fewest parts in all."""

    def __post_init__(self) -> None:
        """Check the fields; every character of a word must have the script."""
        words = check_texts(self.words, ("words",), LITERAL_BYTES_MAX)
        if not words:
            refuse(("words",), "is empty; give at least one word")
        check_choice(self.path, ("path",), ("longest", "fewest"))
        object.__setattr__(self, "words", tuple(words))
        object.__setattr__(self, "script", _script(words, self.script))


@dataclass(frozen=True)
class Group:
    """Characters whose runs are cut every `size` characters, as DNA is cut into codons.

    The first `start` characters of a run are a piece of their own: the reading frame.

    >>> Group("ACGT", 3, start=1).size
    3
    """

    characters: str
    size: int
    start: int = 0
    name: str | None = None
    """The name of the rule in `zeton info` and `zeton show --rules`."""

    def __post_init__(self) -> None:
        """Check the fields; characters may be a list, and duplicates are dropped."""
        characters = self.characters
        if not isinstance(characters, str) and isinstance(characters, Iterable):
            characters = "".join(check_texts(characters, ("characters",), LITERAL_BYTES_MAX))
        check_text(characters, ("characters",), REGEX_BYTES_MAX)
        check_number(self.size, ("size",), 1, GROUP_SIZE_MAX)
        check_number(self.start, ("start",), 0, self.size - 1)
        _check_name(self.name)
        object.__setattr__(self, "characters", "".join(dict.fromkeys(characters)))


def _check_name(name: object) -> None:
    if name is not None:
        check_text(name, ("name",), LITERAL_BYTES_MAX)


def _script(words: dict[str, int], wanted: str | None) -> str:
    """Return the script of all characters of the words; refuse a character of another one."""
    if wanted is not None:
        check_text(wanted, ("script",), LITERAL_BYTES_MAX)
    characters = "".join(dict.fromkeys("".join(words)))
    script_of = dict(zip(characters, scripts_of(characters), strict=True))
    script = script_of[characters[0]]
    if wanted is not None and _plain(wanted) != _plain(script):
        script = wanted  # The loop below refuses the first word.
    for word, at in words.items():
        for character in word:
            found = script_of[character]
            if found in NO_SCRIPTS:
                refuse(
                    ("words", at),
                    f"{quote(word)} contains {quote(character)}, which belongs to no script; "
                    "move the word to keep",
                )
            if found != script:
                refuse(
                    ("words", at),
                    f"{quote(word)} contains {quote(character)} of the script {found}, but the "
                    f"script of the lexicon is {script}; remove the word, or move it to keep",
                )
    return script


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace(" ", "").replace("-", "")
