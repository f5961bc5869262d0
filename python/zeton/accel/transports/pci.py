"""A card behind memory that both sides see, as the BAR of a PCI function: `pci:PATH`.

PATH is the resource of the function in sysfs, or any file that both sides map. Registers go through
a mailbox, packets and words through two rings, of which each side moves one end. A packet has the
same header as over nodes (`zeton.accel.transports.nodes`).
"""

import contextlib
import fcntl
import os
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from zeton.accel import registers
from zeton.accel.errors import AnswerError, BusyError, DeviceError, DeviceTimeoutError
from zeton.accel.wire.bar import (
    AT_ADDRESS,
    AT_ANSWERED,
    AT_ASKED,
    AT_ERROR,
    AT_FOUND,
    AT_KIND,
    AT_MAGIC,
    AT_TO_CARD_END,
    AT_TO_CARD_START,
    AT_TO_HOST_END,
    AT_TO_HOST_START,
    AT_VALUE,
    BAR_BYTES,
    MAGIC,
    READ,
    RING_BYTES,
    TO_CARD,
    TO_HOST,
    WRITE,
    BarMemory,
)
from zeton.accel.wire.packets import PacketReader, packet_header

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport
    from zeton.accel.wire.packets import Packet, Words

__all__ = ["BarServer", "BarTransport"]

PAUSE_SECONDS = 0.0002
LOOK_SECONDS = 0.5
"""Between two looks at a card that has no words, at most: a simulated one runs for each."""


