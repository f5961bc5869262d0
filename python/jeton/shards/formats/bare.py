"""Bare ids, one after the other, as nanoGPT maps them."""

from jeton.shards.formats.format import Format

__all__ = ["BARE"]

BARE = Format()
