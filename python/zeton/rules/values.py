"""Single values of rules, read friendly and refused by a line that says where they are."""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn, TypeAlias, TypeVar

from zeton.errors import RulesError
from zeton.suggest import did_you_mean
from zeton.text.escape import visible

__all__ = [
    "Where",
    "choice",
    "flag",
    "inside",
    "known",
    "number",
    "refuse",
    "shown",
    "text",
    "texts",
]

Where: TypeAlias = tuple[str | int, ...]
"""The way to a place: `("isolate", 0, "regex")`."""

T = TypeVar("T")

SHOWN = 60
"""Characters of a value that a message shows."""


def refuse(where: Where, what: str) -> NoReturn:
    """Refuse what is at a place, by a line that begins with it."""
    raise RulesError(f"{way(where)} {what}".lstrip(), where)


@contextmanager
def inside(*where: str | int) -> Iterator[None]:
    """Let what is refused inside a part say where that part is."""
    try:
        yield
    except RulesError as error:
        raise RulesError(f"{way(where)}.{error}", (*where, *error.where)) from None


def way(where: Where) -> str:
    """Write the way to a place.

    >>> way(("isolate", 0, "regex"))
    'isolate[0].regex'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{visible(step)}" for step in where)
    return "".join(steps).removeprefix(".")


def shown(value: object) -> str:
    """Write a value as JSON has it, a long one shortened."""
    try:
        written = json.dumps(value, ensure_ascii=False)
        written.encode()
    except (TypeError, ValueError):  # A lone surrogate, or no JSON at all.
        written = ascii(value)
    return written if len(written) <= SHOWN else written[: SHOWN - 1] + "…"


def text(value: object, where: Where, bytes_max: int) -> str:
    """Take a text that is not empty and that UTF-8 can spell."""
    if not isinstance(value, str):
        refuse(where, f"is {shown(value)}; it is a text")
    if not value:
        refuse(where, "is empty; leave it out, or say what it is")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        refuse(where, f"is {shown(value)}, with a lone surrogate; no text has one, leave it out")
    if size > bytes_max:
        refuse(where, f"{shown(value)} has {size} bytes; at most {bytes_max} are allowed")
    return value


def texts(values: object, where: Where, bytes_max: int) -> dict[str, int]:
    """Take several texts with the places where they come first; one alone need not be in a list."""
    if isinstance(values, str):
        values = (values,)
    if not isinstance(values, Iterable) or isinstance(values, (bytes, dict)):
        refuse(where, f"is {shown(values)}; it is a list of texts")
    found: dict[str, int] = {}
    for at, value in enumerate(values):
        found.setdefault(text(value, (*where, at), bytes_max), at)
    return found


def flag(value: object, where: Where) -> bool:
    """Take true or false."""
    if not isinstance(value, bool):
        refuse(where, f"is {shown(value)}; it is true or false")
    return value


def number(value: object, where: Where, least: int, most: int) -> int:
    """Take a whole number of a range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        refuse(where, f"is {shown(value)}; it is a number from {least} to {most}")
    return value


def choice(value: T, where: Where, choices: Iterable[T]) -> T:
    """Take one of a few values; true and 1 are not the same."""
    known = list(choices)
    for one in known:
        if type(one) is type(value) and one == value:
            return one
    listed = ", ".join(shown(one) for one in known)
    refuse(where, f"is {shown(value)}; it is one of {listed}")


def known(keys: Iterable[object], names: Iterable[str], where: Where = ()) -> None:
    """Refuse a key that means nothing, naming the one that may have been meant."""
    names = list(names)
    for key in keys:
        if key not in names:
            refuse((*where, str(key)), f"is no rule{did_you_mean(key, names)}")
