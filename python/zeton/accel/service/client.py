"""A client that asks until it is answered: over lost connections and restarts of the service."""

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
    grouped,
    pack_hello,
    pack_request,
    read_answer,
    read_frame,
    read_refusal,
    read_welcome,
)
from zeton.accel.transports.gate import authority_context, system_context
from zeton.accel.wire.texts import Specials, Text, bytes_of

__all__ = ["AsyncClient"]

RETRY_SECONDS = (0.02, 1.0)
"""The first and the longest wait before the service is tried again."""

CONNECT_SECONDS = 10.0

ANSWERS = {Kind.ENCODE: Kind.IDS, Kind.HEALTH: Kind.HEALTH, Kind.METRICS: Kind.METRICS}


@dataclass(slots=True, eq=False)
class _Asked:
    """A request that is not answered."""

    kind: Kind
    content: bytes
    texts: int
    answer: "asyncio.Future[Any]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class AsyncClient:
    """A service from asyncio: `async with AsyncClient("unix:/run/zeton/accel.sock") as client`.

    What was asked and not answered is asked again, under the same id, when a connection is lost;
    after `patience` seconds without one, it fails.
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
        """Name the service; beyond the loopback, TLS is used and the token is needed."""
        self._address = Address.parse(address) if isinstance(address, str) else address
        is_remote = not self._address.is_local
        if is_remote and not token:
            raise ServiceError(f"{self._address} is another machine; give its token")
        self._tls = system_context() if is_remote else None
        if authority is not None:
            self._tls = authority_context(authority)
        self._token = token or b""
        self._patience = patience
        self._in_flight = asyncio.Semaphore(in_flight)
        self._session = os.urandom(16)
        self._asked: dict[int, _Asked] = {}
        self._next = 1
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None
        self._welcome: asyncio.Future[dict[str, Any]] | None = None
        self._until = 0.0
        self.connections = 0
        """How often the service was reached."""

    async def __aenter__(self) -> Self:
        """Reach the service."""
        self._welcome = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run())
        try:
            await asyncio.shield(self._welcome)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Leave."""
        await self.close()

    async def close(self) -> None:
        """Leave; what is not answered fails."""
        if self._writer is not None:
            with suppress(OSError):
                self._writer.write(frame(Kind.GOODBYE, 0))
                async with asyncio.timeout(1):
                    await self._writer.drain()
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        self._fail(ServiceError("the client is closed; open another"))

    # ---- what people call ----

    @property
    def service(self) -> dict[str, Any]:
        """What the service said of itself: its tokenizer and its limits."""
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
        """Encode many texts, some to a request, and several requests at once."""
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            raise TypeError("a batch is a list of texts, not one text")
        named = (
            allowed_special
            if allowed_special is None or isinstance(allowed_special, str)
            else tuple(allowed_special)
        )
        options = Options(named, prepend, append)
        groups = grouped([bytes_of(text) for text in texts], self.service["texts_max"])
        tasks = [asyncio.ensure_future(self._encode(group, options)) for group in groups]
        try:
            return [ids for answer in await asyncio.gather(*tasks) for ids in answer]
        finally:
            for task in tasks:
                task.cancel()

    async def health(self) -> dict[str, Any]:
        """Ask how the service is."""
        return dict(json.loads(await self._ask(Kind.HEALTH, b"", 0)))

    async def metrics(self) -> str:
        """Ask for the metrics, as Prometheus reads them."""
        return str((await self._ask(Kind.METRICS, b"", 0)).decode())

    # ---- asking ----

    async def _encode(self, texts: list[bytes], options: Options) -> list[list[int]]:
        async with self._in_flight:
            body = pack_request(min(self._asked, default=self._next), options, texts)
            if len(body) > (most := self.service["body_bytes_max"]):
                raise RefusedError(f"the request has {len(body)} bytes; at most {most}", Code.SIZE)
            return await self._ask(Kind.ENCODE, body, len(texts))  # type: ignore[no-any-return]

    async def _ask(self, kind: Kind, body: bytes, texts: int) -> Any:  # noqa: ANN401 - by kind.
        if self._task is None or self._task.done():
            raise ServiceError("the client is closed; open another")
        if not self._asked:
            self._be_patient()
        number, self._next = self._next, self._next + 1
        asked = self._asked[number] = _Asked(kind, frame(kind, number, body), texts)
        try:
            await self._send(asked.content)
            return await asked.answer
        finally:
            self._asked.pop(number, None)
            if not self._asked:
                self._say(frame(Kind.DONE, self._next))  # Who cancels does not wait for it.

    async def _send(self, content: bytes) -> None:
        """Send to the service, as fast as it reads."""
        self._say(content)
        if self._writer is not None:
            with suppress(OSError):
                await self._writer.drain()

    def _say(self, content: bytes) -> None:
        """Send to the service if it is there; if not, what is asked is sent when it is."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(content)

    # ---- the connection ----

    async def _run(self) -> None:
        """Keep a connection, until the client leaves or patience ends."""
        self._be_patient()
        wait = RETRY_SECONDS[0]
        while True:
            reached = self.connections
            try:
                await self._receive(await self._connect())
            except Exception as error:  # noqa: BLE001 - whatever it is, nobody may wait for ever.
                if is_final(error) or (self._asked_any and self._now() > self._until):
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
    def _asked_any(self) -> bool:
        """Whether somebody waits: for an answer, or for the service to be reached."""
        return bool(self._asked) or self._welcome is None or not self._welcome.done()

    def _be_patient(self) -> None:
        self._until = self._now() + self._patience

    async def _connect(self) -> asyncio.StreamReader:
        """Reach the service, say who this is, and ask again what is not answered."""
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
        for asked in list(self._asked.values()):
            writer.write(asked.content)
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
        """Read what the service says of itself; it must be the one that was there before."""
        if header.kind == Kind.REFUSED:
            raise read_refusal(body)
        if header.kind != Kind.WELCOME or self._welcome is None:
            raise ProtocolError(f"the service begins with a frame of kind {header.kind}")
        said = read_welcome(body)
        if not self._welcome.done():
            self._welcome.set_result(said)
        elif said["tokenizer"] != self._welcome.result()["tokenizer"]:
            raise ServiceError("the service came back with another tokenizer; open another client")

    async def _receive(self, reader: asyncio.StreamReader) -> None:
        while True:
            header, body = await read_frame(reader)
            if header.kind == Kind.GOODBYE:
                return
            if header.kind == Kind.REFUSED and not header.number:
                raise read_refusal(body)
            self._be_patient()
            asked = self._asked.get(header.number)
            if asked is None or asked.answer.done():
                continue  # It was answered before, or nobody waits any more.
            # Until its answer makes sense, it is asked.
            if header.kind == Kind.REFUSED:
                asked.answer.set_exception(read_refusal(body))
            elif header.kind != ANSWERS[asked.kind]:
                raise ProtocolError(f"a frame of kind {header.kind} answers one of {asked.kind}")
            elif header.kind == Kind.IDS:
                asked.answer.set_result(read_answer(body, asked.texts))
            else:
                asked.answer.set_result(body)
            del self._asked[header.number]

    def _fail(self, error: Exception) -> None:
        """Tell all who wait that no answer will come."""
        if not isinstance(error, ServiceError):
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            error = ServiceError(f"{self._address} cannot be reached: {reason}")
        for asked in list(self._asked.values()):
            if not asked.answer.done():
                asked.answer.set_exception(error)
        self._asked.clear()
        if self._welcome is not None and not self._welcome.done():
            self._welcome.set_exception(error)
            self._welcome.exception()  # Whoever waits for it raises it.

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()
