"""Corpora become shards of ids that trainers read, and are read again at any place.

`write` makes them, `open` reads them, `verify` checks them. `Windows` and `Batches` share them out
to ranks and workers; `zeton.shards.torch` has datasets over these, where torch is installed.
"""

from zeton.shards.batches import Batches, Windows
from zeton.shards.manifest import Manifest
from zeton.shards.reader import Reader, open  # noqa: A004 - the word is ours.
from zeton.shards.verify import verify
from zeton.shards.writing import write

__all__ = ["Batches", "Manifest", "Reader", "Windows", "open", "verify", "write"]
