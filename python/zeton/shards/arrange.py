"""Texts that were encoded in order are put in another, or into rows."""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeton.shards.options import Options
from zeton.shards.order import permutation
from zeton.shards.stream import State, index_name
from zeton.work.npy_file import HEADER_BYTES

__all__ = ["SPOOL", "Arrangement", "Piece"]

SPOOL = "spool_"
"""The prefix of the files that hold texts before they are arranged."""

PIECE_TOKENS = 1 << 21


@dataclass
class Piece:
    """Ids in their new places, and where texts begin among them."""

    ids: NDArray[Any]
    mask: NDArray[np.uint8] | None
    starts: NDArray[np.int64]


class Arrangement:
    """Where each text of a split goes: shuffled by a seed, packed into rows, or both."""

    def __init__(
        self, folder: Path, split: str, spool: State, dtype: str, options: Options
    ) -> None:
        """Find a place for every text."""
        index = folder / index_name(SPOOL + split)
        starts = np.fromfile(index, "<i8", spool.texts, offset=HEADER_BYTES)
        lengths = np.diff(np.append(starts, spool.tokens))
        if options.shuffle is not None:
            # Another split has another order.
            order = permutation(spool.texts, options.shuffle, stream=int(split != "train"))
            starts, lengths = starts[order], lengths[order]
        self._from, self._lengths = starts, lengths
        self._pad = options.pad
        self.dropped = 0
        """How many tokens are left over, less than a row."""
        self._place(options)
        self._ids = _Mapped(folder / f"{SPOOL}{split}_000000.ids", np.dtype(dtype))
        mask = folder / f"{SPOOL}{split}_000000.mask"
        self._mask = _Mapped(mask, np.dtype(np.uint8)) if options.chat is not None else None

    def _place(self, options: Options) -> None:
        row = options.pack
        if row is not None and options.pad is not None:
            self._to, self.tokens = _padded(self._lengths, row)
            return
        ends = np.cumsum(self._lengths)
        self._to = ends - self._lengths
        self.tokens = int(ends[-1]) if len(ends) else 0
        if row is not None:
            self.dropped = self.tokens % row
            self.tokens -= self.dropped

    @property
    def lengths(self) -> NDArray[np.int64] | None:
        """How many tokens each text has, where something else may follow it."""
        return self._lengths if self._pad is not None else None

    def __len__(self) -> int:
        """Return the number of pieces."""
        return max(-(-self.tokens // PIECE_TOKENS), 1 if len(self._to) else 0)

    def pieces(self, first: int) -> Iterator[Piece]:
        """Gather the pieces from one on."""
        for number in range(first, len(self)):
            start = number * PIECE_TOKENS
            stop = min(start + PIECE_TOKENS, self.tokens)
            yield self._piece(start, stop)
            self._ids.drop()
            if self._mask is not None:
                self._mask.drop()

    def _piece(self, start: int, stop: int) -> Piece:
        is_last = stop == self.tokens
        first = int(np.searchsorted(self._to, start))
        last = int(np.searchsorted(self._to, stop, side="right" if is_last else "left"))
        if is_last and self.dropped:  # A text that begins in the dropped rest has no place.
            last = int(np.searchsorted(self._to, stop))
        texts = range(max(first - 1, 0), last)  # The one before may reach into the piece.
        ids = np.full(stop - start, self._pad or 0, self._ids.values.dtype)
        mask = None if self._mask is None else np.zeros(stop - start, np.uint8)
        for text in texts:
            low = max(int(self._to[text]), start)
            high = min(int(self._to[text] + self._lengths[text]), stop)
            if low < high:
                at = int(self._from[text]) + low - int(self._to[text])
                ids[low - start : high - start] = self._ids.values[at : at + high - low]
                if mask is not None and self._mask is not None:
                    mask[low - start : high - start] = self._mask.values[at : at + high - low]
        return Piece(ids, mask, self._to[first:last])


def _padded(lengths: NDArray[np.int64], row: int) -> tuple[NDArray[np.int64], int]:
    """Place texts in order; a text that does not fit into the rest of a row begins the next row.

    >>> _padded(np.array([3, 3, 2, 9, 1]), 4)
    (array([ 0,  4,  8, 12, 21]), 24)
    """
    places = np.empty(len(lengths), np.int64)
    at = 0
    for text, length in enumerate(lengths.tolist()):
        left = -at % row
        if length > left:
            at += left
        places[text] = at
        at += length
    return places, at + -at % row


class _Mapped:
    """A file's values, mapped; pages that were read are dropped so that they do not add up."""

    def __init__(self, path: Path, dtype: "np.dtype[Any]") -> None:
        size = path.stat().st_size if path.exists() else 0
        self._map: mmap.mmap | None = None
        self.values: NDArray[Any] = np.empty(0, dtype)
        if size:
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.values = np.frombuffer(self._map, dtype)

    def drop(self) -> None:
        """Give the pages back to the system, which keeps them while it has room."""
        if self._map is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)
