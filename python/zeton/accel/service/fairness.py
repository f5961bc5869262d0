"""Fair queueing: requests of many clients → batches for cards, by deficit round robin.

Each turn gives a client the same number of bytes for texts of any size, so a client with large
requests does not slow down a client with small ones. A request is cut between texts. Threads take
batches; one event loop puts requests.
"""

import threading
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from zeton.accel.service.protocol import Options

if TYPE_CHECKING:
    from zeton.accel.service.requests import Request

__all__ = ["FairQueue", "Share"]

TURN_BYTES = 1 << 14
"""Bytes that a turn gives a client."""

TEXT_BYTES = 16
"""Cost of a text in addition to its bytes."""

TRIES = 2
"""Number of cards that may fail with a share before software encodes it."""


@dataclass(slots=True, eq=False)
class Share:
    """The texts of a request that are in one batch."""

    request: "Request"
    first: int
    """Index of the first text in its request."""
    texts: list[bytes]
    failures: int = 0
    """Number of cards that failed with it."""


@dataclass(slots=True, eq=False)
class _Client:
    """The waiting requests of one client."""

    requests: "deque[Request]" = field(default_factory=deque)
    taken: int = 0
    """Number of texts of the first request that are in batches already."""
    credit: int = 0


class FairQueue:
    """The queue between clients and cards."""

    def __init__(self, *, fallback: bool = True) -> None:
        """Begin empty; with `fallback`, software encodes when no card can."""
        self._fallback = fallback
        self._changed = threading.Condition()
        self._clients: OrderedDict[Hashable, _Client] = OrderedDict()
        """Clients in the order of their turns."""
        self._returned: deque[Share] = deque()
        """Shares of failed cards, which go first."""
        self._cards = 0
        self._is_closed = False

    def put(self, client: Hashable, request: "Request") -> None:
        """Queue a request with at least one text behind its client's other requests."""
        with self._changed:
            self._clients.setdefault(client, _Client()).requests.append(request)
            self._changed.notify_all()

    def withdraw(self, client: Hashable, request: "Request") -> bool:
        """Remove a request unless some of its texts are in a batch; return whether it is out."""
        with self._changed:
            waits = self._clients.get(client)
            if waits is None or request not in waits.requests:
                return False
            if request is waits.requests[0] and waits.taken:
                return False
            waits.requests.remove(request)
            if not waits.requests:
                del self._clients[client]
            return True

    def give_back(self, shares: list[Share]) -> None:
        """Queue the shares of a failed card again."""
        with self._changed:
            for share in shares:
                share.failures += 1
            self._returned.extend(shares)
            self._changed.notify_all()

    def note_card(self, *, up: bool) -> None:
        """Count one more working card, or one fewer."""
        with self._changed:
            self._cards += 1 if up else -1
            self._changed.notify_all()

    @property
    def cards(self) -> int:
        """Number of working cards."""
        return self._cards

    def close(self) -> None:
        """Close the queue and wake all waiting threads."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def take(
        self,
        bytes_max: int,
        *,
        is_card: bool = True,
        waits: bool = True,
        options: Options | None = None,
    ) -> list[Share]:
        """Return texts for a batch, all with the same options, at least one.

        The list is empty if the queue is closed, if it has no requests and `waits` is False, or if
        the next request has options other than `options`. Software takes shares of failed cards,
        and takes new requests only while no card works.
        """
        with self._changed:
            while not self._is_closed:
                found = self._take(bytes_max, is_card=is_card, options=options)
                if found or not waits:
                    return found
                self._changed.wait()
        return []

    def _take(self, bytes_max: int, *, is_card: bool, options: Options | None) -> list[Share]:
        takes_all = is_card or (self._fallback and not self._cards)
        found: list[Share] = []
        for share in list(self._returned):
            if share.request.answer is not None:
                self._returned.remove(share)
                continue
            is_for_all = share.failures < TRIES or not self._fallback
            if not (takes_all if is_for_all else not is_card):
                continue
            if options is None:
                options = share.request.options
            if share.request.options == options:
                found.append(share)
                self._returned.remove(share)
            elif not found:
                return []
        if found or not takes_all:
            return found
        return self._gather(bytes_max, options)

    def _gather(self, bytes_max: int, options: Options | None) -> list[Share]:
        """Give turns until a batch is full; clients with other options keep their turn."""
        found: list[Share] = []
        skipped: dict[Hashable, None] = {}
        if not self._clients:
            return []
        turn = next(iter(self._clients.values())).requests[0].options
        if options is None:
            options = turn
        elif options != turn:
            return []
        while len(skipped) < len(self._clients) and bytes_max > 0:
            name, client = next(iter(self._clients.items()))
            if client.requests[0].options != options:
                skipped[name] = None
                self._clients.move_to_end(name)
                continue
            client.credit += TURN_BYTES
            bytes_max -= self._turn(client, options, bytes_max, found)
            if client.requests:
                self._clients.move_to_end(name)
            else:
                del self._clients[name]
        for name in reversed(skipped):
            self._clients.move_to_end(name, last=False)
        return found

    def _turn(self, client: _Client, options: Options, bytes_max: int, found: list[Share]) -> int:
        """Take the texts that a client's credit pays for, and return their cost."""
        spent = 0
        while client.requests and client.requests[0].options == options and spent < bytes_max:
            request = client.requests[0]
            first = client.taken
            while client.taken < len(request.texts) and spent < bytes_max:
                cost = len(request.texts[client.taken]) + TEXT_BYTES
                if cost > client.credit:
                    break
                client.credit -= cost
                spent += cost
                client.taken += 1
            if client.taken > first:
                found.append(Share(request, first, request.texts[first : client.taken]))
            if client.taken < len(request.texts):
                break
            client.requests.popleft()
            client.taken = 0
        return spent
