"""The service: clients, one fair queue, and a worker thread per card."""

import asyncio
import os
import shutil
import socket
import ssl
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeton.accel.service.address import Address, keep_alive
from zeton.accel.service.connection import Connection
from zeton.accel.service.errors import RefusedError, ServiceError
from zeton.accel.service.fairness import FairQueue, Share
from zeton.accel.service.metrics import Metrics, resident_bytes
from zeton.accel.service.protocol import VERSION
from zeton.accel.service.requests import PackedIds
from zeton.accel.service.sessions import Sessions
from zeton.accel.service.settings import Settings
from zeton.accel.service.workers import Card, Software, Worker
from zeton.accel.transports.gate import check_token

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["Service"]

STREAM_BYTES = 1 << 18
"""Read-ahead buffer of a connection."""

TICK_SECONDS = 0.5


class Service:
    """Cards for many clients: call `start`, then `listen`, at the end `drain`."""

    def __init__(
        self,
        tokenizer: "Tokenizer",
        cards: Mapping[str, Callable[[], Card]],
        settings: Settings | None = None,
        *,
        token: bytes | None = None,
        group: str | None = None,
    ) -> None:
        """Keep the cards: for each name a function that opens and loads the card.

        Without cards, software encodes. Members of the Unix group `group` may use the sockets too.
        """
        self.settings = settings or Settings()
        self.token = None if token is None else check_token(token)
        self._group = group
        self.metrics = Metrics()
        self._queue = FairQueue(fallback=self.settings.fallback or not cards)
        self.sessions = Sessions(tokenizer, self.settings, self._queue, self.metrics)
        self._workers = [
            Worker(name, opener, self._queue, self._report, self.settings)
            for name, opener in cards.items()
        ]
        if self.settings.fallback or not cards:
            self._workers.append(
                Worker(
                    "software",
                    lambda: Software(tokenizer),
                    self._queue,
                    self._report,
                    self.settings,
                    is_card=False,
                )
            )
        self._connections: dict[Connection, asyncio.Task[None]] = {}
        self._servers: list[asyncio.Server] = []
        self._paths: list[tuple[str, int]] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._is_draining = False
        self.welcome: dict[str, Any] = {
            "version": VERSION,
            "tokenizer": tokenizer.digest,
            "body_bytes_max": self.settings.body_bytes_max,
            "texts_max": self.settings.texts_max,
            "in_flight_max": self.settings.in_flight_max,
        }
        """The body of WELCOME."""

    # ---- its life ----

    async def start(self) -> None:
        """Open the cards; raise the error of a card that cannot be built or loaded."""
        self._loop = asyncio.get_running_loop()
        await asyncio.gather(*(asyncio.to_thread(worker.start) for worker in self._workers))
        self._ticking = asyncio.create_task(self._tick())

    async def listen(self, address: Address, tls: ssl.SSLContext | None = None) -> Address:
        """Listen at an address, and return it; beyond the loopback with TLS and token."""
        if not address.is_local and (tls is None or self.token is None):
            raise ServiceError(
                f"{address} is open to other machines, which needs TLS and a token; "
                "give a certificate, its key and a token"
            )
        try:
            if address.path is not None:
                server = await asyncio.start_unix_server(
                    self._accept,
                    sock=bind_socket(address.path, self._group),
                    limit=STREAM_BYTES,
                    ssl=tls,
                )
                self._paths.append((address.path, os.stat(address.path).st_ino))  # noqa: PTH116
            else:
                server = await asyncio.start_server(
                    self._accept, address.host, address.port, limit=STREAM_BYTES, ssl=tls
                )
                address = Address(host=address.host, port=server.sockets[0].getsockname()[1])
        except ServiceError:
            raise
        except OSError as error:
            reason = error.strerror or error
            raise ServiceError(
                f"cannot listen at {address}: {reason}; give another address"
            ) from None
        self._servers.append(server)
        return address

    async def drain(self, seconds: float) -> int:
        """Refuse new clients, answer accepted requests, and end; return the number unanswered."""
        self._is_draining = True
        for server in self._servers:
            server.close()
        for path, inode in self._paths:
            with suppress(OSError):
                if os.stat(path).st_ino == inode:  # noqa: PTH116 - another service may have it.
                    os.unlink(path)  # noqa: PTH108
        for connection in list(self._connections):
            connection.drain()
        if tasks := set(self._connections.values()):
            await asyncio.wait(tasks, timeout=seconds)
        left = self.sessions.unanswered
        self.hurry()
        if tasks := set(self._connections.values()):
            await asyncio.wait(tasks, timeout=5)
        if self._ticking is not None:
            self._ticking.cancel()
        self._queue.close()
        await asyncio.gather(*(asyncio.to_thread(worker.stop, 5.0) for worker in self._workers))
        return left

    def hurry(self) -> None:
        """End all connections at once."""
        for connection in list(self._connections):
            connection.abort()

    async def _tick(self) -> None:
        """Expire sessions and check for hanging cards, twice a second."""
        while True:
            await asyncio.sleep(TICK_SECONDS)
            self.sessions.expire()
            for worker in self._workers:
                worker.check()

    # ---- clients and cards ----

    @property
    def is_full(self) -> bool:
        """Whether the limit of clients is exceeded; the new client is counted."""
        return len(self._connections) > self.settings.connections_max

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        full = len(self._connections) > self.settings.connections_max + 64
        if task is None or self._is_draining or full:
            writer.transport.abort()
            return
        channel = writer.get_extra_info("socket")
        if channel is not None:
            keep_alive(channel)
        connection = Connection(self, reader, writer)
        self._connections[connection] = task
        try:
            await connection.run()
        finally:
            del self._connections[connection]

    def _report(self, found: list[tuple[Share, PackedIds | RefusedError]]) -> None:
        """Pass a worker's answers to the event loop; called in the worker's thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # The service has ended.
                self._loop.call_soon_threadsafe(self.sessions.add_answers, found)

    # ---- health and metrics ----

    def health(self) -> dict[str, Any]:
        """Return the state of the service and of each card."""
        cards = [worker for worker in self._workers if worker.is_card]
        down = sum(not card.is_up for card in cards)
        can_encode = down < len(cards) or any(not worker.is_card for worker in self._workers)
        if self._is_draining:
            status = "draining"
        elif not can_encode:
            status = "down"
        else:
            status = "degraded" if down else "ok"
        return {
            "status": status,
            "tokenizer": self.welcome["tokenizer"],
            "cards": [
                {
                    "name": worker.name,
                    "up": worker.is_up,
                    "failure": worker.failure,
                    "failures": worker.failures,
                    "texts": worker.texts,
                    "bytes": worker.bytes,
                }
                for worker in self._workers
            ],
            "connections": len(self._connections),
            "unanswered": self.sessions.unanswered,
            "waiting_bytes": self.sessions.waiting.used,
            "answer_bytes": self.sessions.answers.size,
        }

    def metrics_text(self) -> str:
        """Return all metrics in Prometheus' text format."""
        return self.metrics.text(self._gauges())

    def _gauges(self) -> Iterator[tuple[str, float, dict[str, str]]]:
        yield "zeton_connections", len(self._connections), {}
        yield "zeton_sessions", len(self.sessions), {}
        yield "zeton_waiting_bytes", self.sessions.waiting.used, {}
        yield "zeton_answer_bytes", self.sessions.answers.size, {}
        yield "zeton_draining", int(self._is_draining), {}
        yield "process_cpu_seconds_total", time.process_time(), {}
        yield "process_resident_memory_bytes", resident_bytes(), {}
        for worker in self._workers:
            card = {"card": worker.name}
            yield "zeton_card_up", int(worker.is_up), card
            yield "zeton_card_batches_total", worker.batches, card
            yield "zeton_card_texts_total", worker.texts, card
            yield "zeton_card_text_bytes_total", worker.bytes, card
            yield "zeton_card_busy_seconds_total", worker.busy_seconds, card
            yield "zeton_card_failures_total", worker.failures, card


def bind_socket(path: str, group: str | None) -> socket.socket:
    """Return a socket at a path, accessible to its user, and to a group if one is named."""
    remove_stale(path)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.bind(path)
        if group is not None:
            shutil.chown(path, group=group)
        Path(path).chmod(0o600 if group is None else 0o660)  # Before it listens.
    except LookupError:
        made.close()
        raise ServiceError(f"no group {group!r}; create it, or name another") from None
    except BaseException:
        made.close()
        raise
    return made


def remove_stale(path: str) -> None:
    """Remove the socket of a killed service; refuse a socket that is in use."""
    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise ServiceError(
                f"{path} exists and is not a socket; remove it, or give another path"
            )
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(path)
        except OSError:
            with suppress(FileNotFoundError):
                Path(path).unlink()
            return
    raise ServiceError(f"a service listens at {path} already; stop it, or give another path")
