"""Clients, their requests and their answers: every id is answered once, with what it asked for."""

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeton.accel.service.budget import Answers, Budget
from zeton.accel.service.errors import Code, RefusedError
from zeton.accel.service.fairness import FairQueue, Share
from zeton.accel.service.metrics import Metrics
from zeton.accel.service.protocol import Options, read_request
from zeton.accel.service.requests import Packed, Request
from zeton.accel.service.settings import Settings
from zeton.errors import Error

if TYPE_CHECKING:
    from zeton.accel.service.connection import Connection
    from zeton.tokenizer import Tokenizer

__all__ = ["Session", "Sessions"]

DONE_BYTES = 8
"""Of a request's body: they may differ when it is sent again."""


@dataclass(slots=True, eq=False)
class Session:
    """A client, also while it is away."""

    name: bytes
    connection: "Connection | None" = None
    requests: dict[int, Request] = field(default_factory=dict)
    """Those that are not answered, and those whose answers are kept."""
    done: int = 0
    """The client has all answers below this id."""
    left_at: float = 0.0


class Sessions:
    """All clients of a service. One event loop uses it."""

    def __init__(
        self, tokenizer: "Tokenizer", settings: Settings, queue: FairQueue, metrics: Metrics
    ) -> None:
        """Begin with none."""
        self._tokenizer, self._settings = tokenizer, settings
        self._queue, self._metrics = queue, metrics
        self._known_options = {Options()}
        self._sessions: dict[bytes, Session] = {}
        self._owners: dict[Request, Session] = {}
        """Whose the requests are that are not answered."""
        self.waiting = Budget(settings.waiting_bytes_max)
        self.answers = Answers(settings.answers_bytes_max)

    def __len__(self) -> int:
        """Return how many clients are here or may come back."""
        return len(self._sessions)

    @property
    def unanswered(self) -> int:
        """The requests that are not answered."""
        return len(self._owners)

    def enter(self, name: bytes, connection: "Connection") -> Session:
        """Let a client in, or back; where it was connected before, it no longer is."""
        session = self._sessions.get(name)
        if session is None:
            if len(self._sessions) >= 4 * self._settings.connections_max:
                raise RefusedError("too many clients may come back; try again later", Code.BUSY)
            session = self._sessions[name] = Session(name)
        if session.connection is not None:
            session.connection.abort()
        session.connection = connection
        return session

    def accept(self, session: Session, number: int, body: bytes) -> Request:
        """Take a request in, whose bytes were acquired, or find the one that has its id."""
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
            raise RefusedError(f"id {number} has another request already", Code.REPEATED)
        self._metrics.count("zeton_repeated_total")
        return request

    def _accept(self, session: Session, number: int, body: bytes, digest: bytes) -> Request:
        wanted = read_request(body)
        self.finish(session, wanted.done)
        if number < session.done:
            raise RefusedError(f"the client said that it has the answer to {number}", Code.REPEATED)
        if len(wanted.texts) > self._settings.texts_max:
            raise RefusedError(
                f"{len(wanted.texts)} texts; at most {self._settings.texts_max}", Code.SIZE
            )
        self._check(wanted.options)
        request = Request(number, digest, wanted.options, wanted.texts, len(body))
        session.requests[number] = request
        self._owners[request] = session
        self._metrics.count("zeton_requests_total")
        if wanted.texts:
            self._queue.put(session, request)
        else:
            self.answered([(Share(request, 0, []), (b"", b""))])
        return request

    def _check(self, options: Options) -> None:
        """Refuse specials that the tokenizer does not have."""
        if options in self._known_options:
            return
        try:
            self._tokenizer.encode(b"", **options._asdict())
        except (Error, OverflowError) as error:
            raise RefusedError(str(error), Code.REQUEST) from None
        if len(self._known_options) < 1000:
            self._known_options.add(options)

    def answered(self, found: list[tuple[Share, Packed | RefusedError]]) -> None:
        """Take what a card found, and send the answers that are whole."""
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
        """Send an answer to its client, or keep it while that is away."""
        session = self._owners.pop(request)
        self.waiting.release(request.size)
        self.answers.add(request)
        if self._sessions.get(session.name) is not session:
            self.answers.forget(session, request)
        elif session.connection is None or not session.connection.send_answer(request):
            self.answers.may_go(session, request)

    def _bound(self) -> None:
        """Forget answers that were written; if that is not enough, who does not read is cut off."""
        while not self.answers.shrink():
            here = [each.connection for each in self._sessions.values() if each.connection]
            slowest = max(here, key=lambda connection: connection.unread_bytes, default=None)
            if slowest is None or not slowest.unread_bytes:
                return
            self._metrics.count("zeton_slow_readers_total")
            slowest.abort()
            self.leave(slowest)

    def written(self, session: Session, request: Request) -> None:
        """Note that an answer is on its way."""
        if session.requests.get(request.number) is request:
            self.answers.may_go(session, request)

    def finish(self, session: Session, done: int) -> None:
        """Forget the answers below an id: the client has them."""
        if done <= session.done:
            return
        session.done = done
        for request in list(session.requests.values()):
            if request.number < done and request.answer is not None:
                self.answers.forget(session, request)

    def leave(self, connection: "Connection", *, for_good: bool = False) -> None:
        """Note that a connection ended: what no card has yet is dropped, the client may resend."""
        session = connection.session
        if session is None or session.connection is not connection:
            return
        session.connection = None
        session.left_at = time.monotonic()
        if for_good:
            del self._sessions[session.name]
        for request in list(session.requests.values()):
            if request.answer is not None:
                self.answers.may_go(session, request)
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
        """Forget clients that have been away for too long."""
        latest = time.monotonic() - self._settings.session_seconds
        for session in list(self._sessions.values()):
            if session.connection is None and session.left_at < latest:
                del self._sessions[session.name]
                for request in list(session.requests.values()):
                    if request.answer is not None:
                        self.answers.forget(session, request)
