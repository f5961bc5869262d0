"""Suggestions for a name that is nearly right, for every message that refuses a name."""

from collections.abc import Iterable

__all__ = ["did_you_mean", "nearest"]

SHOWN_MAX = 12
"""Names that a message lists; a longer list hides the one that matters."""


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is nearest to a given one, or None if none is near.

    Case, blanks, `-` and `_` do not count, and the beginning of one known name only is near.

    >>> nearest("cl100k", ["cl100k_base", "o200k_base"])
    'cl100k_base'
    >>> nearest("CL100K-base", ["cl100k_base", "o200k_base"])
    'cl100k_base'
    >>> nearest("specails", ["specials", "pattern"])
    'specials'
    >>> nearest("utf-8", ["specials", "pattern"])
    """
    folded: dict[str, str] = {}
    for each in known:
        folded.setdefault(_folded(each), each)
    wanted = _folded(str(name))
    if wanted in folded:
        return folded[wanted]
    beginnings = [each for key, each in folded.items() if wanted and key.startswith(wanted)]
    if len(beginnings) == 1:
        return beginnings[0]
    from difflib import get_close_matches  # noqa: PLC0415 - its import takes milliseconds.

    close = get_close_matches(wanted, folded, 1)
    return folded[close[0]] if close else None


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return the end of a message that refuses a name: the nearest one, or the known ones.

    >>> did_you_mean("cl100k", ["cl100k_base", "o200k_base"])
    "; did you mean 'cl100k_base'?"
    >>> did_you_mean("x", ["npy", "bin"])
    "; known are 'npy' and 'bin'"
    >>> did_you_mean("x", [])
    ''
    """
    names = list(known)
    near = nearest(name, names)
    if near is not None:
        return f"; did you mean {near!r}?"
    if not names:
        return ""
    if len(names) > SHOWN_MAX:
        shown = ", ".join(map(repr, names[:SHOWN_MAX]))
        return f"; known are {shown} and {len(names) - SHOWN_MAX} more"
    if len(names) == 1:
        return f"; the only one known is {names[0]!r}"
    return f"; known are {', '.join(map(repr, names[:-1]))} and {names[-1]!r}"


def _folded(name: str) -> str:
    return "".join(c for c in name.casefold() if c not in " -_")
