"""Packets to a card, and their framing on links that cut a stream anywhere.

A packet is a whole number of 64-bit words. XDMA's driver and a ring buffer do not preserve where a
packet ends, so a header goes before it: bits 31-0 count the words that follow, bits 63-32 are
`0x4E545041`. For example, a packet of 24 bytes has the header `03000000 4150544e`.
"""

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from zeton.accel.errors import DeviceError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Packet", "PacketReader", "Words", "packet_header"]

Packet: TypeAlias = bytes | bytearray | memoryview
"""Whole 64-bit words for the card, little endian."""

Words: TypeAlias = "NDArray[np.uint32]"
"""Words of 32 bits from the card."""

MAGIC = 0x4E545041
HEADER = struct.Struct("<II")
PACKET_WORDS_MAX = 1 << 25
"""Largest packet, in words of 64 bits."""


def packet_header(size: int) -> bytes:
    """Return the header of a packet of `size` bytes.

    >>> packet_header(24).hex(" ", 4)
    '03000000 4150544e'
    """
    if size % 8 or not 0 < size <= 8 * PACKET_WORDS_MAX:
        raise DeviceError(
            f"a packet has {size:,} bytes; give a multiple of 8, at most {8 * PACKET_WORDS_MAX:,}"
        )
    return HEADER.pack(size // 8, MAGIC)


class PacketReader:
    """The card's side of the framing: bytes in portions of any size → packets.

    >>> reader = PacketReader()
    >>> content = packet_header(8) + b"one word"
    >>> [bytes(packet) for part in (content[:5], content[5:]) for packet in reader.read(part)]
    [b'one word']
    """

    def __init__(self) -> None:
        """Begin between two packets, with nothing buffered."""
        self._kept = bytearray()

    def reset(self) -> None:
        """Drop the buffered part of an incomplete packet."""
        self._kept.clear()

    def read(self, portion: bytes) -> Iterator[bytes]:
        """Buffer a portion, and yield the complete packets; a word that is no header is dropped."""
        self._kept += portion
        while len(self._kept) >= HEADER.size:
            words, magic = HEADER.unpack_from(self._kept)
            if magic != MAGIC or not 0 < words <= PACKET_WORDS_MAX:
                del self._kept[: HEADER.size]
                continue
            end = HEADER.size + 8 * words
            if len(self._kept) < end:
                return
            packet = bytes(self._kept[HEADER.size : end])
            del self._kept[:end]
            yield packet
