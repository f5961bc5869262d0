"""Display of rules: plain values for JSON, a short repr, and lines for `zeton info`."""

from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from zeton.rules.parts import Group, Isolate, Lexicon

if TYPE_CHECKING:
    from zeton.rules.value import Rules

__all__ = ["non_defaults", "rule_lines", "short_repr", "to_plain"]

LISTED = 3
"""Values that are displayed of a long list."""


def non_defaults(rules: "Rules") -> dict[str, Any]:
    """Return the fields that differ from their defaults, in order; with a pattern, no base."""
    found = {field.name: (getattr(rules, field.name), field.default) for field in fields(rules)}
    if rules.pattern is not None:
        del found["base"]
    return {name: value for name, (value, default) in found.items() if value != default}


def to_plain(rules: "Rules") -> dict[str, Any]:
    """Return the rules as values that JSON can write, in the order of the fields."""
    values = {"rules": 1, **non_defaults(rules)}
    return {
        name: [_plain_part(part) for part in value] if isinstance(value, tuple) else value
        for name, value in values.items()
    }


def _plain_part(part: Any) -> Any:  # noqa: ANN401 - a literal or a part.
    if isinstance(part, str):
        return part
    if isinstance(part, Lexicon):
        path = {} if part.path == "longest" else {"path": part.path}
        return {"script": part.script, "words": list(part.words), **path}
    pairs = ((field, getattr(part, field.name)) for field in fields(part))
    return {field.name: value for field, value in pairs if value != field.default}


def short_repr(rules: "Rules") -> str:
    """Write rules on one line; long lists are cut, with the number of values left out."""
    parts = (f"{name}={_brief(value)}" for name, value in non_defaults(rules).items())
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
    """Yield a name and a line for each rule; long lists by their length and first values."""
    yield "base", str(rules.base or ("none" if rules.pattern is None else "a pattern"))
    for name, value in non_defaults(rules).items():
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
