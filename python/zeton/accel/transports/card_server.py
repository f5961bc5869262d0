"""The server of `tcp:HOST:PORT`: serves any transport to one client at a time.

A client has the card from HELLO to BYE. A client that connects again with its session id takes the
card over from its former connection.
"""

import contextlib
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from zeton.accel.errors import BusyError, DeviceError
from zeton.accel.transports.gate import check_gate, has_token
from zeton.accel.transports.tcp import SESSION_BYTES
from zeton.accel.wire.messages import (
    Kind,
    Message,
    Numbers,
    make_refusal,
    read_message,
    write_message,
)

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

__all__ = ["CardServer"]

HELLO_SECONDS = 10.0
HELLO_BYTES = SESSION_BYTES + 1024
"""Limits of the first message, in seconds and bytes."""

ANSWER_SECONDS = 60.0
"""Time in which a client must read an answer."""

CONNECTIONS_MAX = 16
"""Largest number of open connections."""

WORDS_MAX = 1 << 20
"""Largest number of words in one answer."""

SLICE_SECONDS = 0.1
"""Time that a RECEIVE waits for the card before it checks the client."""

KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""Options by which the system detects, in half a minute, that the client's machine is gone."""


@dataclass(eq=False)
class _Client:
    """The client that holds the card."""

    session: bytes
    connection: socket.socket
    is_over: threading.Event = field(default_factory=threading.Event)
    """Set when the client has another connection, or the server stops."""


class CardServer:
    """Serves a transport, which stays open when the server stops."""

    def __init__(
        self,
        transport: "Transport",
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: bytes = b"",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Listen; port 0 takes a free one. Beyond the loopback, token and TLS are needed."""
        check_gate(host, token, context)
        self._transport, self._token, self._context = transport, token, context
        self._card = threading.Lock()
        """Held while the transport is in use."""
        self._claim = threading.Lock()
        self._holder: _Client | None = None
        self._room = threading.Semaphore(CONNECTIONS_MAX)
        self._is_stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise DeviceError(
                f"cannot listen at {host}:{port}: {error}; give another HOST:PORT"
            ) from error
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self._listener.getsockname()[1])

    def serve(self) -> None:
        """Serve clients until `stop`."""
        self._listener.settimeout(SLICE_SECONDS)
        while not self._is_stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                break  # It was closed.
            if not self._room.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._welcome, args=(connection,), daemon=True).start()
        self._listener.close()

    def stop(self) -> None:
        """End all connections, and stop listening."""
        self._is_stopping.set()
        with self._claim:
            for connection in self._connections:
                _shut(connection)
            if self._holder is not None:
                self._holder.is_over.set()
        if self._thread is not None:
            self._thread.join()
        self._listener.close()
        with self._card:
            pass  # Waits for the last request.

    def __enter__(self) -> Self:
        """Serve in a thread until the end of the block."""
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End all connections."""
        self.stop()

    # ---- a client ----

    def _welcome(self, connection: socket.socket) -> None:
        """Serve one connection."""
        try:
            with contextlib.suppress(
                OSError, ValueError
            ):  # The connection ended, or its bytes were invalid.
                self._converse(connection)
        finally:
            connection.close()
            self._room.release()

    def _converse(self, plain: socket.socket) -> None:
        for name, value in KEEPALIVE.items():
            if hasattr(socket, name):
                plain.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        plain.settimeout(HELLO_SECONDS)
        connection = self._context.wrap_socket(plain, server_side=True) if self._context else plain
        with connection, self._track(connection):
            hello = read_message(connection, HELLO_SECONDS, HELLO_BYTES)
            if hello is None:
                return
            try:
                client = self._admit(hello, connection)
            except DeviceError as error:
                write_message(connection, make_refusal(hello.number, error), HELLO_SECONDS)
                return
            try:
                write_message(connection, Message(Kind.DONE, hello.number), ANSWER_SECONDS)
                self._serve(client)
            finally:
                self._release(client)

    @contextlib.contextmanager
    def _track(self, connection: socket.socket) -> Iterator[None]:
        """Register a connection while it is open, so that `stop` can end it."""
        with self._claim:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._claim:
                self._connections.discard(connection)

    def _admit(self, hello: Message, connection: socket.socket) -> _Client:
        """Give the card to a client with a valid token, or refuse the client."""
        content = bytes(hello.payload)
        if hello.kind is not Kind.HELLO or len(content) < SESSION_BYTES:
            raise DeviceError(
                f"{hello.kind.name} came first, expected HELLO with a session and a token"
            )
        session, token = content[:SESSION_BYTES], content[SESSION_BYTES:]
        if self._token and not has_token(token, self._token):
            raise DeviceError("the token is not the card's; give the one that its server has")
        client = _Client(session, connection)
        with self._claim:
            before = self._holder
            if self._is_stopping.is_set() or (before and before.session != session):
                raise BusyError("the card belongs to another client; wait until it is closed")
            self._holder = client
            if before:
                before.is_over.set()
                _shut(before.connection)
        try:
            with self._card:
                self._transport.reset()
        except OSError as error:
            self._release(client)
            raise DeviceError(f"the card cannot be reached: {error}") from error
        return client

    def _release(self, client: _Client) -> None:
        with self._claim:
            if self._holder is client:
                self._holder = None

    def _serve(self, client: _Client) -> None:
        """Answer requests one after another, until the client leaves."""
        while self._holder is client:
            request = read_message(client.connection, None)
            if request is None:
                return
            try:
                with self._card:
                    if client.is_over.is_set():
                        return
                    found = self._execute(request, client)
                answer = Message(Kind.DONE, request.number, found)
            except OSError as error:
                answer = make_refusal(request.number, error)
            if request.kind is Kind.BYE:
                # Released before the answer, because the answer permits a new open.
                self._release(client)
            write_message(client.connection, answer, ANSWER_SECONDS)

    def _execute(self, request: Message, client: _Client) -> bytes:
        """Carry out a request, and return the payload of its answer."""
        card, payload = self._transport, request.payload
        match request.kind, len(payload):
            case Kind.READ, 4:
                return Numbers[1].pack(card.read32(*_address(*Numbers[1].unpack(payload))))
            case Kind.WRITE, 8:
                address, value = Numbers[2].unpack(payload)
                card.write32(*_address(address), value)
            case Kind.SEND, size if size and size % 8 == 0:
                card.send(payload)
            case Kind.RECEIVE, 8:
                words, wait = Numbers[2].unpack(payload)
                return self._receive(min(words, WORDS_MAX), wait / 1000, client)
            case Kind.RESET, 0:
                card.reset()
            case Kind.BYE, 0:
                pass
            case kind, size:
                raise DeviceError(
                    f"{kind.name} with a payload of {size} bytes is not a request of the protocol"
                )
        return b""

    def _receive(self, words_max: int, timeout: float, client: _Client) -> bytes:
        """Receive words, and stop early when the client sends or leaves."""
        end = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            wait = min(SLICE_SECONDS, max(end - now, 0.0))
            words = self._transport.receive(words_max, wait)
            passed = time.monotonic() - now
            # A card that returns early without words has none to come.
            if words.size or passed < wait or time.monotonic() >= end:
                return words.astype("<u4", copy=False).tobytes()
            if client.is_over.is_set() or select.select([client.connection], [], [], 0)[0]:
                return b""


def _address(address: int) -> tuple[int]:
    if address % 4 or address >= 1 << 16:
        raise DeviceError(f"no register {address:#x}; give a multiple of 4 below 0x10000")
    return (address,)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
