"""The base of all shard formats: ids in a file that grows, and its end when it is full."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zeton.work.npy_file import dtype_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Format", "Shard"]

CODES = {"uint16": "<u2", "uint32": "<u4"}


@dataclass(frozen=True)
class Shard:
    """A full shard that is about to appear: its ids as they grew, and where its entries begin."""

    ids: Path
    mask: Path | None
    starts: "NDArray[np.int64]"
    """Of texts, or of packed rows, in tokens from the shard's beginning; the last is its end."""
    dtype: str
    target: Path
    """Its files' name, without a suffix."""

    @property
    def tokens(self) -> int:
        """How many ids it holds."""
        return int(self.starts[-1])


class Format:
    """Bare ids, which the others begin with a header or put beside an index."""

    suffix = ".bin"
    header_bytes = 0
    ends_anywhere = True
    """Whether a shard may end inside a text; if not, it ends after the text that fills it."""

    def check(self, vocab_size: int, shard_size: int) -> None:
        """Raise an error for ids or a size that the format cannot hold."""

    def dtype(self, vocab_size: int) -> str:
        """Return how an id is stored: in the smallest type that holds all of them."""
        return CODES[dtype_of(vocab_size)]

    def header(self, count: int, dtype: str) -> bytes:  # noqa: ARG002 - others need them.
        """Return the header before a number of ids."""
        return b""

    def finish(self, shard: Shard) -> list[Path]:
        """Put a full shard where it belongs; return its files, the ids first, then the mask."""
        files = [(shard.ids, shard.target.with_suffix(self.suffix))]
        if shard.mask is not None:
            files.append((shard.mask, shard.target.with_suffix(".mask.bin")))
        for grown, target in files:
            grown.replace(target)
        return [target for _, target in files]
