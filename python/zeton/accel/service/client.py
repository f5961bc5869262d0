"""A client that repeats unanswered requests over lost connections and restarts of the service.

A repeated request has the same id, so the service recognizes it.
"""

import asyncio
import json
import os
import random
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from zeton.accel.service.address import Address, keep_alive
from zeton.accel.service.errors import Code, ProtocolError, RefusedError, ServiceError, is_final
from zeton.accel.service.protocol import (
    Header,
    Kind,
    Options,
    frame,
    pack_hello,
    pack_request,
    read_answer,
    read_frame,
    read_refusal,
    read_welcome,
    split_requests,
)
from zeton.accel.transports.gate import authority_context, system_context
from zeton.accel.wire.texts import Specials, Text, to_bytes

__all__ = ["AsyncClient"]

RETRY_SECONDS = (0.02, 1.0)
"""First and longest pause between two attempts to connect."""

CONNECT_SECONDS = 10.0

ANSWERS = {Kind.ENCODE: Kind.IDS, Kind.HEALTH: Kind.HEALTH, Kind.METRICS: Kind.METRICS}


@dataclass(slots=True, eq=False)
class _PendingRequest:
    """A request without an answer yet."""

    kind: Kind
    content: bytes
    texts: int
    answer: "asyncio.Future[Any]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class AsyncClient:
    """A client for asyncio: `async with AsyncClient("unix:/run/zeton/accel.sock") as client`.

    Unanswered requests are sent again after a lost connection. After `patience` seconds without a
    connection they fail with `ServiceError`.
    """

    def __init__(
        self,
        address: str | Address,
        *,
        token: bytes | None = None,
        authority: Path | None = None,
        patience: float = 60.0,
        in_flight: int = 16,
    ) -> None:
        """Keep the address; beyond the loopback TLS is used and `token` is required."""
        self._address = Address.parse(address) if isinstance(address, str) else address
        is_remote = not self._address.is_local
        if is_remote and not token:
            raise ServiceError(
                f"{self._address} is another machine, which needs a token; give token="
            )
        self._tls = system_context() if is_remote else None
        if authority is not None:
            self._tls = authority_context(authority)
        self._token = token or b""
        self._patience = patience
        self._in_flight = asyncio.Semaphore(in_flight)
        self._session = os.urandom(16)
        self._pending: dict[int, _PendingRequest] = {}
        self._next = 1
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None
        self._welcome: asyncio.Future[dict[str, Any]] | None = None
        self._until = 0.0
        self.connections = 0
        """Number of connections made so far."""

    async def __aenter__(self) -> Self:
        """Connect to the service."""
        self._welcome = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())
        try:
            await asyncio.shield(self._welcome)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Disconnect."""
        await self.close()

    async def close(self) -> None:
        """Disconnect; unanswered requests fail."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.write(frame(Kind.GOODBYE, 0))
                async with asyncio.timeout(1):
                    await self._writer.drain()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._fail(ServiceError("the client is closed; make a new one"))

    # ---- the public methods ----

    @property
    def service(self) -> dict[str, Any]:
        """The service's welcome: its tokenizer and its limits."""
        if self._welcome is None or not self._welcome.done():
            raise ServiceError("the client is not open; use it in `async with`")
        return self._welcome.result()

    async def encode(
        self,
        text: Text,
        *,
        allowed_special: Specials = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
    ) -> list[int]:
        """Encode a text into a list of ids, as `Tokenizer.encode` does."""
        found = await self.encode_batch(
            [text], allowed_special=allowed_special, prepend=prepend, append=append
        )
        return found[0]

    async def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Specials = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
    ) -> list[list[int]]:
        """Encode many texts, in several requests at the same time."""
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            raise TypeError("a batch is a list of texts, not one text")
        named = (
            allowed_special
            if allowed_special is None or isinstance(allowed_special, str)
            else tuple(allowed_special)
        )
        options = Options(named, prepend, append)
        groups = split_requests([to_bytes(text) for text in texts], self.service["texts_max"])
        tasks = [asyncio.ensure_future(self._encode(group, options)) for group in groups]
        try:
            return [ids for answer in await asyncio.gather(*tasks) for ids in answer]
        finally:
            for task in tasks:
                task.cancel()

    async def health(self) -> dict[str, Any]:
        """Return the state of the service."""
        return dict(json.loads(await self._ask(Kind.HEALTH, b"", 0)))

    async def metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return str((await self._ask(Kind.METRICS, b"", 0)).decode())

    # ---- requests ----

    async def _encode(self, texts: list[bytes], options: Options) -> list[list[int]]:
        async with self._in_flight:
            body = pack_request(min(self._pending, default=self._next), options, texts)
            if len(body) > (most := self.service["body_bytes_max"]):
                raise RefusedError(
                    f"the request has {len(body):,} bytes, more than {most:,}; send fewer texts",
                    Code.SIZE,
                )
            return await self._ask(Kind.ENCODE, body, len(texts))  # type: ignore[no-any-return]

    async def _ask(self, kind: Kind, body: bytes, texts: int) -> Any:  # noqa: ANN401 - by kind.
        if self._task is None or self._task.done():
            raise ServiceError("the client is closed; make a new one")
        if not self._pending:
            self._be_patient()
        number, self._next = self._next, self._next + 1
        request = self._pending[number] = _PendingRequest(kind, frame(kind, number, body), texts)
        try:
            await self._send(request.content)
            return await request.answer
        finally:
            self._pending.pop(number, None)
            if not self._pending:
                # Without drain, because a cancelled task must not wait.
                self._write(frame(Kind.DONE, self._next))

    async def _send(self, content: bytes) -> None:
        """Send to the service, with its backpressure."""
        self._write(content)
        if self._writer is not None:
            with suppress(OSError):
                await self._writer.drain()

    def _write(self, content: bytes) -> None:
        """Send if there is a connection; a new connection sends all unanswered requests."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(content)

    # ---- the connection ----

    async def _run(self) -> None:
        """Keep a connection until the client disconnects or patience ends."""
        self._be_patient()
        wait = RETRY_SECONDS[0]
        while True:
            reached = self.connections
            try:
                await self._receive(await self._connect())
            except Exception as error:  # noqa: BLE001 - any error must reach the waiting callers.
                if is_final(error) or (self._is_awaited and self._now() > self._until):
                    self._fail(error)
                    return
            finally:
                if self._writer is not None:
                    self._writer.close()
                    self._writer = None
            wait = RETRY_SECONDS[0] if self.connections > reached else wait
            await asyncio.sleep(wait * random.uniform(0.5, 1))  # noqa: S311 - no secret.
            wait = min(2 * wait, RETRY_SECONDS[1])

    @property
    def _is_awaited(self) -> bool:
        """Whether a caller waits for an answer or for the first connection."""
        return bool(self._pending) or self._welcome is None or not self._welcome.done()

    def _be_patient(self) -> None:
        self._until = self._now() + self._patience

    async def _connect(self) -> asyncio.StreamReader:
        """Connect, send HELLO, and send all unanswered requests again."""
        async with asyncio.timeout(CONNECT_SECONDS):
            reader, writer = await self._open()
            try:
                writer.write(frame(Kind.HELLO, 0, pack_hello(self._session, self._token)))
                self._greet(*await read_frame(reader))
            except BaseException:
                writer.close()
                raise
        self.connections += 1
        self._writer = writer
        for request in list(self._pending.values()):
            writer.write(request.content)
        return reader

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        address = self._address
        if address.path is not None:
            return await asyncio.open_unix_connection(address.path)
        reader, writer = await asyncio.open_connection(address.host, address.port, ssl=self._tls)
        channel = writer.get_extra_info("socket")
        if channel is not None:
            keep_alive(channel)
        return reader, writer

    def _greet(self, header: Header, body: bytes) -> None:
        """Read the service's welcome; after a reconnection the tokenizer must be the same."""
        if header.kind == Kind.REFUSED:
            raise read_refusal(body)
        if header.kind != Kind.WELCOME or self._welcome is None:
            raise ProtocolError(
                f"the service sent a frame of kind {header.kind} first, expected WELCOME"
            )
        said = read_welcome(body)
        if not self._welcome.done():
            self._welcome.set_result(said)
        elif said["tokenizer"] != self._welcome.result()["tokenizer"]:
            raise ServiceError(
                "the service has another tokenizer since its restart; make a new client"
            )

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        while True:
            header, body = await read_frame(reader)
            if header.kind == Kind.GOODBYE:
                return
            if header.kind == Kind.REFUSED and not header.number:
                raise read_refusal(body)
            self._be_patient()
            request = self._pending.get(header.number)
            if request is None or request.answer.done():
                continue  # A repeated answer, or a cancelled request.
            # An invalid answer leaves the request unanswered.
            if header.kind == Kind.REFUSED:
                request.answer.set_exception(read_refusal(body))
            elif header.kind != ANSWERS[request.kind]:
                raise ProtocolError(
                    f"a frame of kind {header.kind} answers a request of kind {request.kind}"
                )
            elif header.kind == Kind.IDS:
                request.answer.set_result(read_answer(body, request.texts))
            else:
                request.answer.set_result(body)
            del self._pending[header.number]

    def _fail(self, error: Exception) -> None:
        """Raise the error in every waiting caller."""
        if not isinstance(error, ServiceError):
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            error = ServiceError(
                f"cannot reach {self._address}: {reason}; is zeton accel serve running there?"
            )
        for request in list(self._pending.values()):
            if not request.answer.done():
                request.answer.set_exception(error)
        self._pending.clear()
        if self._welcome is not None and not self._welcome.done():
            self._welcome.set_exception(error)
            self._welcome.exception()  # Marks it as retrieved; a waiting caller raises it.

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
