"""Rules as plain values, as a short repr, and as lines for people."""

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from zeton.rules.parts import Group, Isolate, Lexicon

if TYPE_CHECKING:
    from zeton.rules.value import Rules

__all__ = ["brief", "plain", "rule_lines", "told"]

LISTED = 3
"""How many values of a long list are shown."""


def told(rules: "Rules") -> dict[str, Any]:
    """Return the fields that are not as by default, in their order; with a pattern, no base."""
    found = {field.name: (getattr(rules, field.name), field.default) for field in fields(rules)}
    if rules.pattern is not None:
        del found["base"]
    return {name: value for name, (value, default) in found.items() if value != default}


def plain(rules: "Rules") -> dict[str, Any]:
    """Return what JSON can hold, in the order of the spelling."""
    made = {"rules": 1, **told(rules)}
    return {
        name: [_plain_part(part) for part in value] if isinstance(value, tuple) else value
        for name, value in made.items()
    }


def _plain_part(part: Any) -> Any:  # noqa: ANN401 - a literal, or one of three parts.
    if isinstance(part, str):
        return part
    if isinstance(part, Lexicon):
        path = {} if part.path == "longest" else {"path": part.path}
        return {"script": part.script, "words": list(part.words), **path}
    pairs = ((field, getattr(part, field.name)) for field in fields(part))
    return {field.name: value for field, value in pairs if value != field.default}


def brief(rules: "Rules") -> str:
    """Write rules on a line; of long lists the beginning, and how many more there are."""
    parts = (f"{name}={_brief(value)}" for name, value in told(rules).items())
    return f"Rules({', '.join(parts)})"


def _brief(value: object) -> str:
    if not isinstance(value, tuple):
        return repr(value)
    parts = [_brief_part(part) for part in value[: LISTED + 1]]
    if len(value) > LISTED + 1:
        parts[LISTED] = f"… {len(value) - LISTED} more"
    return f"({', '.join(parts)}{',' if len(value) == 1 else ''})"


def _brief_part(part: object) -> str:
    if isinstance(part, Lexicon):
        path = "" if part.path == "longest" else f", path={part.path!r}"
        return f"Lexicon({_brief(tuple(part.words))}, script={part.script!r}{path})"
    if isinstance(part, (Isolate, Group)):
        values = (f"{name}={value!r}" for name, value in _plain_part(part).items())
        return f"{type(part).__name__}({', '.join(values)})"
    return repr(part)


def rule_lines(rules: "Rules") -> Iterator[tuple[str, str]]:
    """Yield what rules say, a name and a line each; long lists by their length and beginning."""
    yield "base", str(rules.base or ("none" if rules.pattern is None else "a pattern"))
    for name, value in told(rules).items():
        if name == "base":
            continue
        if name in {"keep", "keep_words"}:
            yield name, _counted(value)
        elif isinstance(value, tuple):
            yield from ((name, _line(part)) for part in value)
        else:
            yield name, str(value).lower() if isinstance(value, bool) else str(value)


def _line(part: Isolate | Lexicon | Group) -> str:
    if isinstance(part, Lexicon):
        return f"{part.script}, {part.path}, {_counted(tuple(part.words))}"
    name = "" if part.name is None else f"{part.name}: "
    if isinstance(part, Isolate):
        return f"{name}{part.regex}{' (whole words)' if part.whole_word else ''}"
    start = f", the first of {part.start}" if part.start else ""
    return f"{name}{part.characters} by {part.size}{start}"


def _counted(values: tuple[str, ...]) -> str:
    more = ", …" if len(values) > LISTED else ""
    return f"{len(values)}: {', '.join(values[:LISTED])}{more}"
