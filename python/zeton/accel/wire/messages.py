"""What goes over a connection to a card in another machine: messages, each with its check.

A message is a header of 20 bytes and a payload; numbers are little endian. The header: `ZTN1`, the
kind in one byte, three bytes 0, the number of the request, bytes of payload, and the CRC-32 of all
of the message but itself. An answer has the number of its request.
"""

import socket
import struct
import time
import zlib
from dataclasses import dataclass
from enum import IntEnum

from zeton.accel.errors import AnswerError, BusyError, DeviceError, DeviceTimeoutError
from zeton.accel.wire.packets import Packet

__all__ = [
    "PAYLOAD_MAX",
    "Kind",
    "Message",
    "Numbers",
    "error_of",
    "read_message",
    "refusal",
    "write_message",
]

MAGIC = b"ZTN1"
HEADER = struct.Struct("<4sB3xII")
CHECK = struct.Struct("<I")
Numbers = {1: struct.Struct("<I"), 2: struct.Struct("<II")}
"""One number of 32 bits, and two."""

PAYLOAD_MAX = 1 << 28
"""Bytes of a payload at most."""

PORTION_BYTES = 1 << 20
"""Bytes that are read at once: a header alone does not make anybody reserve memory."""


class Kind(IntEnum):
    """What a message asks or answers."""

    HELLO = 1
    """The client's session (16 bytes) and its token."""
    READ = 2
    """An address; the answer is the register."""
    WRITE = 3
    """An address and a value."""
    SEND = 4
    """A packet."""
    RECEIVE = 5
    """Words at most, and milliseconds; the answer is words, none if so much time passed."""
    RESET = 6
    BYE = 7
    DONE = 128
    """What was asked for is done, and here is what was found."""
    REFUSED = 129
    """A byte for the type of the error, and its message in UTF-8."""


ERRORS: tuple[type[DeviceError], ...] = (DeviceError, DeviceTimeoutError, AnswerError, BusyError)
"""The types of a refusal, by number."""


@dataclass(frozen=True, slots=True)
class Message:
    """A kind, the number of the request, and what belongs to it.

    >>> Message(Kind.READ, 7, Numbers[1].pack(0x14)).packed().hex(" ", 4)
    '5a544e31 02000000 07000000 04000000 b3ea218f 14000000'
    """

    kind: Kind
    number: int
    payload: Packet = b""

    def header(self) -> bytes:
        """Return all but the payload."""
        head = HEADER.pack(MAGIC, self.kind, self.number, len(self.payload))
        return head + CHECK.pack(zlib.crc32(self.payload, zlib.crc32(head)))

    def packed(self) -> bytes:
        """Return the bytes of the message."""
        return self.header() + self.payload


def refusal(number: int, error: OSError) -> Message:
    """Make the answer that says why not."""
    code = next((at for at, kind in enumerate(ERRORS) if type(error) is kind), 0)
    said = str(error)
    if not isinstance(error, DeviceError):
        said = f"the card cannot be reached: {said}"
    return Message(Kind.REFUSED, number, bytes([code]) + said.encode()[:1000])


def error_of(payload: bytes) -> DeviceError:
    """Return the error that a refusal tells of."""
    code = payload[0] if payload else 0
    kind = ERRORS[code] if code < len(ERRORS) else DeviceError
    return kind(payload[1:].decode(errors="replace"))


def write_message(connection: socket.socket, message: Message, timeout: float) -> None:
    """Send a message, all of it within so many seconds."""
    end = time.monotonic() + timeout
    _within(connection, end)
    try:
        connection.sendall(message.header())
        for start in range(0, len(message.payload), PORTION_BYTES):
            _within(connection, end)
            connection.sendall(memoryview(message.payload)[start : start + PORTION_BYTES])
    except TimeoutError:
        raise _late(timeout) from None


def read_message(
    connection: socket.socket, timeout: float | None, payload_max: int = PAYLOAD_MAX
) -> Message | None:
    """Read a message, all of it within so many seconds; None if the connection ended before it."""
    end = None if timeout is None else time.monotonic() + timeout
    try:
        head = _read(connection, HEADER.size + CHECK.size, end)
        if not head:
            return None
        magic, kind, number, size = HEADER.unpack_from(head)
        if magic != MAGIC or kind not in set(Kind) or any(head[5:8]):
            raise AnswerError(f"{head.hex()} came where a message begins; is this a card's port?")
        if size > payload_max:
            raise AnswerError(f"a message has {size:,} bytes; at most {payload_max:,} are taken")
        payload = _read(connection, size, end)
    except TimeoutError:
        raise _late(timeout or 0.0) from None
    message = Message(Kind(kind), number, payload)
    if message.header() != head or len(payload) < size:
        raise AnswerError("a message came damaged: its check is not that of its bytes")
    return message


def _read(connection: socket.socket, size: int, end: float | None) -> bytearray:
    """Read so many bytes; none if the connection ended before them."""
    found = bytearray()
    while len(found) < size:
        _within(connection, end)
        portion = connection.recv(min(size - len(found), PORTION_BYTES))
        if not portion:
            if found:
                raise DeviceError(f"the connection ended after {len(found)} of {size} bytes")
            break
        found += portion
    return found


def _within(connection: socket.socket, end: float | None) -> None:
    """Let the next call last no longer than until then."""
    connection.settimeout(None if end is None else max(end - time.monotonic(), 0.001))


def _late(timeout: float) -> DeviceTimeoutError:
    return DeviceTimeoutError(f"the other side of the connection was silent for {timeout:g} s")
