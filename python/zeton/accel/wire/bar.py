"""The memory of a BAR: a mailbox for registers, and two ring buffers.

Driver and card map the same 1 MiB. Words of 32 bits, at offsets in words unless bytes are named:

    0         magic, `0x5241425A` while the card is there
    1 - 4     request: number, kind (1 read, 2 write), address, value
    5 - 7     answer: number, value of the register, 1 if the card refused
    16, 32    bytes ever put into, and taken from, the ring to the card
    48, 64    bytes ever put into, and taken from, the ring to the host
    2**18     (bytes) the ring to the card: packets, with `zeton.accel.wire.packets` headers
    2**19     (bytes) the ring to the host: words of 32 bits

Each side writes only its own words, so no lock is needed.
"""

import contextlib
import mmap
import os
from pathlib import Path

import numpy as np

from zeton.accel.errors import AnswerError, DeviceError

__all__ = ["BAR_BYTES", "MAGIC", "READ", "RING_BYTES", "TO_CARD", "TO_HOST", "WRITE", "BarMemory"]

MAGIC = 0x5241425A
"""`ZBAR`: the server is there."""

BAR_BYTES = 1 << 20
RING_BYTES = 1 << 18
TO_CARD, TO_HOST = 1 << 18, 2 << 18
"""Offsets of the rings in bytes."""

AT_MAGIC, AT_ASKED, AT_KIND, AT_ADDRESS, AT_VALUE, AT_ANSWERED, AT_FOUND, AT_ERROR = range(8)
"""Words of the mailbox. A change of `asked` is a request; the answer is complete when `answered`
equals `asked`."""

AT_TO_CARD_END, AT_TO_CARD_START, AT_TO_HOST_END, AT_TO_HOST_START = 16, 32, 48, 64
"""Words that count the bytes ever put into a ring, and taken from it, modulo 2**32."""

READ, WRITE = 1, 2


class BarMemory:
    """The mapped memory as 32-bit words and two rings; access to one word is atomic."""

    def __init__(self, path: str | Path) -> None:
        """Map the file or PCI resource at a path."""
        try:
            self.file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise DeviceError(
                f"cannot open {path}: {error.strerror}; give the resource of a PCI function"
            ) from error
        try:
            self._memory = mmap.mmap(self.file, BAR_BYTES)
        except (OSError, ValueError) as error:
            os.close(self.file)
            raise DeviceError(
                f"cannot map {BAR_BYTES:,} bytes of {path}: {error}; give a BAR of that size"
            ) from error
        self.words = np.frombuffer(self._memory, "<u4")
        self._bytes = np.frombuffer(self._memory, np.uint8)

    def close(self) -> None:
        """Unmap the memory and close the file."""
        del self.words, self._bytes
        with contextlib.suppress(BufferError):
            self._memory.close()
        os.close(self.file)

    def put(self, ring: int, end_at: int, start_at: int, content: bytes) -> int:
        """Put as many bytes into a ring as it has room for; return their number."""
        end, start = int(self.words[end_at]), int(self.words[start_at])
        size = min(RING_BYTES - self._held(end, start), len(content))
        places = ring + (end + np.arange(size)) % RING_BYTES
        self._bytes[places] = np.frombuffer(content, np.uint8, size)
        self.words[end_at] = end + size & 0xFFFFFFFF
        return size

    def take(self, ring: int, end_at: int, start_at: int, most: int = RING_BYTES) -> bytes:
        """Take up to `most` bytes out of a ring."""
        end, start = int(self.words[end_at]), int(self.words[start_at])
        size = min(self._held(end, start), most)
        content = self._bytes[ring + (start + np.arange(size)) % RING_BYTES].tobytes()
        self.words[start_at] = start + size & 0xFFFFFFFF
        return content

    @staticmethod
    def _held(end: int, start: int) -> int:
        held = end - start & 0xFFFFFFFF
        if held > RING_BYTES:
            raise AnswerError(
                f"a ring counts {held:,} bytes, more than its {RING_BYTES:,}; reset the device"
            )
        return held
