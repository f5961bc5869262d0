"""Checks of single values in rules; each error begins with the place of the value.

For example, `Rules(isolate=[""])` raises `isolate[0].regex is empty; …`.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeAlias, TypeVar

from zeton.errors import RulesError
from zeton.suggest import did_you_mean
from zeton.text.escape import visible

__all__ = [
    "Where",
    "at_place",
    "check_choice",
    "check_flag",
    "check_keys",
    "check_number",
    "check_text",
    "check_texts",
    "format_place",
    "quote",
    "refuse",
]

Where: TypeAlias = tuple[str | int, ...]
"""The path to a place: `("isolate", 0, "regex")`."""

T = TypeVar("T")

SHOWN = 60
"""Characters of a value that a message shows."""


def refuse(where: Where, problem: str) -> NoReturn:
    """Raise a `RulesError` whose message begins with the place."""
    raise RulesError(f"{format_place(where)} {problem}".lstrip(), where)


@contextmanager
def at_place(*where: str | int) -> Iterator[None]:
    """Prefix the errors of a part with the place of the part."""
    try:
        yield
    except RulesError as error:
        raise RulesError(f"{format_place(where)}.{error}", (*where, *error.where)) from None


def format_place(where: Where) -> str:
    """Write the path to a place.

    >>> format_place(("isolate", 0, "regex"))
    'isolate[0].regex'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{visible(step)}" for step in where)
    return "".join(steps).removeprefix(".")


def quote(value: object) -> str:
    """Write a value as JSON on one line, a long one shortened.

    >>> quote("a b"), quote(True)
    ('"a b"', 'true')
    """
    try:
        written = json.dumps(value, ensure_ascii=False)
        written.encode()
    except (TypeError, ValueError):  # A lone surrogate, or a type that JSON does not have.
        written = ascii(value)
    return written if len(written) <= SHOWN else written[: SHOWN - 1] + "…"


def check_text(value: object, where: Where, bytes_max: int) -> str:
    """Return a str that is not empty and has a UTF-8 encoding of at most `bytes_max` bytes."""
    if not isinstance(value, str):
        refuse(where, f"is {quote(value)}; it must be a string")
    if not value:
        refuse(where, "is empty; remove it, or give at least one character")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        refuse(where, f"is {quote(value)}, which holds a lone surrogate; remove the surrogate")
    if size > bytes_max:
        refuse(where, f"{quote(value)} has {size} bytes; at most {bytes_max} are allowed")
    return value


def check_texts(values: object, where: Where, bytes_max: int) -> dict[str, int]:
    """Return strs with the index of their first occurrence; a single str counts as a list."""
    if isinstance(values, str):
        values = (values,)
    if not isinstance(values, Iterable) or isinstance(values, (bytes, dict)):
        refuse(where, f"is {quote(values)}; it must be a list of strings")
    found: dict[str, int] = {}
    for at, value in enumerate(values):
        found.setdefault(check_text(value, (*where, at), bytes_max), at)
    return found


def check_flag(value: object, where: Where) -> bool:
    """Return a bool."""
    if not isinstance(value, bool):
        refuse(where, f"is {quote(value)}; it must be true or false")
    return value


def check_number(value: object, where: Where, least: int, most: int) -> int:
    """Return an int from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        refuse(where, f"is {quote(value)}; it must be a whole number from {least} to {most}")
    return value


def check_choice(value: T, where: Where, choices: Iterable[T]) -> T:
    """Return one of a few values; true and 1 are different values."""
    known = list(choices)
    for one in known:
        if type(one) is type(value) and one == value:
            return one
    refuse(where, f"is {quote(value)}; it must be one of {', '.join(map(quote, known))}")


def check_keys(keys: Iterable[object], names: Iterable[str], where: Where = ()) -> None:
    """Refuse a key that does not exist, with the nearest one that does."""
    names = list(names)
    for key in keys:
        if key not in names:
            refuse((*where, str(key)), f"is an unknown key{did_you_mean(key, names)}")
