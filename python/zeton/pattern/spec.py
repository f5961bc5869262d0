"""What people give to split by: the text of a pattern, or rules, which are spelled as one."""

from typing import TYPE_CHECKING

from zeton.errors import PatternError

if TYPE_CHECKING:
    from zeton.rules import Rules

__all__ = ["is_rules", "pattern_text", "plain_pattern"]

RULES, FUNCTION = '{"rules":', '{"rules":1,"split":'
"""What the text begins with where rules, or a Python function, stand in place of a pattern."""


def pattern_text(pattern: "str | Rules | None", rules: "Rules | None" = None) -> str | None:
    """Return the text of what is given, None if nothing is; `pattern` may be rules as well."""
    if rules is None and (pattern is None or isinstance(pattern, str)):
        return pattern
    from zeton.rules import Rules  # noqa: PLC0415 - few programs have any.

    if pattern is not None and rules is not None:
        raise PatternError("both pattern and rules are given; Rules(pattern=...) has both in one")
    given = pattern if rules is None else rules
    if not isinstance(given, Rules):
        name = "pattern" if rules is None else "rules"
        raise TypeError(
            f"{name} is zeton.Rules, not {type(given).__name__}; Rules.load reads a file, and "
            "zeton.rules.code() and others are ready-made"
        )
    return given.spelled


def is_rules(pattern: str) -> bool:
    """Tell whether rules stand in place of a pattern."""
    return pattern.startswith(RULES) and not pattern.startswith(FUNCTION)


def plain_pattern(pattern: str, whose: str) -> str:
    """Return the regex of a pattern that may be rules, for those that know patterns only."""
    if not is_rules(pattern):
        return pattern
    from zeton.rules import Rules  # noqa: PLC0415

    try:
        return Rules.from_json(pattern).as_pattern()
    except PatternError as error:
        raise PatternError(f"{whose} knows patterns only: {error}") from None
