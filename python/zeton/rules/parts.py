"""What rules are made of beside knobs: isolates, lexicons, groups. They are valid and stay so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from zeton._engine import scripts_of
from zeton.rules.values import choice, flag, number, refuse, shown, text, texts

__all__ = ["GROUP_SIZE_MAX", "LITERAL_BYTES_MAX", "REGEX_BYTES_MAX", "Group", "Isolate", "Lexicon"]

LITERAL_BYTES_MAX = 1 << 10
"""Bytes of a literal or a word."""

REGEX_BYTES_MAX = 1 << 16
"""Bytes of a regex."""

GROUP_SIZE_MAX = 1 << 10
"""Characters of a group."""

NO_SCRIPTS = ("Common", "Inherited", "Unknown")
"""What the characters have that belong to no script of their own."""


@dataclass(frozen=True)
class Isolate:
    r"""A regex whose matches are pieces of their own.

    >>> Isolate(r"\d{4}-\d\d-\d\d", "date", whole_word=True)
    Isolate(regex='\\d{4}-\\d\\d-\\d\\d', name='date', whole_word=True)
    """

    regex: str
    name: str | None = None
    """What the rule is called where it is shown."""
    whole_word: bool = False
    """Whether it matches only where no word character stands right before or after."""

    def __post_init__(self) -> None:
        """Refuse what is no isolate; whether the regex can be used, the engine says."""
        text(self.regex, ("regex",), REGEX_BYTES_MAX)
        _check_name(self.name)
        flag(self.whole_word, ("whole_word",))


@dataclass(frozen=True)
class Lexicon:
    """Words of a script that is written without spaces; runs of that script are cut into them.

    >>> Lexicon(["แมว", "กิน", "ปลา"]).script
    'Thai'
    """

    words: Sequence[str]
    script: str | None = None
    """The script, by its Unicode name; that of the words if it is left out."""
    path: Literal["longest", "fewest"] = "longest"
    """The longest word from the left, or the way with the fewest parts."""

    def __post_init__(self) -> None:
        """Take the words; refuse one that is not of the script."""
        words = texts(self.words, ("words",), LITERAL_BYTES_MAX)
        if not words:
            refuse(("words",), "is empty; a lexicon has words")
        choice(self.path, ("path",), ("longest", "fewest"))
        object.__setattr__(self, "words", tuple(words))
        object.__setattr__(self, "script", _script(words, self.script))


@dataclass(frozen=True)
class Group:
    """Characters whose runs are cut every `size` characters, as codons are.

    `start` characters come first on their own: a reading frame.
    """

    characters: str
    size: int
    start: int = 0
    name: str | None = None
    """What the rule is called where it is shown."""

    def __post_init__(self) -> None:
        """Take the characters, also from a list, each once."""
        characters = self.characters
        if not isinstance(characters, str) and isinstance(characters, Iterable):
            characters = "".join(texts(characters, ("characters",), LITERAL_BYTES_MAX))
        text(characters, ("characters",), REGEX_BYTES_MAX)
        number(self.size, ("size",), 1, GROUP_SIZE_MAX)
        number(self.start, ("start",), 0, self.size - 1)
        _check_name(self.name)
        object.__setattr__(self, "characters", "".join(dict.fromkeys(characters)))


def _check_name(name: object) -> None:
    if name is not None:
        text(name, ("name",), LITERAL_BYTES_MAX)


def _script(words: dict[str, int], given: str | None) -> str:
    """Return the script that all characters of the words have, or refuse the first that has not."""
    if given is not None:
        text(given, ("script",), LITERAL_BYTES_MAX)
    characters = "".join(dict.fromkeys("".join(words)))
    script_of = dict(zip(characters, scripts_of(characters), strict=True))
    script = script_of[characters[0]]
    if given is not None and _plain(given) != _plain(script):
        script = given  # The first word is refused, below.
    for word, at in words.items():
        for character in word:
            found = script_of[character]
            if found in NO_SCRIPTS:
                refuse(
                    ("words", at),
                    f"{shown(word)} has {shown(character)}, which is of no script; "
                    f"a word that has it can be in keep",
                )
            if found != script:
                refuse(
                    ("words", at),
                    f"{shown(word)} has {shown(character)} of the script {found}, and the script "
                    f"is {script}; a lexicon is of one script",
                )
    return script


def _plain(name: str) -> str:
    return name.casefold().replace("_", "").replace(" ", "").replace("-", "")
