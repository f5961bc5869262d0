"""Rules: how text splits, said and not programmed; and ready-made ones for some kinds of text."""

from zeton.rules.parts import Group, Isolate, Lexicon
from zeton.rules.ready import chat, chemistry, chinese, code, dna, logs, thai
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
    "logs",
    "thai",
]
