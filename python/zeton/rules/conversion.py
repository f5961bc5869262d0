"""Conversion of the parts of rules from the forms that `Rules` accepts.

For example, an isolate may be an `Isolate`, a mapping of its fields, or its regex alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeAlias, TypeVar

from zeton.rules.checks import Where, at_place, check_keys, check_texts, quote, refuse
from zeton.rules.parts import LITERAL_BYTES_MAX, Group, Isolate, Lexicon

__all__ = ["AnyGroups", "AnyIsolates", "AnyLexicons", "groups", "isolates", "lexicons", "literals"]

Fields: TypeAlias = Mapping[str, Any]
AnyIsolates: TypeAlias = Isolate | str | Fields | Iterable[Isolate | str | Fields]
AnyLexicons: TypeAlias = Lexicon | Fields | Iterable[str] | Iterable[Lexicon | Fields]
AnyGroups: TypeAlias = Group | Fields | Iterable[Group | Fields]

Part = TypeVar("Part", Isolate, Lexicon, Group)


def literals(keep: object, keep_words: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Convert the literals of `keep` and `keep_words`; no literal may be in both."""
    kept = check_texts(keep, ("keep",), LITERAL_BYTES_MAX)
    words = check_texts(keep_words, ("keep_words",), LITERAL_BYTES_MAX)
    for word, at in words.items():
        if word in kept:
            also = f"{quote(word)} is also keep[{kept[word]}]"
            refuse(("keep_words", at), f"{also}; keep covers it everywhere, so remove one")
    return tuple(kept), tuple(words)


def isolates(value: AnyIsolates) -> tuple[Isolate, ...]:
    """Convert isolates; a str is a regex."""
    several = [value] if isinstance(value, (str, Isolate, Mapping)) else _listed(value, "isolate")
    named = ({"regex": one} if isinstance(one, str) else one for one in several)
    return _parts(named, "isolate", Isolate)


def lexicons(value: AnyLexicons) -> tuple[Lexicon, ...]:
    """Convert lexicons; a list of words is one lexicon."""
    one = isinstance(value, (Lexicon, Mapping))
    several: list[Any] = [value] if one else _listed(value, "lexicon")
    if several and all(isinstance(word, str) for word in several):
        several = [{"words": several}]
    return _parts(several, "lexicon", Lexicon)


def groups(value: AnyGroups) -> tuple[Group, ...]:
    """Convert groups."""
    one = isinstance(value, (Group, Mapping))
    return _parts([value] if one else _listed(value, "groups"), "groups", Group)


def _listed(value: object, name: str) -> list[Any]:
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes)):
        refuse((name,), f"is {quote(value)}; it must be a list")
    return list(value)


def _parts(value: Iterable[object], name: str, kind: type[Part]) -> tuple[Part, ...]:
    found: list[Part] = []
    for at, part in enumerate(value):
        if isinstance(part, kind):
            found.append(part)
        elif isinstance(part, Mapping):
            found.append(_part(part, (name, at), kind))
        else:
            expected = f"a zeton.rules.{kind.__name__} or a mapping of its fields"
            refuse((name, at), f"is {quote(part)}; it must be {expected}")
    return tuple(found)


def _part(values: Fields, where: Where, kind: type[Part]) -> Part:
    check_keys(values, [field.name for field in fields(kind)], where)
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            refuse(where, f"has no {field.name}; add one")
    with at_place(*where):
        return kind(**values)
