"""The other side of `tcp:HOST:PORT`: any transport, served to one client at a time."""

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
from zeton.accel.transports.gate import check_gate, token_is
from zeton.accel.transports.tcp import SESSION_BYTES
from zeton.accel.wire.messages import Kind, Message, Numbers, read_message, refusal, write_message

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

__all__ = ["CardServer"]

HELLO_SECONDS = 10.0
HELLO_BYTES = SESSION_BYTES + 1024
"""How long a stranger may take to say who it is, and how much it may say."""

ANSWER_SECONDS = 60.0
"""How long a client may take to take an answer."""

CONNECTIONS_MAX = 16
"""Clients and strangers at once."""

WORDS_MAX = 1 << 20
"""Words of one answer at most."""

SLICE_SECONDS = 0.1
"""How long the card is waited for between two looks at the client."""

KEEPALIVE = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""A client whose machine is gone loses the card, where the system lets one say after how long."""


@dataclass(eq=False)
class _Client:
    """Whose card it is."""

    session: bytes
    connection: socket.socket
    is_over: threading.Event = field(default_factory=threading.Event)
    """It came back by another connection, or the server stops."""


class CardServer:
    """Serves a transport; it is the server's until it stops, and stays open then."""

    def __init__(
        self,
        transport: "Transport",
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: bytes = b"",
        context: ssl.SSLContext | None = None,
    ) -> None:
        """Listen; port 0 is any that is free. Beyond the loopback TLS and a token are a must."""
        check_gate(host, token, context)
        self._transport, self._token, self._context = transport, token, context
        self._card = threading.Lock()
        """Who has it may use the transport."""
        self._claim = threading.Lock()
        self._holder: _Client | None = None
        self._room = threading.Semaphore(CONNECTIONS_MAX)
        self._is_stopping = threading.Event()
        self._connections: set[socket.socket] = set()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._listener = socket.create_server((host, port), family=family)
        except OSError as error:
            raise DeviceError(f"cannot listen at {host}:{port}: {error}") from error
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """Where it listens."""
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
        """Let all clients go, and listen no more."""
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
            pass  # The last request is done.

    def __enter__(self) -> Self:
        """Serve in a thread until the end of the block."""
        self._thread = threading.Thread(target=self.serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Let all clients go."""
        self.stop()

    # ---- a client ----

    def _welcome(self, connection: socket.socket) -> None:
        """Do all that one connection asks for."""
        try:
            with contextlib.suppress(OSError, ValueError):  # It ended, or it was nonsense.
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
        with connection, self._noted(connection):
            hello = read_message(connection, HELLO_SECONDS, HELLO_BYTES)
            if hello is None:
                return
            try:
                client = self._admit(hello, connection)
            except DeviceError as error:
                write_message(connection, refusal(hello.number, error), HELLO_SECONDS)
                return
            try:
                write_message(connection, Message(Kind.DONE, hello.number), ANSWER_SECONDS)
                self._serve(client)
            finally:
                self._release(client)

    @contextlib.contextmanager
    def _noted(self, connection: socket.socket) -> Iterator[None]:
        """Remember a connection while it lasts, so that `stop` ends it."""
        with self._claim:
            self._connections.add(connection)
        try:
            yield
        finally:
            with self._claim:
                self._connections.discard(connection)

    def _admit(self, hello: Message, connection: socket.socket) -> _Client:
        """Give the card to a client that may have it."""
        content = bytes(hello.payload)
        if hello.kind is not Kind.HELLO or len(content) < SESSION_BYTES:
            raise DeviceError(f"{hello.kind.name} came before HELLO; say who you are")
        session, token = content[:SESSION_BYTES], content[SESSION_BYTES:]
        if self._token and not token_is(token, self._token):
            raise DeviceError("the token is not the card's; give the one that its server has")
        client = _Client(session, connection)
        with self._claim:
            before = self._holder
            if self._is_stopping.is_set() or (before and before.session != session):
                raise BusyError("the card belongs to another client; wait until that one is done")
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
        """Answer requests, one after another, until the client goes."""
        while self._holder is client:
            request = read_message(client.connection, None)
            if request is None:
                return
            try:
                with self._card:
                    if client.is_over.is_set():
                        return
                    found = self._done(request, client)
                answer = Message(Kind.DONE, request.number, found)
            except OSError as error:
                answer = refusal(request.number, error)
            if request.kind is Kind.BYE:
                self._release(client)  # Before the answer: who has it may open the card again.
            write_message(client.connection, answer, ANSWER_SECONDS)

    def _done(self, request: Message, client: _Client) -> bytes:
        """Do what is asked for, and return what was found."""
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
                return self._received(min(words, WORDS_MAX), wait / 1000, client)
            case Kind.RESET, 0:
                card.reset()
            case Kind.BYE, 0:
                pass
            case kind, size:
                raise DeviceError(f"{kind.name} with {size} bytes is no request")
        return b""

    def _received(self, words_max: int, timeout: float, client: _Client) -> bytes:
        """Receive words; the client may be gone before there are some."""
        end = time.monotonic() + timeout
        while True:
            now = time.monotonic()
            wait = min(SLICE_SECONDS, max(end - now, 0.0))
            words = self._transport.receive(words_max, wait)
            passed = time.monotonic() - now
            # A card that has nothing, and does not wait, knows that nothing will come.
            if words.size or passed < wait or time.monotonic() >= end:
                return words.astype("<u4", copy=False).tobytes()
            if client.is_over.is_set() or select.select([client.connection], [], [], 0)[0]:
                return b""


def _address(address: int) -> tuple[int]:
    if address % 4 or address >= 1 << 16:
        raise DeviceError(f"there is no register {address:#x}; they have whole multiples of 4")
    return (address,)


def _shut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
