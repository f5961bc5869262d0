"""`uart:PATH`: a card on a board behind a serial port, like `uart:/dev/ttyUSB0`.

This is the host's side of the link in `fpga/ulx3s/link.sv`, which specifies commands and messages.
For example, the bytes `01 00` read register 0, and the board answers `01` and four bytes. Flow
control is by credits: the board reports how many words it took (`TAKEN`).
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
"""Room of the board's FIFO in words of 64 bits."""

COMMAND_WORDS = 256
"""Largest number of words in one command."""

READ, WRITE, WORDS, LAST = 1, 2, 3, 4
VALUE, WRITTEN, TAKEN, WORD = 1, 2, 3, 5
SIZES = {VALUE: 5, WRITTEN: 1, TAKEN: 2, WORD: 5}
"""Messages of the board, with their size in bytes."""

ANSWER_SECONDS = 2.0
QUIET_SECONDS = 0.05


class Line(Protocol):
    """A duplex line of bytes."""

    def write(self, data: bytes) -> None:
        """Write all bytes."""

    def read(self, timeout: float) -> bytes:
        """Return at least one received byte, or nothing after `timeout` seconds."""

    def send_break(self) -> None:
        """Hold the line low for longer than two bytes."""

    def close(self) -> None:
        """Close the line."""


class SerialLine:
    """A serial port of this machine."""

    def __init__(self, path: str | Path, baud: int = BAUD) -> None:
        """Open it raw: 8 bits, no parity, one stop bit."""
        speed = getattr(termios, f"B{baud}", None)
        if speed is None:
            raise DeviceError(
                f"{path} cannot run at {baud} baud; give a rate of termios, for example {BAUD}"
            )
        try:
            self._file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
        except OSError as error:
            raise DeviceError(
                f"cannot open {path}: {error.strerror}; give a serial port, as /dev/ttyUSB0"
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            tty.setraw(self._file)
            state = termios.tcgetattr(self._file)
            state[4] = state[5] = speed
            termios.tcsetattr(self._file, termios.TCSANOW, state)
        except BlockingIOError:
            os.close(self._file)
            raise BusyError(f"{path} belongs to another client; wait until it is closed") from None
        except termios.error as error:
            os.close(self._file)
            raise DeviceError(
                f"{path} is not a serial port: {error.args[-1]}; give one, for example /dev/ttyUSB0"
            ) from error

    def write(self, data: bytes) -> None:
        """Write all bytes."""
        left = memoryview(data)
        while left:
            _, ready, _ = select.select([], [self._file], [], ANSWER_SECONDS)
            if not ready:
                raise DeviceTimeoutError(
                    "the serial port accepts no bytes; is the board connected?"
                )
            try:
                left = left[os.write(self._file, left) :]
            except OSError as error:
                raise DeviceError(
                    f"the serial port is gone: {error.strerror}; is the board connected?"
                ) from error

    def read(self, timeout: float) -> bytes:
        """Return at least one received byte, or nothing after `timeout` seconds."""
        ready, _, _ = select.select([self._file], [], [], timeout)
        if not ready:
            return b""
        try:
            found = os.read(self._file, 1 << 16)
        except OSError as error:
            raise DeviceError(
                f"the serial port is gone: {error.strerror}; is the board connected?"
            ) from error
        if not found:
            raise DeviceError("the serial port is gone; is the board connected?")
        return found

    def send_break(self) -> None:
        """Hold the line low for longer than two bytes."""
        try:
            termios.tcsendbreak(self._file, 0)
        except termios.error as error:
            raise DeviceError(
                f"the serial port is gone: {error.args[-1]}; is the board connected?"
            ) from error

    def close(self) -> None:
        """Close the line."""
        os.close(self._file)


class UartTransport:
    """A card behind a serial line (`Transport`)."""

    def __init__(self, line: Line, *, timeout: float = ANSWER_SECONDS) -> None:
        """Reset the link, and drop bytes of an earlier session.

        A register access longer than `timeout` seconds is an error.
        """
        self._line: Line | None = line
        self._timeout = timeout
        self._pending: deque[tuple[int, bytes]] = deque()
        """Commands not sent yet, with their words."""
        self._room = QUEUE_WORDS
        self._input = bytearray()
        self._words: list[int] = []
        self._answers: list[int] = []
        try:
            self.reset()
        except BaseException:
            self.close()
            raise

    def read32(self, address: int) -> int:
        """Read a register."""
        return self._ask(bytes([READ, address]), f"reading register 0x{address:02X}")

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        command = bytes([WRITE, address]) + struct.pack("<I", value)
        self._ask(command, f"writing register 0x{address:02X}")

    def send(self, packet: Packet) -> None:
        """Send whole words of 64 bits; the last one ends the packet."""
        content = bytes(packet)
        step = 8 * COMMAND_WORDS
        for at in range(0, len(content), step):
            kind = LAST if at + step >= len(content) else WORDS
            self._pending.append((kind, content[at : at + step]))
        self._push()

    def receive(self, words_max: int, timeout: float) -> Words:
        """Return at least one word of the card, in order; none after `timeout` seconds."""
        end = time.monotonic() + timeout
        while not self._words:
            left = end - time.monotonic()
            if not self._take(max(left, 0.0)) and left <= 0:
                break
        found, self._words = self._words[:words_max], self._words[words_max:]
        return np.array(found, np.uint32)

    def reset(self) -> None:
        """Drop packets not taken and words not received, and reset the link by a break."""
        line = self._open()
        line.send_break()
        end = time.monotonic() + self._timeout
        while line.read(QUIET_SECONDS):
            if time.monotonic() > end:
                raise DeviceError(
                    "the board keeps sending after a break; is its bitstream the card's?"
                )
        self._pending.clear()
        self._input.clear()
        self._words, self._answers, self._room = [], [], QUEUE_WORDS

    def close(self) -> None:
        """Release the card; closing again does nothing."""
        if self._line is not None:
            self._line.close()
            self._line = None

    def _open(self) -> Line:
        if self._line is None:
            raise DeviceError("the card was closed; open it again")
        return self._line

    def _push(self) -> None:
        """Send the commands that the board has room for."""
        line = self._open()
        while self._pending and len(self._pending[0][1]) <= 8 * self._room:
            kind, content = self._pending.popleft()
            count = len(content) // 8
            self._room -= count
            line.write(bytes([kind, count - 1]) + content)

    def _ask(self, command: bytes, access: str) -> int:
        """Send a register command, and wait for its answer."""
        self._answers.clear()
        self._open().write(command)
        end = time.monotonic() + self._timeout
        while not self._answers:
            left = end - time.monotonic()
            if not self._take(max(left, 0.0)) and left <= 0:
                raise DeviceTimeoutError(
                    f"{access} got no answer for {self._timeout:g} seconds; reset the device"
                )
        return self._answers.pop()

    def _take(self, timeout: float) -> bool:
        """Read messages, then send pending commands; return whether bytes were received."""
        found = self._open().read(timeout)
        self._input += found
        at = 0
        while at < len(self._input):
            kind = self._input[at]
            size = SIZES.get(kind)
            if size is None:
                del self._input[:at]
                raise DeviceError(
                    f"the board sent byte 0x{kind:02X}, expected a message; reset the device"
                )
            if at + size > len(self._input):
                break
            value = int.from_bytes(self._input[at + 1 : at + size], "little")
            at += size
            if kind == WORD:
                self._words.append(value)
            elif kind == TAKEN:
                self._room += value
            else:
                self._answers.append(value)
        del self._input[:at]
        self._push()
        return bool(found)
