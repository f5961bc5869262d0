"""A card behind a serial line, as on the board of `fpga/ulx3s`: its link's host side.

`fpga/ulx3s/link.sv` has the commands and messages.
"""

import fcntl
import os
import select
import struct
import termios
import time
import tty
from collections import deque
from pathlib import Path
from typing import Protocol

import numpy as np

from zeton.accel.errors import BusyError, DeviceError, DeviceTimeoutError
from zeton.accel.wire.packets import Packet, Words

__all__ = ["BAUD", "Line", "SerialLine", "UartTransport"]

BAUD = 2_000_000
QUEUE_WORDS = 512
"""Words of 64 bits that the board has room for."""

COMMAND_WORDS = 256
"""Words that one command sends at most."""

READ, WRITE, WORDS, LAST = 1, 2, 3, 4
VALUE, WRITTEN, TAKEN, WORD = 1, 2, 3, 5
SIZES = {VALUE: 5, WRITTEN: 1, TAKEN: 2, WORD: 5}
"""Messages of the board, and their bytes."""

ANSWER_SECONDS = 2.0
QUIET_SECONDS = 0.05


class Line(Protocol):
    """Bytes to a board and from it."""

    def write(self, data: bytes) -> None:
        """Send all of them."""

    def read(self, timeout: float) -> bytes:
        """Return what has come, at least a byte; nothing if so many seconds pass without."""

    def send_break(self) -> None:
        """Hold the line low for longer than two bytes."""

    def close(self) -> None:
        """Let the line go."""


class SerialLine:
    """A serial port of this machine."""

    def __init__(self, path: str | Path, baud: int = BAUD) -> None:
        """Open it raw: 8 bits, no parity, one stop bit."""
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            raise DeviceError(f"{path} cannot run at {baud} baud; give a rate that termios knows")
        try:
            self._file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise DeviceError(f"{path} cannot be opened: {error.strerror}") from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tty.setraw(self._file)
            state = termios.tcgetattr(self._file)
            state[4] = state[5] = speed
            termios.tcsetattr(self._file, termios.TCSANOW, state)
        except BlockingIOError:
            os.close(self._file)
            raise BusyError(f"{path} belongs to another client") from None
        except termios.error as error:
            os.close(self._file)
            raise DeviceError(f"{path} is no serial port: {error}") from error

    def write(self, data: bytes) -> None:
        """Send all of them."""
        left = memoryview(data)
        while left:
            _, ready, _ = select.select([], [self._file], [], ANSWER_SECONDS)
            if not ready:
                raise DeviceTimeoutError("the serial port takes no bytes; is the board there?")
            try:
                left = left[os.write(self._file, left) :]
            except OSError as error:
                raise DeviceError(f"the serial port is gone: {error.strerror}") from error

    def read(self, timeout: float) -> bytes:
        """Return what has come, at least a byte; nothing if so many seconds pass without."""
        ready, _, _ = select.select([self._file], [], [], timeout)
        if not ready:
            return b""
        try:
            found = os.read(self._file, 1 << 16)
        except OSError as error:
            raise DeviceError(f"the serial port is gone: {error.strerror}") from error
        if not found:
            raise DeviceError("the serial port is gone")
        return found

    def send_break(self) -> None:
        """Hold the line low for longer than two bytes."""
        try:
            termios.tcsendbreak(self._file, 0)
        except termios.error as error:
            raise DeviceError(f"the serial port is gone: {error.args[-1]}") from error

    def close(self) -> None:
        """Let the line go."""
        os.close(self._file)


class UartTransport:
    """The way to a card behind a serial line (`Transport`)."""

    def __init__(self, line: Line, *, timeout: float = ANSWER_SECONDS) -> None:
        """Start anew: what is on the line from before is dropped.

        A register that does not answer for `timeout` seconds is an error.
        """
        self._line: Line | None = line
        self._timeout = timeout
        self._pending: deque[tuple[int, bytes]] = deque()
        """Commands with their words that have not been sent."""
        self._room = QUEUE_WORDS
        self._come = bytearray()
        self._words: list[int] = []
        self._answers: list[int] = []
        try:
            self.reset()
        except BaseException:
            self.close()
            raise

    def read32(self, address: int) -> int:
        """Read a register."""
        return self._ask(bytes([READ, address]), f"register 0x{address:02X} is read")

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        command = bytes([WRITE, address]) + struct.pack("<I", value)
        self._ask(command, f"register 0x{address:02X} is written")

    def send(self, packet: Packet) -> None:
        """Send whole words of 64 bits; the last one ends the packet."""
        content = bytes(packet)
        step = 8 * COMMAND_WORDS
        for at in range(0, len(content), step):
            kind = LAST if at + step >= len(content) else WORDS
            self._pending.append((kind, content[at : at + step]))
        self._push()

    def receive(self, words_max: int, timeout: float) -> Words:
        """Return at least one word of the card, in order; none if so many seconds pass without."""
        end = time.monotonic() + timeout
        while not self._words:
            left = end - time.monotonic()
            if not self._take(max(left, 0.0)) and left <= 0:
                break
        found, self._words = self._words[:words_max], self._words[words_max:]
        return np.array(found, np.uint32)

    def reset(self) -> None:
        """Drop what was sent and not taken, and what was not received, and bring the link back."""
        line = self._open()
        line.send_break()
        end = time.monotonic() + self._timeout
        while line.read(QUIET_SECONDS):
            if time.monotonic() > end:
                raise DeviceError("the board does not stop to send; is its bitstream the card's?")
        self._pending.clear()
        self._come.clear()
        self._words, self._answers, self._room = [], [], QUEUE_WORDS

    def close(self) -> None:
        """Let the card go; to close again does nothing."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _open(self) -> Line:
        if self._line is None:
            raise DeviceError("the card was closed; open it again")
        return self._line

    def _push(self) -> None:
        """Send what the board has room for."""
        line = self._open()
        while self._pending and len(self._pending[0][1]) <= 8 * self._room:
            kind, content = self._pending.popleft()
            count = len(content) // 8
            self._room -= count
            line.write(bytes([kind, count - 1]) + content)

    def _ask(self, command: bytes, what: str) -> int:
        """Send a command of one register, and wait for its answer."""
        self._answers.clear()
        self._open().write(command)
        end = time.monotonic() + self._timeout
        while not self._answers:
            left = end - time.monotonic()
            if not self._take(max(left, 0.0)) and left <= 0:
                raise DeviceTimeoutError(f"the card does not answer when {what}")
        return self._answers.pop()

    def _take(self, timeout: float) -> bool:
        """Read what has come, and send what there is room for; tell whether something came."""
        found = self._open().read(timeout)
        self._come += found
        at = 0
        while at < len(self._come):
            kind = self._come[at]
            size = SIZES.get(kind)
            if size is None:
                del self._come[:at]
                raise DeviceError(f"the board sent byte 0x{kind:02X} where a message begins; reset")
            if at + size > len(self._come):
                break
            value = int.from_bytes(self._come[at + 1 : at + size], "little")
            at += size
            if kind == WORD:
                self._words.append(value)
            elif kind == TAKEN:
                self._room += value
            else:
                self._answers.append(value)
        del self._come[:at]
        self._push()
        return bool(found)
