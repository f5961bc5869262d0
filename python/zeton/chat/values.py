"""Values of chats and templates, read from mappings and quoted in error messages."""

from collections.abc import Iterable, Mapping
from itertools import islice

from zeton.errors import ChatError
from zeton.suggest import nearest

__all__ = ["get", "get_text", "join_names", "quote"]

KEYS_MAX = 12
"""Keys of a mapping among which a misspelt one is looked for."""

SHOWN_CHARACTERS = 40
"""Characters of a text that a message shows."""


def get(mapping: object, key: str, where: str) -> object:
    """Return the value of a key, or raise a `ChatError` that names the place.

    >>> get({"role": "user"}, "role", "message 0")
    'user'
    """
    if not isinstance(mapping, Mapping):
        raise ChatError(f"{where} is {quote(mapping)}; it must be a mapping with {key!r}")
    if key not in mapping:
        near = nearest(key, [name for name in islice(mapping, KEYS_MAX) if isinstance(name, str)])
        fix = "add one" if near is None else f"rename its key {quote(near)}"
        raise ChatError(f"{where} has no {key!r}; {fix}")
    return mapping[key]


def get_text(mapping: object, key: str, where: str) -> str:
    """Return the value of a key that must be a str."""
    value = get(mapping, key, where)
    if not isinstance(value, str):
        raise ChatError(f"the {key} of {where} is {quote(value)}; it must be a str")
    return value


def join_names(names: Iterable[str], last: str = "and") -> str:
    """Join names for a message.

    >>> join_names(["system", "user", "tool"], "or")
    "'system', 'user' or 'tool'"
    """
    *first, final = [quote(name) for name in names] or ["nothing"]
    return f"{', '.join(first)} {last} {final}" if first else final


def quote(value: object) -> str:
    """Quote a text in one short line; name the type of any other value, whose repr may be huge.

    >>> quote("a" * 50), quote(5)
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…'", 'of type int')
    """
    if not isinstance(value, str):
        return f"of type {type(value).__name__[:SHOWN_CHARACTERS]}"
    short = value if len(value) <= SHOWN_CHARACTERS else value[: SHOWN_CHARACTERS - 1] + "…"
    return repr(short)
