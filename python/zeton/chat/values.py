"""What a chat or a template holds, checked and shown in refusals."""

from collections.abc import Iterable, Mapping

from zeton.errors import ChatError

__all__ = ["get", "get_text", "listed", "shown"]


def get(given: object, key: str, where: str) -> object:
    """Return what a mapping must have."""
    if not isinstance(given, Mapping):
        raise ChatError(f'{where} is {shown(given)}; it must be a mapping with "{key}"')
    if key not in given:
        raise ChatError(f'{where} has no "{key}"; it must have one')
    return given[key]


def get_text(given: object, key: str, where: str) -> str:
    """Return the text that a mapping must have."""
    value = get(given, key, where)
    if not isinstance(value, str):
        raise ChatError(f"the {key} of {where} is {shown(value)}; it must be a str")
    return value


def listed(names: Iterable[str]) -> str:
    """Show names; the empty one stands for the beginning of a chat."""
    return ", ".join(shown(name) if name else "the beginning" for name in names)


def shown(value: object) -> str:
    """Show a text in one short line, and anything else by its type: it may be large or run code."""
    if not isinstance(value, str):
        return f"of type {type(value).__name__[:40]}"
    text = repr(value if len(value) <= 40 else value[:39] + "…")[1:-1]
    return f'"{text}"'