class BarTransport:
    """The way to a card behind a BAR (`Transport`); it is this client's until it is closed."""

    def __init__(self, path: str | Path, *, timeout: float = 60.0) -> None:
        """Map the BAR; a register that does not answer for so many seconds is an error."""
        self._path, self._timeout = path, timeout
        self._bar: BarMemory | None = BarMemory(path)
        self._pending: deque[bytes] = deque()
        try:
            fcntl.flock(self._bar.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise BusyError(f"{path} belongs to another client") from None
        if (magic := int(self._bar.words[AT_MAGIC])) != MAGIC:
            self.close()
            raise DeviceError(f"there is no card behind {path}: it begins with {magic:#x}")

    def read32(self, address: int) -> int:
        """Read a register."""
        return self._ask(READ, address, 0)

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        self._ask(WRITE, address, value)

    def _ask(self, kind: int, address: int, value: int) -> int:
        words = self._memory().words
        words[AT_KIND], words[AT_ADDRESS], words[AT_VALUE] = kind, address, value
        number = int(words[AT_ASKED]) + 1 & 0xFFFFFFFF
        words[AT_ASKED] = number
        end = time.monotonic() + self._timeout
        while int(words[AT_ANSWERED]) != number:
            self._push()
            if time.monotonic() > end:
                raise DeviceTimeoutError(f"{self._path} did not answer for {self._timeout:g} s")
            time.sleep(PAUSE_SECONDS)
        if words[AT_ERROR]:
            raise DeviceError(f"the card behind {self._path} refused register {address:#04x}")
        return int(words[AT_FOUND])

    def send(self, packet: "Packet") -> None:
        """Send whole words of 64 bits, as far as there is room; the rest later."""
        self._memory()
        self._pending.append(packet_header(len(packet)) + packet)
        self._push()

    def _push(self) -> None:
        while self._pending:
            content = self._pending[0]
            ends = (AT_TO_CARD_END, AT_TO_CARD_START)
            size = self._memory().put(TO_CARD, *ends, content)
            if size < len(content):
                self._pending[0] = content[size:]
                return
            self._pending.popleft()

    def receive(self, words_max: int, timeout: float) -> "Words":
        """Return at least one word of the card, in order; none if so many seconds pass without."""
        end = time.monotonic() + timeout
        while True:
            self._push()
            ends = (AT_TO_HOST_END, AT_TO_HOST_START)
            content = self._memory().take(TO_HOST, *ends, min(4 * words_max, RING_BYTES))
            if content or time.monotonic() >= end:
                return np.frombuffer(content, "<u4").astype(np.uint32)
            time.sleep(PAUSE_SECONDS)

    def reset(self) -> None:
        """Drop what was sent and not taken, and what was not received."""
        self._pending.clear()
        self._memory().take(TO_HOST, AT_TO_HOST_END, AT_TO_HOST_START)

    def close(self) -> None:
        """Let the card go; to close again does nothing."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _memory(self) -> BarMemory:
        if self._bar is None:
            raise DeviceError("the card was closed; open it again")
        return self._bar


class BarServer:
    """The card's side of a BAR: serves a transport through a file, which it makes."""

    def __init__(self, transport: "Transport", path: str | Path) -> None:
        """Make the file, all zeros but for the magic; who has mapped it already may go on."""
        self._transport = transport
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.ftruncate(file, BAR_BYTES)
        os.close(file)
        self._bar = BarMemory(path)
        self._bar.words[:] = 0
        self._packets = PacketReader()
        self._left, self._look_at, self._wait = b"", 0.0, PAUSE_SECONDS
        self._is_stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._bar.words[AT_MAGIC] = MAGIC

    def serve(self) -> None:
        """Serve until `stop`."""
        while not self._is_stopping.is_set():
            if not (self._answer() | self._take() | self._give()):
                time.sleep(PAUSE_SECONDS)
        self._bar.words[AT_MAGIC] = 0
        self._bar.close()

    def stop(self) -> None:
        """Serve no more."""
        self._is_stopping.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        """Serve in a thread until the end of the block."""
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Serve no more."""
        self.stop()

    def _answer(self) -> bool:
        """Do what the mailbox asks for, if it does."""
        words = self._bar.words
        number = int(words[AT_ASKED])
        if number == int(words[AT_ANSWERED]):
            return False
        kind, address, value = (int(words[at]) for at in (AT_KIND, AT_ADDRESS, AT_VALUE))
        words[AT_ERROR] = 0
        try:
            if kind == READ:
                words[AT_FOUND] = self._transport.read32(address)
            elif address == registers.CONTROL and registers.CONTROL_RESET.of(value):
                self._forget()
                self._transport.write32(address, value)
                self._forget()
            else:
                self._take()  # What was sent before it comes before it.
                self._transport.write32(address, value)
        except OSError:
            words[AT_ERROR] = 1
        words[AT_ANSWERED] = number
        return True

    def _forget(self) -> None:
        """Drop all that is on its way."""
        self._taken()
        self._packets.reset()
        self._left = b""
        self._transport.reset()

    def _take(self) -> bool:
        """Hand packets on to the card."""
        content = self._taken()
        for packet in self._packets.read(content):
            with contextlib.suppress(OSError):  # Its words will be missed.
                self._transport.send(packet)
                self._look_at, self._wait = 0.0, PAUSE_SECONDS
        return bool(content)

    def _taken(self) -> bytes:
        """Take what the driver has put into its ring; a ring that makes no sense is emptied."""
        try:
            return self._bar.take(TO_CARD, AT_TO_CARD_END, AT_TO_CARD_START)
        except AnswerError:
            self._packets.reset()
            self._bar.words[AT_TO_CARD_START] = self._bar.words[AT_TO_CARD_END]
            return b""

    def _give(self) -> bool:
        """Hand words of the card on."""
        # Rarer and rarer, until there is something again.
        if not self._left and time.monotonic() >= self._look_at:
            with contextlib.suppress(OSError):
                words = self._transport.receive(RING_BYTES // 8, PAUSE_SECONDS)
                self._left = words.astype("<u4").tobytes()
            self._wait = PAUSE_SECONDS if self._left else min(2 * self._wait, LOOK_SECONDS)
            self._look_at = time.monotonic() + self._wait
        try:
            size = self._bar.put(TO_HOST, AT_TO_HOST_END, AT_TO_HOST_START, self._left)
        except AnswerError:  # The driver will miss what the ring held.
            self._bar.words[AT_TO_HOST_END] = self._bar.words[AT_TO_HOST_START]
            return False
        self._left = self._left[size:]
        return size > 0
