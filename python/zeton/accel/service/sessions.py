"""Clients, their requests and their answers; every id has exactly one answer.

A session outlives its connection, so that a client can fetch an answer after a reconnection.
"""

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeton.accel.service.budget import Answers, Budget
from zeton.accel.service.errors import Code, RefusedError
from zeton.accel.service.fairness import FairQueue, Share
from zeton.accel.service.metrics import Metrics
from zeton.accel.service.protocol import Options, read_request
from zeton.accel.service.requests import PackedIds, Request
from zeton.accel.service.settings import Settings
from zeton.errors import Error

if TYPE_CHECKING:
    from zeton.accel.service.connection import Connection
    from zeton.tokenizer import Tokenizer

__all__ = ["Session", "Sessions"]

DONE_BYTES = 8
"""Bytes at the start of a body that may differ when the request is repeated."""


@dataclass(slots=True, eq=False)
class Session:
    """A client, with or without a connection."""

    name: bytes
    connection: "Connection | None" = None
    requests: dict[int, Request] = field(default_factory=dict)
    """Unanswered requests, and requests with an answer in memory."""
    done: int = 0
    """The client has all answers below this id."""
    left_at: float = 0.0


class Sessions:
    """All clients of a service; used by one event loop."""

    def __init__(
        self, tokenizer: "Tokenizer", settings: Settings, queue: FairQueue, metrics: Metrics
    ) -> None:
        """Begin without clients."""
        self._tokenizer, self._settings = tokenizer, settings
        self._queue, self._metrics = queue, metrics
        self._known_options = {Options()}
        self._sessions: dict[bytes, Session] = {}
        self._owners: dict[Request, Session] = {}
        """The session of each unanswered request."""
        self.waiting = Budget(settings.waiting_bytes_max)
        self.answers = Answers(settings.answers_bytes_max)

    def __len__(self) -> int:
        """Return the number of sessions."""
        return len(self._sessions)

    @property
    def unanswered(self) -> int:
        """Number of unanswered requests."""
        return len(self._owners)

    def enter(self, name: bytes, connection: "Connection") -> Session:
        """Return the client's session, new or old; an earlier connection ends."""
        session = self._sessions.get(name)
        if session is None:
            if len(self._sessions) >= 4 * self._settings.connections_max:
                raise RefusedError(
                    "the service has its maximum of sessions; try again later", Code.BUSY
                )
            session = self._sessions[name] = Session(name)
        if session.connection is not None:
            session.connection.abort()
        session.connection = connection
        return session

    def accept(self, session: Session, number: int, body: bytes) -> Request:
        """Return the request of a body, new or known by its id; its bytes are acquired."""
        digest = hashlib.blake2b(body[DONE_BYTES:], digest_size=16).digest()
        request = session.requests.get(number)
        if request is None:
            try:
                return self._accept(session, number, body, digest)
            except RefusedError:
                self.waiting.release(len(body))
                raise
        self.waiting.release(len(body))
        if request.digest != digest:
            raise RefusedError(
                f"id {number} has a different request already; use a new id", Code.REPEATED
            )
        self._metrics.count("zeton_repeated_total")
        return request

    def _accept(self, session: Session, number: int, body: bytes, digest: bytes) -> Request:
        wanted = read_request(body)
        self.finish(session, wanted.done)
        if number < session.done:
            raise RefusedError(
                f"the client confirmed the answer to id {number}; use a new id", Code.REPEATED
            )
        if len(wanted.texts) > self._settings.texts_max:
            raise RefusedError(
                f"the request has {len(wanted.texts):,} texts, more than "
                f"{self._settings.texts_max:,}; send fewer",
                Code.SIZE,
            )
        self._check(wanted.options)
        request = Request(number, digest, wanted.options, wanted.texts, len(body))
        session.requests[number] = request
        self._owners[request] = session
        self._metrics.count("zeton_requests_total")
        if wanted.texts:
            self._queue.put(session, request)
        else:
            self.add_answers([(Share(request, 0, []), (b"", b""))])
        return request

    def _check(self, options: Options) -> None:
        """Refuse options with specials that the tokenizer does not have."""
        if options in self._known_options:
            return
        try:
            self._tokenizer.encode(b"", **options._asdict())
        except (Error, OverflowError) as error:
            raise RefusedError(str(error), Code.REQUEST) from None
        if len(self._known_options) < 1000:
            self._known_options.add(options)

    def add_answers(self, found: list[tuple[Share, PackedIds | RefusedError]]) -> None:
        """Add a worker's answers to their requests, and send complete answers."""
        for share, packed in found:
            request = share.request
            texts, size = len(request.texts), request.size
            if isinstance(packed, RefusedError):
                is_whole, outcome = request.refuse(packed), "refused"
            else:
                is_whole, outcome = request.fill(share, packed), "ids"
            if not is_whole:
                continue
            self._metrics.count("zeton_answers_total", outcome=outcome)
            self._metrics.count("zeton_texts_total", texts)
            self._metrics.count("zeton_text_bytes_total", size)
            self._metrics.seconds.add(time.monotonic() - request.since)
            self._deliver(request)
        self._bound()

    def _deliver(self, request: Request) -> None:
        """Send an answer to its client, or keep it while the client is away."""
        session = self._owners.pop(request)
        self.waiting.release(request.size)
        self.answers.add(request)
        if self._sessions.get(session.name) is not session:
            self.answers.forget(session, request)
        elif session.connection is None or not session.connection.send_answer(request):
            self.answers.mark_droppable(session, request)

    def _bound(self) -> None:
        """Drop written answers; if that is not enough, disconnect the slowest reader."""
        while not self.answers.shrink():
            here = [each.connection for each in self._sessions.values() if each.connection]
            slowest = max(here, key=lambda connection: connection.unread_bytes, default=None)
            if slowest is None or not slowest.unread_bytes:
                return
            self._metrics.count("zeton_slow_readers_total")
            slowest.abort()
            self.leave(slowest)

    def note_written(self, session: Session, request: Request) -> None:
        """Note that an answer is on its way."""
        if session.requests.get(request.number) is request:
            self.answers.mark_droppable(session, request)

    def finish(self, session: Session, done: int) -> None:
        """Drop the answers below an id, which the client has confirmed."""
        if done <= session.done:
            return
        session.done = done
        for request in list(session.requests.values()):
            if request.number < done and request.answer is not None:
                self.answers.forget(session, request)

    def leave(self, connection: "Connection", *, for_good: bool = False) -> None:
        """Detach a connection; drop its waiting requests, which the client may send again."""
        session = connection.session
        if session is None or session.connection is not connection:
            return
        session.connection = None
        session.left_at = time.monotonic()
        if for_good:
            del self._sessions[session.name]
        for request in list(session.requests.values()):
            if request.answer is not None:
                self.answers.mark_droppable(session, request)
                if for_good:
                    self.answers.forget(session, request)
            elif self._queue.withdraw(session, request):
                self._metrics.count("zeton_withdrawn_total")
                self._drop(session, request)
        self._bound()

    def _drop(self, session: Session, request: Request) -> None:
        del session.requests[request.number]
        if self._owners.pop(request, None) is not None:
            self.waiting.release(request.size)

    def expire(self) -> None:
        """Drop sessions without a connection for longer than `session_seconds`."""
        latest = time.monotonic() - self._settings.session_seconds
        for session in list(self._sessions.values()):
            if session.connection is None and session.left_at < latest:
                del self._sessions[session.name]
                for request in list(session.requests.values()):
                    if request.answer is not None:
                        self.answers.forget(session, request)
