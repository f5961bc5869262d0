"""`Rules`: a structured value in place of a pattern (a pre-tokenizer regex)."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from zeton._engine import check_rules
from zeton.errors import PatternError, RulesError
from zeton.pattern.spec import is_rules
from zeton.rules import spelling
from zeton.rules.checks import check_choice, check_flag, check_text, quote, refuse
from zeton.rules.contradictions import check_contradictions
from zeton.rules.conversion import (
    AnyGroups,
    AnyIsolates,
    AnyLexicons,
    groups,
    isolates,
    lexicons,
    literals,
)
from zeton.rules.display import short_repr, to_plain
from zeton.rules.parts import REGEX_BYTES_MAX, Group, Isolate, Lexicon
from zeton.work.files import read_whole, require_path, write_whole

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["Rules"]

Base: TypeAlias = Literal["nanochat", "gpt2", "cl100k", "o200k"]

DIGITS_MAX = 16

FILE_BYTES_MAX = 1 << 26
"""Bytes of a file of rules: twice the bound of rules as one line of JSON."""

CHOICES: dict[str, tuple[object, ...]] = {
    "base": ("nanochat", "gpt2", "cl100k", "o200k"),
    "contractions": ("none", "apart", "joined"),
    "leading_space": (False, True, "sign"),
    "newlines": ("space", "run", "apart"),
    "marks": (False, True),
    "case": ("ignore", "split", "words"),
    "underscores": ("sign", "alone", "letter"),
}
"""The values of knobs, beside None for the value of the base."""

NO_PATTERN = ("scripts", "keep", "keep_words", "isolate", "lexicon", "groups")
NO_PATTERN_HAS = (("digits_from", "right"), ("case", "words"), ("underscores", "alone"))
"""The fields and values that a regex cannot express."""


class _DefaultBase(str):
    """The default of `base`, different from the same str passed by a caller."""

    __slots__ = ()


NANOCHAT: Any = _DefaultBase("nanochat")


@dataclass(frozen=True, init=False, repr=False)
class Rules:
    """Rules that split text into pieces: a known grammar with knobs, and rules before it.

    >>> rules = Rules(base="cl100k", digits=1, keep_words=["BRCA1", "New York"])
    >>> rules
    Rules(base='cl100k', digits=1, keep_words=('BRCA1', 'New York'))
    >>> rules == Rules.from_json(rules.to_json())
    True
    """

    base: Base | None = "nanochat"
    """A known grammar; None leaves text between the matches of other rules in one piece."""
    pattern: str | None = None
    """A regex in place of a known grammar."""
    digits: int | Literal["any"] | None = None
    """The largest number of digits in a piece. None, here and below, is the value of the base."""
    digits_from: Literal["left", "right"] = "left"
    """The end from which a long number is cut."""
    contractions: Literal["none", "apart", "joined"] | None = None
    """Whether `'s` is a piece ("apart") or part of its word ("joined"); False is "none"."""
    leading_space: Literal["sign"] | bool | None = None
    """The character that belongs to the next word: a space, any sign or space, or none."""
    newlines: Literal["space", "run", "apart"] | None = None
    """Newlines as other white space, as ends of pieces after signs, or as pieces apart."""
    marks: bool | None = None
    r"""Whether `\p{M}` belongs to words."""
    case: Literal["ignore", "split", "words"] | None = None
    """Whether camelCase is cut, and ALLCAPSWord too; False is "ignore", True is "words"."""
    underscores: Literal["sign", "alone", "letter"] | None = None
    """Underscores as other signs, as pieces of their own, or as letters."""
    scripts: bool = False
    """Whether a piece ends where the script of its letters changes."""
    keep: tuple[str, ...] = ()
    """Literals that are one piece wherever they occur."""
    keep_words: tuple[str, ...] = ()
    """Literals that are one piece where they are whole words."""
    keep_space: bool = False
    """Whether one space before a match of `keep`, `keep_words` or `isolate` belongs to it."""
    isolate: tuple[Isolate, ...] = ()
    """Regexes; each match is a piece."""
    lexicon: tuple[Lexicon, ...] = ()
    """Words of scripts that are written without spaces."""
    groups: tuple[Group, ...] = ()
    """Characters whose runs are cut into groups of one size."""

    def __init__(
        self,
        *,
        base: Base | Literal["none"] | None = NANOCHAT,
        pattern: str | None = None,
        digits: int | Literal["any"] | None = None,
        digits_from: Literal["left", "right"] = "left",
        contractions: Literal["none", "apart", "joined", False] | None = None,
        leading_space: Literal["sign"] | bool | None = None,
        newlines: Literal["space", "run", "apart"] | None = None,
        marks: bool | None = None,
        case: Literal["ignore", "split", "words"] | bool | None = None,
        underscores: Literal["sign", "alone", "letter"] | None = None,
        scripts: bool = False,
        keep: str | Iterable[str] = (),
        keep_words: str | Iterable[str] = (),
        keep_space: bool = False,
        isolate: AnyIsolates = (),
        lexicon: AnyLexicons = (),
        groups: AnyGroups = (),
    ) -> None:
        """Convert the arguments, and check each alone and all together."""
        kept, kept_words = literals(keep, keep_words)
        self._settle(
            base=_base(base, pattern),
            pattern=None if pattern is None else check_text(pattern, ("pattern",), REGEX_BYTES_MAX),
            digits=digits if digits is None or digits == "any" else _digits(digits),
            digits_from=check_choice(digits_from, ("digits_from",), ("left", "right")),
            contractions="none" if contractions is False else contractions,
            leading_space=leading_space,
            newlines=newlines,
            marks=marks,
            case=("words" if case else "ignore") if isinstance(case, bool) else case,
            underscores=underscores,
            scripts=check_flag(scripts, ("scripts",)),
            keep=kept,
            keep_words=kept_words,
            keep_space=check_flag(keep_space, ("keep_space",)),
            isolate=isolates(isolate),
            lexicon=lexicons(lexicon),
            groups=_groups(groups),
        )

    def _settle(self, **values: object) -> None:
        """Set the fields, and check them together."""
        for name, value in values.items():
            if name in CHOICES and value is not None:
                check_choice(value, (name,), CHOICES[name])
            object.__setattr__(self, name, value)
        check_contradictions(self)
        try:
            check_rules(self.spelled)
        except PatternError as error:
            message = str(error).removeprefix("the rules cannot be used: ")
            raise RulesError(message, spelling.where_of(message)) from None

    @cached_property
    def spelled(self) -> str:
        r"""The rules as one line of JSON without defaults, for use in place of a pattern.

        >>> Rules(digits=3, isolate=[r"\d+:\d+"]).spelled
        '{"rules":1,"digits":3,"isolate":[{"regex":"\\\\d+:\\\\d+"}]}'
        """
        return spelling.spell(to_plain(self))

    def to_json(self) -> str:
        """Write the rules as JSON that people can read."""
        return spelling.to_json(to_plain(self))

    def to_toml(self) -> str:
        """Write the rules as TOML."""
        return spelling.to_toml(to_plain(self))

    @classmethod
    def from_json(cls, text: str) -> "Rules":
        """Read rules from JSON; a key that is left out has its default."""
        return cls._from(text, "json")

    @classmethod
    def from_toml(cls, text: str) -> "Rules":
        """Read rules from TOML; a key that is left out has its default. `base = "none"` is None."""
        return cls._from(text, "toml")

    @classmethod
    def _from(cls, text: str, kind: spelling.Kind) -> "Rules":
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, not {type(text).__name__}")
        try:
            return cls(**spelling.read(text, kind, [field.name for field in fields(cls)]))
        except RulesError as error:
            line = spelling.line_of(text, kind, error.where)
            place = "" if line is None else f"line {line}: "
            raise RulesError(f"{place}{error}", error.where) from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Rules":
        """Read a `.json` or `.toml` file; an error names the line where possible."""
        source = require_path(path)
        kind = _kind(source)
        try:
            return cls._from(read_whole(source, FILE_BYTES_MAX).decode("utf-8-sig"), kind)
        except UnicodeDecodeError as error:
            raise RulesError(
                f"{source} is not UTF-8 at byte {error.start}; save it as UTF-8"
            ) from None
        except RulesError as error:
            raise RulesError(f"{source}: {error}", error.where) from None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a `.json` or `.toml` file atomically; return its path."""
        target = require_path(path)
        content = self.to_json() if _kind(target) == "json" else self.to_toml()
        write_whole(target, content.encode())
        return target

    @classmethod
    def of(cls, source: Any) -> "Rules | None":  # noqa: ANN401 - the tokenizer imports this module.
        """Return the rules of a tokenizer or of its pattern; None if the pattern is a regex.

        >>> Rules.of('{"rules":1,"base":"gpt2"}')
        Rules(base='gpt2')
        """
        pattern = source if isinstance(source, str) else source.pattern
        return cls.from_json(pattern) if is_rules(pattern) else None

    def split(self, text: str | bytes) -> list[bytes]:
        """Split a text into the pieces of a tokenizer with these rules.

        >>> Rules(keep_words=["BRCA1"]).split("BRCA1, BRCA12")
        [b'BRCA1', b',', b' BRCA', b'12']
        """
        return _tokenizer(self.spelled).split(text)

    def as_pattern(self) -> str:
        r"""Return the regex with the same pieces, for libraries without rules.

        >>> Rules(base="gpt2", contractions=False, digits=3).as_pattern()
        ' ?\\p{L}+| ?\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]++|\\s++$|\\s+(?!\\S)|\\s+'
        """
        more = [name for name in NO_PATTERN if getattr(self, name)]
        more += [
            f'{name}="{value}"' for name, value in NO_PATTERN_HAS if getattr(self, name) == value
        ]
        if self.base is None and self.pattern is None:
            more.append("base=None")
        pattern = None if more else check_rules(self.spelled)
        if pattern is None:
            raise RulesError(
                f"the rules have {', '.join(more)}, which a regex cannot express; "
                "remove them to get a pattern"
            )
        return pattern

    def __repr__(self) -> str:
        """Write the fields that differ from their defaults; long lists are cut."""
        return short_repr(self)


_groups = groups  # The name is also a parameter.


@lru_cache(maxsize=4)
def _tokenizer(spelled: str) -> "Tokenizer":
    from zeton.tokenizer import Tokenizer  # noqa: PLC0415 - it imports this module.

    return Tokenizer({bytes([byte]): byte for byte in range(256)}, pattern=spelled)


def _base(base: str | None, pattern: str | None) -> str | None:
    if base is NANOCHAT:
        return None if pattern is not None else "nanochat"
    if base == "none":  # TOML has no null.
        return None
    if base is not None and pattern is not None:
        refuse(("pattern",), f"replaces the base, but base is {quote(base)}; remove one of them")
    return base


def _digits(digits: object) -> int:
    if type(digits) is not int or not 1 <= digits <= DIGITS_MAX:
        refuse(
            ("digits",), f'is {quote(digits)}; it must be a number from 1 to {DIGITS_MAX}, or "any"'
        )
    return digits


def _kind(path: Path) -> spelling.Kind:
    if path.suffix not in {".json", ".toml"}:
        raise RulesError(
            f"the name of a file of rules ends in .json or .toml, not in {path.suffix!r}: {path}"
        )
    return "json" if path.suffix == ".json" else "toml"
