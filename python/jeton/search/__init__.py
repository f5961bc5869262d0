"""Exact search in texts and in arrays of ids."""

from jeton.search.phrase import Occurrence, Phrase, Phrases, phrase, phrases

__all__ = ["Occurrence", "Phrase", "Phrases", "phrase", "phrases"]
