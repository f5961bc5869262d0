"""Parts of rules in any friendly form: as themselves, as their fields, or by the first alone."""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeAlias, TypeVar

from zeton.rules.parts import LITERAL_BYTES_MAX, Group, Isolate, Lexicon
from zeton.rules.values import Where, inside, known, refuse, shown, texts

__all__ = ["AnyGroups", "AnyIsolates", "AnyLexicons", "groups", "isolates", "lexicons", "literals"]

Fields: TypeAlias = Mapping[str, Any]
AnyIsolates: TypeAlias = Isolate | str | Fields | Iterable[Isolate | str | Fields]
AnyLexicons: TypeAlias = Lexicon | Fields | Iterable[str] | Iterable[Lexicon | Fields]
AnyGroups: TypeAlias = Group | Fields | Iterable[Group | Fields]

Part = TypeVar("Part", Isolate, Lexicon, Group)


def literals(keep: object, keep_words: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Take literals; one that is to be kept everywhere cannot be kept as a word only."""
    kept = texts(keep, ("keep",), LITERAL_BYTES_MAX)
    words = texts(keep_words, ("keep_words",), LITERAL_BYTES_MAX)
    for word, at in words.items():
        if word in kept:
            also = f"{shown(word)} is also keep[{kept[word]}]"
            refuse(("keep_words", at), f"{also}; keep takes it everywhere, so leave one out")
    return tuple(kept), tuple(words)


def isolates(given: AnyIsolates) -> tuple[Isolate, ...]:
    """Take isolates; a plain text is a regex."""
    several = [given] if isinstance(given, (str, Isolate, Mapping)) else _listed(given, "isolate")
    named = ({"regex": one} if isinstance(one, str) else one for one in several)
    return _parts(named, "isolate", Isolate)


def lexicons(given: AnyLexicons) -> tuple[Lexicon, ...]:
    """Take lexicons; plain words are one."""
    one = isinstance(given, (Lexicon, Mapping))
    several: list[Any] = [given] if one else _listed(given, "lexicon")
    if several and all(isinstance(word, str) for word in several):
        several = [{"words": several}]
    return _parts(several, "lexicon", Lexicon)


def groups(given: AnyGroups) -> tuple[Group, ...]:
    """Take groups."""
    one = isinstance(given, (Group, Mapping))
    return _parts([given] if one else _listed(given, "groups"), "groups", Group)


def _listed(given: object, name: str) -> list[Any]:
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        refuse((name,), f"is {shown(given)}; it is a list")
    return list(given)


def _parts(given: Iterable[object], name: str, kind: type[Part]) -> tuple[Part, ...]:
    found: list[Part] = []
    for at, part in enumerate(given):
        if isinstance(part, kind):
            found.append(part)
        elif isinstance(part, Mapping):
            found.append(_made(part, (name, at), kind))
        else:
            refuse((name, at), f"is {shown(part)}; it is of zeton.rules.{kind.__name__}")
    return tuple(found)


def _made(values: Fields, where: Where, kind: type[Part]) -> Part:
    known(values, [field.name for field in fields(kind)], where)
    for field in fields(kind):
        if field.default is MISSING and field.name not in values:
            refuse(where, f"has no {field.name}; it needs one")
    with inside(*where):
        return kind(**values)
