"""Checks of rules against each other.

For example, `Rules(base=None, digits=3)` is an error, because `digits` changes a base.
"""

from typing import TYPE_CHECKING

from zeton._engine import scripts_of
from zeton.rules.checks import format_place, quote, refuse

if TYPE_CHECKING:
    from zeton.rules.value import Rules

__all__ = ["check_contradictions"]

LITERALS_MAX = 1 << 20
"""Literals and words of all rules together."""

ISOLATES_MAX = 256
"""Regexes of `isolate`."""

SPELLED_BYTES_MAX = 1 << 25
"""Bytes of rules as one line of JSON."""


def check_contradictions(rules: "Rules") -> None:
    """Refuse rules that contradict each other or exceed a bound."""
    _check_knobs(rules)
    _check_literals(rules)
    _check_isolates(rules)
    _check_runs(rules)
    size = len(rules.spelled.encode())
    if size > SPELLED_BYTES_MAX:
        refuse((), f"the rules have {size} bytes as JSON; at most {SPELLED_BYTES_MAX} are allowed")


def _check_knobs(rules: "Rules") -> None:
    if rules.digits_from == "right" and not isinstance(rules.digits, int):
        found = "not set" if rules.digits is None else quote(rules.digits)
        refuse(
            ("digits_from",),
            f'is "right", but digits is {found}; set digits to a number from 1 to 16',
        )
    if rules.base is not None:
        return
    reason = "base is None" if rules.pattern is None else "a pattern replaces the base"
    for name in ("digits", "contractions", "leading_space", "newlines", "marks"):
        if getattr(rules, name) is not None:
            refuse((name,), f"changes a base, but {reason}; remove {name}, or give a base")
    finer = {"case": "words", "underscores": "alone"}
    for name, value in finer.items():
        if getattr(rules, name) not in {None, value}:
            found = quote(getattr(rules, name))
            refuse((name,), f'is {found}, but {reason}; without a base it can only be "{value}"')


def _check_literals(rules: "Rules") -> None:
    words = sum(len(lexicon.words) for lexicon in rules.lexicon)
    count = len(rules.keep) + len(rules.keep_words) + words
    if count > LITERALS_MAX:
        refuse((), f"the rules have {count} literals and words; at most {LITERALS_MAX} are allowed")


def _check_isolates(rules: "Rules") -> None:
    if len(rules.isolate) > ISOLATES_MAX:
        refuse(
            ("isolate",), f"has {len(rules.isolate)} regexes; at most {ISOLATES_MAX} are allowed"
        )
    found: dict[tuple[str, bool], int] = {}
    for at, isolate in enumerate(rules.isolate):
        before = found.setdefault((isolate.regex, isolate.whole_word), at)
        if before != at:
            refuse(("isolate", at), f"equals {format_place(('isolate', before))}; remove one")


def _check_runs(rules: "Rules") -> None:
    owner: dict[str, str] = {}
    for at, lexicon in enumerate(rules.lexicon):
        script = str(lexicon.script)
        if script in owner:
            refuse(
                ("lexicon", at),
                f"has the script {script}, as {owner[script]} has; merge their words",
            )
        owner[script] = format_place(("lexicon", at))
    taken: dict[str, str] = {}
    for at, group in enumerate(rules.groups):
        here = ("groups", at, "characters")
        for character, script in zip(group.characters, scripts_of(group.characters), strict=True):
            if script in owner:
                refuse(
                    here,
                    f"contains {quote(character)}, which {owner[script]} cuts; remove it",
                )
            if character in taken:
                refuse(
                    here,
                    f"contains {quote(character)}, as {taken[character]} does; remove it from one",
                )
            taken[character] = format_place(("groups", at))
