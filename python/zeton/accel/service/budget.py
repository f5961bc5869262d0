"""Bounded memory: bytes that wait to be encoded, and bytes of answers."""

import asyncio
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zeton.accel.service.requests import Request
    from zeton.accel.service.sessions import Session

__all__ = ["Answers", "Budget"]


class Budget:
    """Bytes that may be taken; who asks for more than is left waits, first come, first served."""

    def __init__(self, bytes_max: int) -> None:
        """Begin with all of them."""
        self._bytes_max = bytes_max
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.used = 0

    async def acquire(self, size: int) -> None:
        """Take so many bytes, at most all there are, as soon as they are free."""
        if not self._waiting and self.used + size <= self._bytes_max:
            self.used += size
            return
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((size, ready))
        try:
            await ready
        except asyncio.CancelledError:
            if ready.done() and not ready.cancelled():
                self.release(size)
            else:
                self._waiting.remove((size, ready))
                self._serve()
            raise

    def release(self, size: int) -> None:
        """Give bytes back."""
        self.used -= size
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self.used + self._waiting[0][0] <= self._bytes_max:
            size, ready = self._waiting.popleft()
            if not ready.cancelled():
                self.used += size
                ready.set_result(None)


class Answers:
    """Answers in memory: those that were written are forgotten first, the oldest before others."""

    def __init__(self, bytes_max: int) -> None:
        """Begin with none."""
        self._bytes_max = bytes_max
        self._written: OrderedDict[Request, Session] = OrderedDict()
        self.size = 0

    def add(self, request: "Request") -> None:
        """Count an answer that was made."""
        self.size += len(request.answer or b"")

    def hold(self, request: "Request") -> None:
        """Note that an answer is going to be written."""
        self._written.pop(request, None)

    def may_go(self, session: "Session", request: "Request") -> None:
        """Note that an answer was written, or has nobody to read it."""
        self._written[request] = session

    def forget(self, session: "Session", request: "Request") -> None:
        """Drop an answer that its client has, or that nobody may ask for any more."""
        self._written.pop(request, None)
        self.size -= len(request.answer or b"")
        session.requests.pop(request.number, None)

    def shrink(self) -> bool:
        """Forget as many as must be; say whether that was enough."""
        while self.size > self._bytes_max and self._written:
            request, session = next(iter(self._written.items()))
            self.forget(session, request)
        return self.size <= self._bytes_max
