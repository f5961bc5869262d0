"""Megatron's pair of files: bare ids in `.bin`, and where each text is in `.idx`."""

import struct
from pathlib import Path

import numpy as np

from zeton.errors import ShardError
from zeton.shards.formats.format import Format, Shard
from zeton.work.files import write_whole_by

__all__ = ["MEGATRON"]

MAGIC = b"MMIDIDX\0\0"
UINT16_VOCAB_BELOW = 65_500
CODES = {"<u2": 8, "<i4": 4}


class Megatron(Format):
    """Whole texts: every one is a sequence and a document of its own, and so is a packed row."""

    ends_anywhere = False

    def dtype(self, vocab_size: int) -> str:
        """Return the type that Megatron takes."""
        return "<u2" if vocab_size < UINT16_VOCAB_BELOW else "<i4"

    def finish(self, shard: Shard) -> list[Path]:
        """Write the index, then let the ids appear."""
        index = shard.target.with_suffix(".idx")
        lengths = np.diff(shard.starts)
        if lengths.size and int(lengths.max()) >= 2**31:
            raise ShardError(f"a text has {lengths.max()} tokens; Megatron takes less than 2^31")
        write_whole_by(index, lambda name: _write_index(name, shard, lengths))
        return [*super().finish(shard), index]


def _write_index(
    path: Path, shard: Shard, lengths: "np.ndarray[tuple[int], np.dtype[np.int64]]"
) -> None:
    count = len(lengths)
    with path.open("wb") as file:
        file.write(MAGIC + struct.pack("<QBQQ", 1, CODES[shard.dtype], count, count + 1))
        file.write(lengths.astype("<i4").tobytes())
        file.write((shard.starts[:-1] * np.dtype(shard.dtype).itemsize).astype("<i8").tobytes())
        file.write(np.arange(count + 1, dtype="<i8").tobytes())
        file.flush()


MEGATRON = Megatron()
