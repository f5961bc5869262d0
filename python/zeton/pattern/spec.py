"""A split as a caller gives it: the text of a pattern, or rules, which have a text form too."""

from typing import TYPE_CHECKING

from zeton.errors import ArgumentTypeError, PatternError

if TYPE_CHECKING:
    from zeton.rules import Rules

__all__ = ["is_function", "is_rules", "pattern_text", "plain_pattern"]

RULES, FUNCTION = '{"rules":', '{"rules":1,"split":'
"""The start of the text of rules, or of a Python function, in place of a pattern."""


def pattern_text(pattern: "str | Rules | None", rules: "Rules | None" = None) -> str | None:
    """Return the text of a pattern or of rules, or None without either.

    `pattern` may hold rules as well.
    """
    if rules is None and (pattern is None or isinstance(pattern, str)):
        return None if pattern is None else _checked(pattern)
    from zeton.rules import Rules  # noqa: PLC0415 - few programs have any.

    if pattern is not None and rules is not None:
        raise PatternError(
            "both pattern and rules are given; give one of them, or Rules(pattern=…), which has "
            "both"
        )
    given = pattern if rules is None else rules
    if not isinstance(given, Rules):
        name = "pattern" if rules is None else "rules"
        kind = "zeton.Rules" if name == "rules" else "a str or zeton.Rules"
        raise ArgumentTypeError(
            f"{name} is {kind}, not {type(given).__name__}; Rules.load reads a file, and "
            "zeton.rules.code() and others are ready-made"
        )
    return given.spelled


def is_rules(pattern: str) -> bool:
    """Return whether a text is that of rules."""
    return pattern.startswith(RULES) and not is_function(pattern)


def is_function(pattern: str) -> bool:
    """Return whether a text stands for a Python function."""
    return pattern.startswith(FUNCTION)


def plain_pattern(pattern: str, whose: str) -> str:
    """Return the regex of a pattern or of rules, for a library that takes only a regex."""
    if not is_rules(pattern):
        return pattern
    from zeton.rules import Rules  # noqa: PLC0415

    try:
        return Rules.from_json(pattern).as_pattern()
    except PatternError as error:
        raise PatternError(f"{whose} takes a regular expression only: {error}") from None


def _checked(pattern: str) -> str:
    """Refuse a pattern that is no text, or that is the name of a vocabulary.

    A regular expression such as `gpt2` would match nothing but this word.
    """
    try:
        pattern.encode()
    except UnicodeEncodeError as error:
        raise PatternError(
            f"the pattern has a lone surrogate, U+{ord(pattern[error.start]):04X}, at character "
            f"{error.start}; a pattern is Unicode text without surrogates"
        ) from None
    if pattern.replace("_", "").isalnum():
        from zeton.pretrained import pretrained_names  # noqa: PLC0415 - it imports this module.

        if pattern in pretrained_names():
            raise PatternError(
                f"pattern={pattern!r} is the name of a vocabulary, not a regular expression; give "
                f"pattern=zeton.pretrained({pattern!r}).pattern"
            )
    return pattern
