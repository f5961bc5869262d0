"""Bounds on memory: bytes of requests that wait, and bytes of answers."""

import asyncio
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zeton.accel.service.requests import Request
    from zeton.accel.service.sessions import Session

__all__ = ["Answers", "Budget"]


class Budget:
    """A budget of bytes with a first-in, first-out queue of waiting tasks."""

    def __init__(self, bytes_max: int) -> None:
        """Begin with the whole budget free."""
        self._bytes_max = bytes_max
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self.used = 0

    async def acquire(self, size: int) -> None:
        """Take `size` bytes as soon as they are free; `size` is at most the whole budget."""
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
        """Return bytes to the budget."""
        self.used -= size
        self._serve()

    def _serve(self) -> None:
        while self._waiting and self.used + self._waiting[0][0] <= self._bytes_max:
            size, ready = self._waiting.popleft()
            if not ready.cancelled():
                self.used += size
                ready.set_result(None)


class Answers:
    """Answers in memory; beyond the limit, the oldest written answers are dropped first."""

    def __init__(self, bytes_max: int) -> None:
        """Begin without answers."""
        self._bytes_max = bytes_max
        self._written: OrderedDict[Request, Session] = OrderedDict()
        self.size = 0

    def add(self, request: "Request") -> None:
        """Count a new answer."""
        self.size += len(request.answer or b"")

    def protect(self, request: "Request") -> None:
        """Protect an answer that is about to be written."""
        self._written.pop(request, None)

    def mark_droppable(self, session: "Session", request: "Request") -> None:
        """Mark an answer as droppable: it was written, or its client is away."""
        self._written[request] = session

    def forget(self, session: "Session", request: "Request") -> None:
        """Drop an answer that its client has, or can no longer ask for."""
        self._written.pop(request, None)
        self.size -= len(request.answer or b"")
        session.requests.pop(request.number, None)

    def shrink(self) -> bool:
        """Drop answers until the limit holds; return whether it does."""
        while self.size > self._bytes_max and self._written:
            request, session = next(iter(self._written.items()))
            self.forget(session, request)
        return self.size <= self._bytes_max
