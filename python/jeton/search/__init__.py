"""Exact search in texts, bytes and arrays of ids."""

from jeton.search.finder import Finder
from jeton.search.many import FinderMany, Match

__all__ = ["Finder", "FinderMany", "Match"]
