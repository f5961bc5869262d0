"""Rules as text: one line for the engine, JSON and TOML for people; the line of an error.

For example, `Rules(digits=3)` is `{"rules":1,"digits":3}` for the engine.
"""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from zeton.errors import RulesError
from zeton.rules.checks import Where, check_keys, quote, refuse

__all__ = ["Kind", "line_of", "read", "spell", "to_json", "to_toml", "where_of"]

VERSION = 1

Kind: TypeAlias = Literal["json", "toml"]

DOTS_MAX = 64
KEY = re.compile(r"^[\w\-.\[ ]+", re.MULTILINE)


def spell(rules: Mapping[str, Any]) -> str:
    """Write rules on one line."""
    return json.dumps(rules, ensure_ascii=False, separators=(",", ":"))


def to_json(rules: Mapping[str, Any]) -> str:
    """Write rules as JSON, one value on each line."""
    return json.dumps(rules, ensure_ascii=False, indent=2) + "\n"


def to_toml(rules: Mapping[str, Any]) -> str:
    """Write rules as TOML: first the plain values, then one table for each part."""
    tables = ("isolate", "lexicon", "groups")
    lines = [_pair(name, value) for name, value in rules.items() if name not in tables]
    for name in tables:
        for part in rules.get(name, ()):
            lines += ["", f"[[{name}]]", *(_pair(*pair) for pair in part.items())]
    return "\n".join(lines) + "\n"


def _pair(name: str, value: object) -> str:
    return f"{name} = {_value(value)}"


def _value(value: object) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _string(value)
    if not isinstance(value, Sequence):
        raise TypeError(f"TOML has no {type(value).__name__}")
    listed = ", ".join(map(_value, value))
    if len(listed) <= 80:
        return f"[{listed}]"
    return "".join(["[\n", *(f"  {_value(one)},\n" for one in value), "]"])


def _string(value: str) -> str:
    r"""Write a str as TOML; a str with a backslash becomes a literal string in single quotes.

    >>> print(_string(r"\d+"), _string("it's"), _string("a\nb\x7f"))
    '\d+' "it's" "a\nb\u007f"
    """
    if re.fullmatch(r"[^'\x00-\x1f\x7f]*\\[^'\x00-\x1f\x7f]*", value):
        return f"'{value}'"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def read(text: str, kind: Kind, names: Sequence[str]) -> dict[str, Any]:
    """Read the fields of rules; an unknown key or a duplicate key is an error."""
    # tomllib takes memory quadratic in the depth of dotted keys.
    if kind == "toml" and any(key.count(".") > DOTS_MAX for key in KEY.findall(text)):
        raise RulesError(f"a key has more than {DOTS_MAX} dots; rules are not nested that deep")
    try:
        found = (
            json.loads(text, object_pairs_hook=_without_doubles)
            if kind == "json"
            else tomllib.loads(text)
        )
    except RulesError:
        raise
    except json.JSONDecodeError as error:
        raise RulesError(
            f"line {error.lineno}: this is not valid JSON: {error.msg} at column {error.colno}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise RulesError(_toml_message(error)) from None
    except (ValueError, RecursionError) as error:
        raise RulesError(f"this is not valid {kind.upper()}: {error}") from None
    if not isinstance(found, dict):
        raise RulesError(f"the rules are {quote(found)}; they must be a JSON object")
    version = found.pop("rules", VERSION)
    if version != VERSION or isinstance(version, bool):
        refuse(("rules",), f"is {quote(version)}; this zeton reads version {VERSION} of rules")
    check_keys(found, names)
    for name, value in found.items():
        if value is None and name != "base":
            refuse((name,), "is null; remove it to get the default")
    return found


def _toml_message(error: tomllib.TOMLDecodeError) -> str:
    """Return a message with the line first; for the most frequent mistake, with its fix."""
    problem, line, column = str(error), "", ""
    if found := re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", problem):
        problem, line, column = found[1], f"line {found[2]}: ", f" at column {found[3]}"
    hint = r"; write a regex as '\d+', in single quotes" if "Unescaped" in problem else ""
    return f"{line}this is not valid TOML: {problem}{column}{hint}"


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            refuse((key,), "is given twice; remove one")
        found[key] = value
    return found


# ---- the line of a place ----

# An unterminated string extends to the end of the text, so no character is read twice.
TOKEN = re.compile(
    r'''(?P<skip>\s+|\#[^\n]*)|(?P<string>"""(?s:.*?)(?:"""|\Z)|\'\'\'(?s:.*?)(?:\'\'\'|\Z)'''
    r"""|"(?s:[^"\\]|\\.)*+"?|'[^']*+'?)|(?P<sign>[][{},:=])|(?P<word>[^][{},:=\s"'#]+)"""
)

Token: TypeAlias = tuple[str, int]
"""The text of a token, and its position."""


def where_of(message: str) -> Where:
    """Return the place at the start of a message, or () if the message has none.

    >>> where_of('lexicon[0].words[2]: "…" is not of the script')
    ('lexicon', 0, 'words', 2)
    """
    found = re.match(r"[a-z_]+(?:\[\d+\]|\.[a-z_]+)*(?=[ :])", message)
    steps = re.findall(r"\d+|[a-z_]+", found.group()) if found else []
    return tuple(int(step) if step.isdigit() else step for step in steps)


def line_of(text: str, kind: Kind, where: Where) -> int | None:
    """Return the line of a place in JSON or TOML, or of the innermost place around it."""
    if not where:
        return None
    places: dict[Where, int] = {}
    try:
        tokens = _Tokens(text)
        if kind == "json":
            tokens.value((), places)
        else:
            tokens.tables(places)
    except (IndexError, RecursionError):
        pass  # The places up to the mistake are right.
    for length in range(len(where), 0, -1):
        if where[:length] in places:
            return text.count("\n", 0, places[where[:length]]) + 1
    return None


class _Tokens:
    """A reader of the tokens of JSON or TOML, for the positions of values."""

    def __init__(self, text: str) -> None:
        found = (match for match in TOKEN.finditer(text) if match.lastgroup != "skip")
        self.left: list[Token] = [(match.group(), match.start()) for match in found][::-1]

    def next(self, expected: str = "") -> bool:
        """Take the next token if it is the expected one."""
        if self.left[-1][0] != expected:
            return False
        self.left.pop()
        return True

    def key(self) -> tuple[str, int]:
        """Take a key."""
        written, at = self.left.pop()
        return written.strip("\"'"), at

    def value(self, where: Where, places: dict[Where, int]) -> None:
        """Take a value, and record the positions of it and of all values in it."""
        written, at = self.left.pop()
        places.setdefault(where, at)
        if written == "{":
            while not self.next("}"):
                name, place = self.key()
                places[(*where, name)] = place
                self.left.pop()
                self.value((*where, name), places)
                self.next(",")
        elif written == "[":
            index = 0
            while not self.next("]"):
                self.value((*where, index), places)
                self.next(",")
                index += 1

    def tables(self, places: dict[Where, int]) -> None:
        """Take the pairs and headers of TOML."""
        table: Where = ()
        counts: Counter[str] = Counter()
        while self.left:
            if self.next("["):
                several = self.next("[")
                name, at = self.key()
                table = (name, counts[name]) if several else (name,)
                counts[name] += several
                places.setdefault((name,), at)
                places[table] = at
                while self.next("]"):
                    if not self.left:
                        return
            else:
                name, at = self.key()
                places[(*table, name)] = at
                self.left.pop()
                self.value((*table, name), places)
