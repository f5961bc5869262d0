"""Parquet with a text a row: `input_ids`, for chats also `loss_mask`."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from zeton.corpus.formats import PARQUET as CORPUS_PARQUET
from zeton.shards.formats.format import Format, Shard
from zeton.work.files import write_whole_by

__all__ = ["PARQUET", "modules"]

GROUP_TOKENS = 1 << 20
"""A row group ends after the text that fills it; a reader holds one group at once."""


class Parquet(Format):
    """Whole texts, or packed rows, as lists; ids grow bare, and become a table when it is full."""

    suffix = CORPUS_PARQUET.suffixes[0]
    ends_anywhere = False

    def check(self, vocab_size: int, shard_size: int) -> None:  # noqa: ARG002
        """Refuse where pyarrow is not installed."""
        modules()

    def finish(self, shard: Shard) -> list[Path]:
        """Write the table; the bare ids go once no state needs them."""
        target = shard.target.with_suffix(self.suffix)
        write_whole_by(target, lambda name: _write_table(name, shard))
        return [target]


def modules() -> tuple[Any, Any]:
    """Return pyarrow and its module for Parquet."""
    return CORPUS_PARQUET.modules("shards of the format parquet")


def _write_table(path: Path, shard: Shard) -> None:
    pa, pq = modules()
    columns = {"input_ids": (shard.ids, np.dtype(shard.dtype))}
    if shard.mask is not None:
        columns["loss_mask"] = (shard.mask, np.dtype(np.uint8))
    kinds = {name: pa.list_(pa.from_numpy_dtype(dtype)) for name, (_, dtype) in columns.items()}
    with pq.ParquetWriter(path, pa.schema(kinds), compression="zstd") as writer:
        for first, last in _groups(shard.starts):
            edges = shard.starts[first : last + 1]
            lists = []
            for name, (grown, dtype) in columns.items():
                values = _values(grown, dtype, int(edges[0]), int(edges[-1]))
                offsets = pa.array((edges - edges[0]).astype(np.int32))
                lists.append(pa.ListArray.from_arrays(offsets, pa.array(values), type=kinds[name]))
            writer.write_table(pa.table(lists, schema=pa.schema(kinds)), row_group_size=2**30)
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _values(
    path: Path, dtype: "np.dtype[Any]", start: int, stop: int
) -> "np.ndarray[tuple[int], np.dtype[Any]]":
    return np.fromfile(path, dtype, stop - start, offset=start * dtype.itemsize)


def _groups(starts: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> list[tuple[int, int]]:
    """Return the first and last edge of each group of entries."""
    groups, first, count = [], 0, len(starts) - 1
    while first < count:
        last = int(np.searchsorted(starts, starts[first] + GROUP_TOKENS))
        last = min(max(last, first + 1), count)
        groups.append((first, last))
        first = last
    return groups


PARQUET = Parquet()
