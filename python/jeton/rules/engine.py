"""DEVELOPMENT ONLY: stands in for functions the engine does not have yet."""

from jeton import _engine


def scripts_of(text: str) -> list[str]:
    if hasattr(_engine, "scripts_of"):
        return _engine.scripts_of(text)  # type: ignore
    from jeton.reference_rules import script_of

    return [script_of(character).title() for character in text]


def check_rules(spelled: str) -> None:
    if hasattr(_engine, "check_rules"):
        _engine.check_rules(spelled)  # type: ignore


def rules_pattern(spelled: str) -> str | None:
    if hasattr(_engine, "rules_pattern"):
        return _engine.rules_pattern(spelled)  # type: ignore
    import json

    from jeton.reference_rules import compose

    return compose(json.loads(spelled))
