"""Rules that split text, in place of a pattern; ready-made rules for some kinds of text."""

from zeton.rules.parts import Group, Isolate, Lexicon
from zeton.rules.presets import chat, chemistry, chinese, code, dna, get_rules, logs, thai
from zeton.rules.value import Rules

__all__ = [
    "Group",
    "Isolate",
    "Lexicon",
    "Rules",
    "chat",
    "chemistry",
    "chinese",
    "code",
    "dna",
    "get_rules",
    "logs",
    "thai",
]
