"""One client's connection: a task reads requests, a task writes answers.

Reading stops at the limits of `Settings`, so that TCP's backpressure reaches the client.
"""

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from zeton.accel.service.errors import Code, ProtocolError, RefusedError
from zeton.accel.service.protocol import (
    HEADER_BYTES,
    HELLO_BYTES_MAX,
    Header,
    Kind,
    frame,
    pack_refusal,
    read_header,
    read_hello,
)
from zeton.accel.service.requests import Request
from zeton.accel.transports.gate import has_token

if TYPE_CHECKING:
    from zeton.accel.service.server import Service
    from zeton.accel.service.sessions import Session

__all__ = ["Connection"]

SKIPPED_BYTES_MAX = 1 << 28
"""Largest oversized request that is read and dropped; a larger one ends the connection."""

PART_SECONDS = 2.0
"""Time in which the client must close after the last frame."""

BYTES_PER_SECOND_MIN = 1 << 16
"""Lowest rate at which a client may send a request, beyond the stall timeout."""


class Connection:
    """The connection of a client."""

    def __init__(
        self, service: "Service", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Keep both directions of a stream."""
        self._service, self._settings = service, service.settings
        self._reader, self._writer = reader, writer
        self._open: dict[int, Request] = {}
        """Requests whose answers this connection has to write."""
        self._open_bytes = 0
        self._out: deque[Request | bytes] = deque()
        self._has_changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._is_draining = False
        self._is_leaving = False
        self._reading: asyncio.Task[None] | None = None
        self.session: Session | None = None
        self.unread_bytes = 0
        """Bytes of answers that the client has not read."""

    async def run(self) -> None:
        """Serve the client until it leaves, or the service ends."""
        try:
            await self._serve()
        except (RefusedError, ProtocolError) as error:
            await self._refuse(error)
        except (OSError, EOFError):
            pass  # The client is gone.
        finally:
            self._service.sessions.leave(self, for_good=self._is_leaving)
            await self._part()

    async def _serve(self) -> None:
        self.session = await self._enter()
        self._reading = asyncio.create_task(self._read_all(self.session))
        writing = asyncio.create_task(self._write_all(self.session))
        both = {self._reading, writing}
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if self._is_draining:
                await writing
            elif self._reading.done() and not self._reading.cancelled():
                self._reading.result()
        finally:
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)

    def abort(self) -> None:
        """End the connection at once; unwritten answers stay with the session."""
        self._writer.transport.abort()
        if self._reading is not None:
            self._reading.cancel()
        self._has_changed.set()

    def drain(self) -> None:
        """Stop reading, write all answers, then send GOODBYE."""
        self._is_draining = True
        if self._reading is None:
            self.abort()
            return
        self._reading.cancel()
        self._has_changed.set()

    async def _part(self) -> None:
        """Close after the client has closed, because it could lose unread bytes otherwise."""
        with suppress(OSError, EOFError):
            async with asyncio.timeout(PART_SECONDS):
                if self._writer.can_write_eof():
                    self._writer.write_eof()
                while not self._writer.is_closing() and await self._reader.read(1 << 16):
                    pass
        self._writer.close()
        with suppress(OSError):
            async with asyncio.timeout(PART_SECONDS):
                await self._writer.wait_closed()

    # ---- the beginning ----

    async def _enter(self) -> "Session":
        """Admit the client, or raise `RefusedError`."""
        async with asyncio.timeout(self._settings.hello_seconds):
            header = read_header(await self._reader.readexactly(HEADER_BYTES))
            if header.kind != Kind.HELLO or header.size > HELLO_BYTES_MAX:
                raise ProtocolError(f"the first frame is {header.kind.name}, expected HELLO")
            hello = read_hello(await self._reader.readexactly(header.size))
        token = self._service.token
        if token is not None and not has_token(hello.token, token):
            raise RefusedError(
                "the token is not the service's; give the one in its token file", Code.TOKEN
            )
        if self._service.is_full:
            raise RefusedError("the service has its maximum of clients; try again later", Code.BUSY)
        session = self._service.sessions.enter(hello.session, self)
        self._out.append(frame(Kind.WELCOME, 0, json.dumps(self._service.welcome).encode()))
        return session

    async def _refuse(self, error: RefusedError | ProtocolError) -> None:
        """Send the client the reason of its refusal."""
        refusal = (
            error if isinstance(error, RefusedError) else RefusedError(str(error), Code.REQUEST)
        )
        self._service.metrics.count("zeton_refused_total", code=refusal.code)
        with suppress(OSError, TimeoutError):
            self._writer.write(frame(Kind.REFUSED, 0, pack_refusal(refusal)))
            async with asyncio.timeout(1):
                await self._writer.drain()

    # ---- reading ----

    async def _read_all(self, session: "Session") -> None:
        while not self._is_leaving:
            await self._room()
            header = read_header(await self._reader.readexactly(HEADER_BYTES))
            if header.kind == Kind.ENCODE:
                await self._read_request(session, header)
            elif header.size:
                raise ProtocolError(f"a frame of kind {header.kind.name} has a body, expected none")
            elif header.kind == Kind.DONE:
                self._service.sessions.finish(session, header.number)
            elif header.kind == Kind.HEALTH:
                health = json.dumps(self._service.health()).encode()
                self._send(frame(Kind.HEALTH, header.number, health))
            elif header.kind == Kind.METRICS:
                self._send(
                    frame(Kind.METRICS, header.number, self._service.metrics_text().encode())
                )
            elif header.kind == Kind.GOODBYE:
                self._is_leaving = True
            else:
                raise ProtocolError(
                    f"a frame of kind {header.kind.name} came from a client, which never sends it"
                )

    async def _room(self) -> None:
        """Wait until the client is below its limits."""
        while (
            len(self._open) + len(self._out) >= self._settings.in_flight_max
            or self._open_bytes >= self._settings.in_flight_bytes_max
        ):
            self._has_room.clear()
            await self._has_room.wait()

    async def _read_request(self, session: "Session", header: Header) -> None:
        try:
            body = await self._body(header.size)
            request = self._service.sessions.accept(session, header.number, body)
        except RefusedError as error:
            self._service.metrics.count("zeton_refused_total", code=error.code)
            self._send(frame(Kind.REFUSED, header.number, pack_refusal(error)))
        else:
            self._expect(request)

    async def _body(self, size: int) -> bytes:
        """Read a body once the budget has room; its bytes are then acquired."""
        if size > self._settings.body_bytes_max:
            await self._skip(size)
            raise RefusedError(
                f"the request has {size:,} bytes, more than {self._settings.body_bytes_max:,}; "
                "send fewer texts",
                Code.SIZE,
            )
        waiting = self._service.sessions.waiting
        await waiting.acquire(size)
        try:
            async with asyncio.timeout(self._settings.stall_seconds + size / BYTES_PER_SECOND_MIN):
                return await self._reader.readexactly(size)
        except BaseException:
            waiting.release(size)
            raise

    async def _skip(self, size: int) -> None:
        """Read and drop the body of an oversized request."""
        if size > SKIPPED_BYTES_MAX:
            raise ProtocolError(f"a request has {size:,} bytes, more than {SKIPPED_BYTES_MAX:,}")
        async with asyncio.timeout(self._settings.stall_seconds + size / BYTES_PER_SECOND_MIN):
            while size:
                content = await self._reader.read(min(size, 1 << 16))
                if not content:
                    raise EOFError
                size -= len(content)

    # ---- writing ----

    def _expect(self, request: Request) -> None:
        """Register a request of this connection; send its answer if there is one already."""
        if request.number in self._open:
            return
        self._open[request.number] = request
        self._open_bytes += request.size
        if request.answer is not None:
            self._service.sessions.answers.protect(request)
            self.send_answer(request)

    def send_answer(self, request: Request) -> bool:
        """Send an answer if this connection waits for it; return whether it does."""
        if self._open.get(request.number) is not request:
            return False
        self.unread_bytes += len(request.answer or b"")
        self._send(request)
        return True

    def _send(self, item: Request | bytes) -> None:
        self._out.append(item)
        self._has_changed.set()

    async def _write_all(self, session: "Session") -> None:
        while not self._writer.is_closing():
            if self._out:
                await self._write(session, self._out[0])
                self._out.popleft()
                self._has_room.set()
            elif self._is_draining and not self._open:
                await self._write(session, frame(Kind.GOODBYE, 0))
                return
            else:
                self._has_changed.clear()
                await self._has_changed.wait()

    async def _write(self, session: "Session", item: Request | bytes) -> None:
        """Write an answer or a frame, with the client's backpressure."""
        content = item if isinstance(item, bytes) else item.answer or b""
        self._writer.write(content)
        try:
            async with asyncio.timeout(self._settings.stall_seconds):
                await self._writer.drain()
        except TimeoutError:
            self._service.metrics.count("zeton_slow_readers_total")
            self.abort()
            raise
        if isinstance(item, Request):
            self.unread_bytes -= len(content)
            self._open_bytes -= item.size
            del self._open[item.number]
            self._service.sessions.note_written(session, item)
