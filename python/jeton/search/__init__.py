"""Exact search in texts, bytes and arrays of ids."""

from jeton.search.finder import Finder
from jeton.search.many import FinderMany, Match
from jeton.search.occurrences import Occurrence, Phrase, Phrases, phrase, phrases

__all__ = [
    "Finder",
    "FinderMany",
    "Match",
    "Occurrence",
    "Phrase",
    "Phrases",
    "phrase",
    "phrases",
]
