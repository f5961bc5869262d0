"""Where rules contradict each other."""

from typing import TYPE_CHECKING

from zeton._engine import scripts_of
from zeton.rules.values import refuse, shown, way

if TYPE_CHECKING:
    from zeton.rules.value import Rules

__all__ = ["check"]

LITERALS_MAX = 1 << 20
"""Literals and words in all."""

ISOLATES_MAX = 256

SPELLED_BYTES_MAX = 1 << 25


def check(rules: "Rules") -> None:
    """Refuse rules of which one takes back what another says."""
    _check_knobs(rules)
    _check_literals(rules)
    _check_isolates(rules)
    _check_runs(rules)
    size = len(rules.spelled.encode())
    if size > SPELLED_BYTES_MAX:
        refuse(
            (), f"the rules have {size} bytes when spelled; at most {SPELLED_BYTES_MAX} are allowed"
        )


def _check_knobs(rules: "Rules") -> None:
    if rules.digits_from == "right" and not isinstance(rules.digits, int):
        what = (
            "the base says how many" if rules.digits is None else "any number of them is one piece"
        )
        refuse(("digits_from",), f'is "right" and {what}; give digits as well, from 1 to 16')
    if rules.base is not None:
        return
    instead = "there is no base" if rules.pattern is None else "a pattern stands in place of a base"
    for name in ("digits", "contractions", "leading_space", "newlines", "marks"):
        if getattr(rules, name) is not None:
            refuse((name,), f"is a knob of a base, and {instead}; leave it out, or give a base")
    finer = {"case": "words", "underscores": "alone"}
    for name, value in finer.items():
        if getattr(rules, name) not in {None, value}:
            told = shown(getattr(rules, name))
            refuse(
                (name,), f'{told} is a knob of a base, and {instead}; without one it is "{value}"'
            )


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
            refuse(("isolate", at), f"is also {way(('isolate', before))}; say it once")


def _check_runs(rules: "Rules") -> None:
    owner: dict[str, str] = {}
    for at, lexicon in enumerate(rules.lexicon):
        script = str(lexicon.script)
        if script in owner:
            refuse(("lexicon", at), f"is of the script {script}, as is {owner[script]}; join them")
        owner[script] = way(("lexicon", at))
    taken: dict[str, str] = {}
    for at, group in enumerate(rules.groups):
        here = ("groups", at, "characters")
        for character, script in zip(group.characters, scripts_of(group.characters), strict=True):
            if script in owner:
                refuse(
                    here, f"has {shown(character)} of the script of {owner[script]}; take it out"
                )
            if character in taken:
                refuse(
                    here, f"has {shown(character)}, as has {taken[character]}; take it out of one"
                )
            taken[character] = way(("groups", at))
