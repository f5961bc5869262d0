"""Rules: how text splits, said and not programmed; and ready-made ones for some kinds of text."""

from jeton.rules.parts import Group, Isolate, Lexicon
from jeton.rules.ready import chat, chemistry, chinese, code, dna, logs, thai
from jeton.rules.value import Rules

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
