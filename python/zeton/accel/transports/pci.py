"""`pci:PATH`: a card behind the BAR of a PCI function, which driver and card both map.

PATH is the resource of the function in sysfs, or any file that both sides map. The layout is in
`zeton.accel.wire.bar`: a mailbox for registers, and one ring per direction.
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
"""Longest pause between two polls of an idle card, because each poll runs a simulated one."""


class BarTransport:
    """A card behind a BAR (`Transport`), locked for this client until it is closed."""

    def __init__(self, path: str | Path, *, timeout: float = 60.0) -> None:
        """Map and lock the BAR; a register access longer than `timeout` seconds is an error."""
        self._path, self._timeout = path, timeout
        self._bar: BarMemory | None = BarMemory(path)
        self._pending: deque[bytes] = deque()
        try:
            fcntl.flock(self._bar.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise BusyError(f"{path} belongs to another client; wait until it is closed") from None
        if (magic := int(self._bar.words[AT_MAGIC])) != MAGIC:
            self.close()
            raise DeviceError(
                f"no card behind {path}: its first word is {magic:#x}, expected {MAGIC:#x}; "
                "is the card's side running?"
            )

    def read32(self, address: int) -> int:
        """Read a register."""
        return self._request(READ, address, 0)

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        self._request(WRITE, address, value)

    def _request(self, kind: int, address: int, value: int) -> int:
        words = self._memory().words
        words[AT_KIND], words[AT_ADDRESS], words[AT_VALUE] = kind, address, value
        number = int(words[AT_ASKED]) + 1 & 0xFFFFFFFF
        words[AT_ASKED] = number
        end = time.monotonic() + self._timeout
        while int(words[AT_ANSWERED]) != number:
            self._push()
            if time.monotonic() > end:
                raise DeviceTimeoutError(
                    f"{self._path} did not answer for {self._timeout:g} seconds; reset the device"
                )
            time.sleep(PAUSE_SECONDS)
        if words[AT_ERROR]:
            raise DeviceError(
                f"the card behind {self._path} refused register {address:#04x}; reset the device"
            )
        return int(words[AT_FOUND])

    def send(self, packet: "Packet") -> None:
        """Send whole words of 64 bits; words without room in the ring are sent by later calls."""
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
        """Return at least one word of the card, in order; none after `timeout` seconds."""
        end = time.monotonic() + timeout
        while True:
            self._push()
            ends = (AT_TO_HOST_END, AT_TO_HOST_START)
            content = self._memory().take(TO_HOST, *ends, min(4 * words_max, RING_BYTES))
            if content or time.monotonic() >= end:
                return np.frombuffer(content, "<u4").astype(np.uint32)
            time.sleep(PAUSE_SECONDS)

    def reset(self) -> None:
        """Drop packets that the card has not taken, and words that were not received."""
        self._pending.clear()
        self._memory().take(TO_HOST, AT_TO_HOST_END, AT_TO_HOST_START)

    def close(self) -> None:
        """Release the card; closing again does nothing."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def _memory(self) -> BarMemory:
        if self._bar is None:
            raise DeviceError("the card was closed; open it again")
        return self._bar


class BarServer:
    """The card's side of a BAR: serves a transport through a file that it creates."""

    def __init__(self, transport: "Transport", path: str | Path) -> None:
        """Create the file: zeros and the magic. Existing mappings of it stay valid."""
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
            if not (self._answer() | self._pass_packets() | self._pass_words()):
                time.sleep(PAUSE_SECONDS)
        self._bar.words[AT_MAGIC] = 0
        self._bar.close()

    def stop(self) -> None:
        """Stop serving."""
        self._is_stopping.set()
        if self._thread is not None:
            self._thread.join()

    def __enter__(self) -> Self:
        """Serve in a thread until the end of the block."""
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving."""
        self.stop()

    def _answer(self) -> bool:
        """Answer the mailbox's request; return whether there was one."""
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
                self._pass_packets()  # Packets sent before this write reach the card before it.
                self._transport.write32(address, value)
        except OSError:
            words[AT_ERROR] = 1
        words[AT_ANSWERED] = number
        return True

    def _forget(self) -> None:
        """Drop pending packets and words."""
        self._take_bytes()
        self._packets.reset()
        self._left = b""
        self._transport.reset()

    def _pass_packets(self) -> bool:
        """Pass packets on to the card; return whether there were bytes."""
        content = self._take_bytes()
        for packet in self._packets.read(content):
            with contextlib.suppress(OSError):  # The client notices the missing words.
                self._transport.send(packet)
                self._look_at, self._wait = 0.0, PAUSE_SECONDS
        return bool(content)

    def _take_bytes(self) -> bytes:
        """Take the bytes of the driver's ring; a ring with impossible counts is emptied."""
        try:
            return self._bar.take(TO_CARD, AT_TO_CARD_END, AT_TO_CARD_START)
        except AnswerError:
            self._packets.reset()
            self._bar.words[AT_TO_CARD_START] = self._bar.words[AT_TO_CARD_END]
            return b""

    def _pass_words(self) -> bool:
        """Pass words of the card on; return whether there were any."""
        # The interval between polls doubles until there are words again.
        if not self._left and time.monotonic() >= self._look_at:
            with contextlib.suppress(OSError):
                words = self._transport.receive(RING_BYTES // 8, PAUSE_SECONDS)
                self._left = words.astype("<u4").tobytes()
            self._wait = PAUSE_SECONDS if self._left else min(2 * self._wait, LOOK_SECONDS)
            self._look_at = time.monotonic() + self._wait
        try:
            size = self._bar.put(TO_HOST, AT_TO_HOST_END, AT_TO_HOST_START, self._left)
        except AnswerError:  # The driver loses the content of the ring.
            self._bar.words[AT_TO_HOST_END] = self._bar.words[AT_TO_HOST_START]
            return False
        self._left = self._left[size:]
        return size > 0
