"""A card in another machine: `tcp:HOST:PORT`, where a `CardServer` serves it."""

import contextlib
import secrets
import socket
import ssl
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from zeton.accel.errors import AnswerError, DeviceError, DeviceTimeoutError
from zeton.accel.transports.gate import check_gate
from zeton.accel.wire.messages import Kind, Message, Numbers, error_of, read_message, write_message

if TYPE_CHECKING:
    from zeton.accel.wire.packets import Packet, Words

__all__ = ["SESSION_BYTES", "TcpTransport"]

SESSION_BYTES = 16
"""Bytes that tell a client from all others, so that it can come back when its connection broke."""

CONNECT_SECONDS = 10.0
CLOSE_SECONDS = 5.0
"""How long the other side has to say that it let the card go; it finds out by itself, too."""


class TcpTransport:
    """The way to a card over a connection (`Transport`).

    After an error of the connection every call fails until `reset`, which connects again.
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
        """Connect, and take hold of the card; `context` is TLS, a must beyond the loopback."""
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
        answer = self._ask(Kind.READ, Numbers[1].pack(address))
        if len(answer) != 4:
            raise self._broken(AnswerError(f"a register came with {len(answer)} bytes, not 4"))
        return int.from_bytes(answer, "little")

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        self._ask(Kind.WRITE, Numbers[2].pack(address, value))

    def send(self, packet: "Packet") -> None:
        """Send whole words of 64 bits; the other side keeps what the card does not take yet."""
        self._ask(Kind.SEND, packet)

    def receive(self, words_max: int, timeout: float) -> "Words":
        """Return at least one word of the card, in order; none if so many seconds pass without."""
        asked = Numbers[2].pack(words_max, min(round(timeout * 1000), 0xFFFFFFFF))
        answer = self._ask(Kind.RECEIVE, asked, timeout)
        if len(answer) % 4 or len(answer) > 4 * words_max:
            said = f"{len(answer)} bytes came for {words_max} words at most"
            raise self._broken(AnswerError(said))
        return np.frombuffer(answer, "<u4").astype(np.uint32, copy=False)

    def reset(self) -> None:
        """Drop what was sent and not taken, and what was not received; connect again if need be."""
        if self._connection is None:
            self._connect()
        else:
            self._ask(Kind.RESET)

    def close(self) -> None:
        """Let the card go; to close again does nothing."""
        self._timeout = min(self._timeout, CLOSE_SECONDS)
        if self._connection is not None:
            with contextlib.suppress(DeviceError):  # It is let go all the same.
                self._ask(Kind.BYE)
            self._drop()
        self._is_closed = True

    def _connect(self) -> None:
        if self._is_closed:
            raise DeviceError("the card was closed; open it again")
        where = f"{self._host}:{self._port}"
        wait = min(self._timeout, CONNECT_SECONDS)
        try:
            plain = socket.create_connection((self._host, self._port), wait)
        except (OSError, UnicodeError) as error:  # A host's name may be none.
            raise DeviceError(f"there is no card at {where}: {error}") from error
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            tls = self._context
            self._connection = tls.wrap_socket(plain, server_hostname=self._host) if tls else plain
        except OSError as error:
            plain.close()
            raise DeviceError(f"{where} is not trusted, or speaks no TLS: {error}") from error
        try:
            self._ask(Kind.HELLO, self._session + self._token)
        except DeviceError:
            self._drop()
            raise

    def _ask(self, kind: Kind, payload: "Packet" = b"", wait: float = 0.0) -> "Packet":
        """Send a request, and return its answer."""
        if self._connection is None:
            said = "was closed" if self._is_closed else "was lost; reset the card"
            raise DeviceError(f"the connection to {self._host}:{self._port} {said}")
        request = Message(kind, next(self._numbers) & 0xFFFFFFFF, payload)
        try:
            write_message(self._connection, request, self._timeout)
            answer = read_message(self._connection, self._timeout + wait)
        except (OSError, ValueError) as error:
            raise self._broken(error) from error
        if answer is None:
            raise self._broken(DeviceError("the other side ended the connection; reset the card"))
        if answer.number != request.number or answer.kind not in (Kind.DONE, Kind.REFUSED):
            said = f"{answer.kind.name} {answer.number} is no answer to {kind.name}"
            raise self._broken(AnswerError(f"{said} {request.number}; reset the card"))
        if answer.kind is Kind.REFUSED:
            raise error_of(bytes(answer.payload))
        return answer.payload

    def _broken(self, error: Exception) -> DeviceError:
        """Give the connection up, as nobody knows what is still on its way, and say why."""
        self._drop()
        if isinstance(error, DeviceError):
            return error
        if isinstance(error, TimeoutError):
            return DeviceTimeoutError(f"the card's machine does not answer: {error}")
        return DeviceError(f"the connection to the card is lost: {error}; reset the card")

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
