"""The shards of llm.c and modded-nanogpt: 256 int32 of header, then ids."""

import struct

from zeton.errors import ShardError
from zeton.shards.formats.format import Format

__all__ = ["LLMC"]

HEADER_INTS = 256
MAGICS = {"<u2": (20240520, 1), "<u4": (20240801, 7)}
"""Magic and version by dtype: GPT-2's flavour, and Llama 3's for larger vocabularies."""


class Llmc(Format):
    """Ids after a header that counts them in 32 bits."""

    header_bytes = 4 * HEADER_INTS

    def check(self, vocab_size: int, shard_size: int) -> None:  # noqa: ARG002
        """Refuse shards that the header cannot count."""
        if shard_size >= 2**31:
            raise ShardError(f"a shard of {shard_size} tokens is too large for llm.c; below 2^31")

    def header(self, count: int, dtype: str) -> bytes:
        """Return magic, version and count; the rest is zero."""
        return struct.pack("<3i", *MAGICS[dtype], count).ljust(self.header_bytes, b"\0")


LLMC = Llmc()
