"""Bare ids, one after the other, as nanoGPT maps them."""

from zeton.shards.formats.format import Format

__all__ = ["BARE"]

BARE = Format()
