"""Exact search for needles in str, bytes and arrays of ids."""

from zeton.search.finder import Finder
from zeton.search.finder_many import FinderMany, Match
from zeton.search.occurrences import Occurrence, Phrase, Phrases, phrase, phrases

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
