"""One client's connection: what it sends is read as long as there is room for it."""

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
from zeton.accel.transports.gate import token_is

if TYPE_CHECKING:
    from zeton.accel.service.server import Service
    from zeton.accel.service.sessions import Session

__all__ = ["Connection"]

SKIPPED_BYTES_MAX = 1 << 28
"""Of a request that is too large: so much is read and dropped; for more, the connection ends."""

PART_SECONDS = 2.0
"""For a client to close, after the last word."""

BYTES_PER_SECOND_MIN = 1 << 16
"""That a client must send within a request, beside the seconds that it may stall."""


class Connection:
    """A client that is here."""

    def __init__(
        self, service: "Service", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Take both ends of a stream."""
        self._service, self._settings = service, service.settings
        self._reader, self._writer = reader, writer
        self._open: dict[int, Request] = {}
        """Requests whose answers are still to be written here."""
        self._open_bytes = 0
        self._out: deque[Request | bytes] = deque()
        self._has_changed = asyncio.Event()
        self._has_room = asyncio.Event()
        self._is_draining = False
        self._is_leaving = False
        self._reading: asyncio.Task[None] | None = None
        self.session: Session | None = None
        self.unread_bytes = 0
        """Bytes of answers that the client has not taken."""

    async def run(self) -> None:
        """Serve the client until it leaves, or the service ends."""
        try:
            await self._serve()
        except (RefusedError, ProtocolError) as error:
            await self._say_no(error)
        except (OSError, EOFError):
            pass  # It is gone.
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
        """End it at once; what was not written stays with the session."""
        self._writer.transport.abort()
        if self._reading is not None:
            self._reading.cancel()
        self._has_changed.set()

    def drain(self) -> None:
        """Read no more, write all answers, then say goodbye."""
        self._is_draining = True
        if self._reading is None:
            self.abort()
            return
        self._reading.cancel()
        self._has_changed.set()

    async def _part(self) -> None:
        """Close when the client has closed, or it may lose what it did not read yet."""
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
        """Let the client in, if it may."""
        async with asyncio.timeout(self._settings.hello_seconds):
            header = read_header(await self._reader.readexactly(HEADER_BYTES))
            if header.kind != Kind.HELLO or header.size > HELLO_BYTES_MAX:
                raise ProtocolError("a client begins with something other than its hello")
            hello = read_hello(await self._reader.readexactly(header.size))
        token = self._service.token
        if token is not None and not token_is(hello.token, token):
            raise RefusedError("the token is not that of this service", Code.TOKEN)
        if self._service.is_full:
            raise RefusedError("the service has no room for more clients", Code.BUSY)
        session = self._service.sessions.enter(hello.session, self)
        self._out.append(frame(Kind.WELCOME, 0, json.dumps(self._service.welcome).encode()))
        return session

    async def _say_no(self, error: RefusedError | ProtocolError) -> None:
        """Tell the client why it is refused."""
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
                raise ProtocolError(f"a frame of kind {header.kind} has a body")
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
                raise ProtocolError(f"a client sends no frame of kind {header.kind}")

    async def _room(self) -> None:
        """Wait until the client may have one more request."""
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
        """Read a body when there is room for it; its bytes are acquired then."""
        if size > self._settings.body_bytes_max:
            await self._skip(size)
            raise RefusedError(
                f"the request has {size} bytes; at most {self._settings.body_bytes_max}", Code.SIZE
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
        """Read a body that is too large, and drop it."""
        if size > SKIPPED_BYTES_MAX:
            raise ProtocolError(f"a request has {size} bytes")
        async with asyncio.timeout(self._settings.stall_seconds + size / BYTES_PER_SECOND_MIN):
            while size:
                content = await self._reader.read(min(size, 1 << 16))
                if not content:
                    raise EOFError
                size -= len(content)

    # ---- writing ----

    def _expect(self, request: Request) -> None:
        """Note that the client waits for an answer; if it is there, it is sent."""
        if request.number in self._open:
            return
        self._open[request.number] = request
        self._open_bytes += request.size
        if request.answer is not None:
            self._service.sessions.answers.hold(request)
            self.send_answer(request)

    def send_answer(self, request: Request) -> bool:
        """Send an answer if the client waits for it here; say whether it does."""
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
        """Write an answer or a frame, as fast as the client reads."""
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
            self._service.sessions.written(session, item)
