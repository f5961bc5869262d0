"""Messages of `tcp:HOST:PORT`, the protocol between a client and a card in another machine.

A message is a header of 20 bytes and a payload; numbers are little endian:

    bytes 0-3    `ZTN1`
    byte  4      kind
    bytes 5-7    0
    bytes 8-11   number of the request; the answer repeats it
    bytes 12-15  bytes of payload
    bytes 16-19  CRC-32 of bytes 0-15 and the payload

A client sends one request at a time and waits for its answer.
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
    "make_refusal",
    "read_error",
    "read_message",
    "write_message",
]

MAGIC = b"ZTN1"
HEADER = struct.Struct("<4sB3xII")
CHECK = struct.Struct("<I")
Numbers = {1: struct.Struct("<I"), 2: struct.Struct("<II")}
"""Payloads of one number of 32 bits, and of two."""

PAYLOAD_MAX = 1 << 28
"""Largest payload in bytes."""

PORTION_BYTES = 1 << 20
"""Bytes per read, because a size in a header alone must not reserve memory."""


class Kind(IntEnum):
    """Kinds of messages: requests below 128, answers from 128 on."""

    HELLO = 1
    """The client's session (16 bytes) and its token."""
    READ = 2
    """An address; the answer is the register."""
    WRITE = 3
    """An address and a value."""
    SEND = 4
    """A packet."""
    RECEIVE = 5
    """Largest number of words, and milliseconds to wait; the answer is words, or nothing."""
    RESET = 6
    BYE = 7
    DONE = 128
    """The request is done; the payload is its result."""
    REFUSED = 129
    """The request failed: a byte for the type of the error, and its message in UTF-8."""


ERRORS: tuple[type[DeviceError], ...] = (DeviceError, DeviceTimeoutError, AnswerError, BusyError)
"""Types of errors, by their number in a REFUSED message."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message: kind, number of the request, and payload.

    >>> Message(Kind.READ, 7, Numbers[1].pack(0x14)).to_bytes().hex(" ", 4)
    '5a544e31 02000000 07000000 04000000 b3ea218f 14000000'
    """

    kind: Kind
    number: int
    payload: Packet = b""

    def header(self) -> bytes:
        """Return the header, including the CRC-32 over header and payload."""
        head = HEADER.pack(MAGIC, self.kind, self.number, len(self.payload))
        return head + CHECK.pack(zlib.crc32(self.payload, zlib.crc32(head)))

    def to_bytes(self) -> bytes:
        """Return the bytes of the message."""
        return self.header() + self.payload


def make_refusal(number: int, error: OSError) -> Message:
    """Return the answer to a request that failed with an error."""
    code = next((at for at, kind in enumerate(ERRORS) if type(error) is kind), 0)
    said = str(error)
    if not isinstance(error, DeviceError):
        said = f"the card cannot be reached: {said}"
    return Message(Kind.REFUSED, number, bytes([code]) + said.encode()[:1000])


def read_error(payload: bytes) -> DeviceError:
    """Return the error that a REFUSED payload carries."""
    code = payload[0] if payload else 0
    kind = ERRORS[code] if code < len(ERRORS) else DeviceError
    return kind(payload[1:].decode(errors="replace"))


def write_message(connection: socket.socket, message: Message, timeout: float) -> None:
    """Send a whole message within `timeout` seconds."""
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
    """Read a whole message within `timeout` seconds; None if the connection ended before it."""
    end = None if timeout is None else time.monotonic() + timeout
    try:
        head = _read(connection, HEADER.size + CHECK.size, end)
        if not head:
            return None
        magic, kind, number, size = HEADER.unpack_from(head)
        if magic != MAGIC or kind not in set(Kind) or any(head[5:8]):
            raise AnswerError(
                f"received {head.hex()}, expected the header of a message; "
                "check that HOST:PORT is a card server"
            )
        if size > payload_max:
            raise AnswerError(
                f"received a message of {size:,} bytes, expected at most {payload_max:,}"
            )
        payload = _read(connection, size, end)
    except TimeoutError:
        raise _late(timeout or 0.0) from None
    message = Message(Kind(kind), number, payload)
    if message.header() != head or len(payload) < size:
        raise AnswerError("received a damaged message: its CRC-32 is wrong; reset the device")
    return message


def _read(connection: socket.socket, size: int, end: float | None) -> bytearray:
    """Read `size` bytes; an empty result if the connection ended before the first."""
    found = bytearray()
    while len(found) < size:
        _within(connection, end)
        portion = connection.recv(min(size - len(found), PORTION_BYTES))
        if not portion:
            if found:
                raise DeviceError(
                    f"the connection ended after {len(found)} of {size} bytes; reset the device"
                )
            break
        found += portion
    return found


def _within(connection: socket.socket, end: float | None) -> None:
    """Limit the next call on the socket to the time until `end`."""
    connection.settimeout(None if end is None else max(end - time.monotonic(), 0.001))


def _late(timeout: float) -> DeviceTimeoutError:
    return DeviceTimeoutError(
        f"the other side was silent for {timeout:g} seconds; reset the device"
    )
