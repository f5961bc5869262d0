"""Exact search in texts and in arrays of ids."""

from jeton.search.occurrences import Occurrence, Phrase, Phrases, phrase, phrases

__all__ = ["Occurrence", "Phrase", "Phrases", "phrase", "phrases"]
