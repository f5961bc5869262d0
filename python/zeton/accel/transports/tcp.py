"""`tcp:HOST:PORT`: a card in another machine, behind a `CardServer`.

Each call is one request and its answer (`zeton.accel.wire.messages`).
"""

import contextlib
import secrets
import socket
import ssl
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from zeton.accel.errors import AnswerError, DeviceError, DeviceTimeoutError
from zeton.accel.transports.gate import check_gate
from zeton.accel.wire.messages import (
    Kind,
    Message,
    Numbers,
    read_error,
    read_message,
    write_message,
)

if TYPE_CHECKING:
    from zeton.accel.wire.packets import Packet, Words

__all__ = ["SESSION_BYTES", "TcpTransport"]

SESSION_BYTES = 16
"""Bytes of a random session id, by which a client gets its card back after a broken connection."""

CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0
"""Timeout of the last request, BYE; the server also notices a closed connection by itself."""


class TcpTransport:
    """A card behind a TCP connection (`Transport`).

    After an error of the connection every call fails until `reset` connects again.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        timeout: float = 60.0,
        token: bytes = b"",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Connect and claim the card; beyond the loopback, token and TLS (`context`) are needed."""
        check_gate(host, token, context)
        self._host, self._port, self._timeout = host, port, timeout
        self._token, self._context = token, context
        self._session = secrets.token_bytes(SESSION_BYTES)
        self._numbers = count(1)
        self._connection: socket.socket | None = None
        self._is_closed = False
        self._connect()

    def read32(self, address: int) -> int:
        """Read a register."""
        answer = self._request(Kind.READ, Numbers[1].pack(address))
        if len(answer) != 4:
            raise self._fail(AnswerError(f"a register came with {len(answer)} bytes, expected 4"))
        return int.from_bytes(answer, "little")

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        self._request(Kind.WRITE, Numbers[2].pack(address, value))

    def send(self, packet: "Packet") -> None:
        """Send whole words of 64 bits; the server buffers words that the card does not take yet."""
        self._request(Kind.SEND, packet)

    def receive(self, words_max: int, timeout: float) -> "Words":
        """Return at least one word of the card, in order; none after `timeout` seconds."""
        asked = Numbers[2].pack(words_max, min(round(timeout * 1000), 0xFFFFFFFF))
        answer = self._request(Kind.RECEIVE, asked, timeout)
        if len(answer) % 4 or len(answer) > 4 * words_max:
            said = f"{len(answer)} bytes came, expected at most {words_max} words of 4 bytes"
            raise self._fail(AnswerError(said))
        return np.frombuffer(answer, "<u4").astype(np.uint32, copy=False)

    def reset(self) -> None:
        """Drop packets not taken and words not received; reconnect if the connection broke."""
        if self._connection is None:
            self._connect()
        else:
            self._request(Kind.RESET)

    def close(self) -> None:
        """Release the card; closing again does nothing."""
        self._timeout = min(self._timeout, CLOSE_SECONDS)
        if self._connection is not None:
            with contextlib.suppress(DeviceError):  # The server releases the card in any case.
                self._request(Kind.BYE)
            self._drop()
        self._is_closed = True

    def _connect(self) -> None:
        if self._is_closed:
            raise DeviceError("the card was closed; open it again")
        where = f"{self._host}:{self._port}"
        wait = min(self._timeout, CONNECT_SECONDS)
        try:
            plain = socket.create_connection((self._host, self._port), wait)
        except (OSError, UnicodeError) as error:  # UnicodeError: an invalid host name.
            raise DeviceError(
                f"cannot connect to {where}: {error}; is zeton accel card-server running there?"
            ) from error
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tls = self._context
            self._connection = tls.wrap_socket(plain, server_hostname=self._host) if tls else plain
        except OSError as error:
            plain.close()
            raise DeviceError(
                f"TLS with {where} failed: {error}; check its certificate and ZETON_CARD_AUTHORITY"
            ) from error
        try:
            self._request(Kind.HELLO, self._session + self._token)
        except DeviceError:
            self._drop()
            raise

    def _request(self, kind: Kind, payload: "Packet" = b"", wait: float = 0.0) -> "Packet":
        """Send a request, and return its answer."""
        if self._connection is None:
            said = "was closed; open it again" if self._is_closed else "was lost; reset the device"
            raise DeviceError(f"the connection to {self._host}:{self._port} {said}")
        request = Message(kind, next(self._numbers) & 0xFFFFFFFF, payload)
        try:
            write_message(self._connection, request, self._timeout)
            answer = read_message(self._connection, self._timeout + wait)
        except (OSError, ValueError) as error:
            raise self._fail(error) from error
        if answer is None:
            raise self._fail(DeviceError("the server ended the connection; reset the device"))
        if answer.number != request.number or answer.kind not in (Kind.DONE, Kind.REFUSED):
            said = f"{answer.kind.name} {answer.number} does not answer {kind.name}"
            raise self._fail(AnswerError(f"{said} {request.number}; reset the device"))
        if answer.kind is Kind.REFUSED:
            raise read_error(bytes(answer.payload))
        return answer.payload

    def _fail(self, error: Exception) -> DeviceError:
        """Drop the connection, because pending messages are unknown, and return the error."""
        self._drop()
        if isinstance(error, DeviceError):
            return error
        if isinstance(error, TimeoutError):
            return DeviceTimeoutError(f"the card server does not answer: {error}; reset the device")
        return DeviceError(f"the connection to the card is lost: {error}; reset the device")

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
