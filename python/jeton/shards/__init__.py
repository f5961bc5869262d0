"""Corpora become shards of ids that trainers read, and are read again at any place.

`write` makes them, `open` reads them, `verify` checks them. `Windows` and `Batches` share them out
to ranks and workers; `jeton.shards.torch` has datasets over these, where torch is installed.
"""

from jeton.shards.batches import Batches, Windows
from jeton.shards.manifest import Manifest
from jeton.shards.reader import Reader, open  # noqa: A004 - the word is ours.
from jeton.shards.verify import verify
from jeton.shards.writing import write

__all__ = ["Batches", "Manifest", "Reader", "Windows", "open", "verify", "write"]
