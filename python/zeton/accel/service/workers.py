"""Workers: a thread per card, which takes batches from the queue and reports answers.

The shares of a failed card go back to the queue, where another card takes them.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from zeton.accel.device import Device
from zeton.accel.errors import AcceleratorError, DeviceError
from zeton.accel.service.errors import Code, RefusedError
from zeton.accel.service.fairness import FairQueue, Share
from zeton.accel.service.protocol import Options, pack_ids
from zeton.accel.service.requests import PackedIds
from zeton.accel.service.settings import Settings

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["Card", "Software", "Worker"]

RETRY_SECONDS_MAX = 60.0
FAILURES_MAX = 3
"""Failures after which a share is refused, if software may not encode it."""


class Card(Protocol):
    """An encoder for a worker; `Device` and `Software` are such encoders."""

    def encode_iter(
        self,
        texts: Iterable[list[bytes]],
        *,
        allowed_special: str | Iterable[str] | None,
        prepend: int | str | None,
        append: int | str | None,
        in_flight: int,
    ) -> Iterator[list[list[int]]]:
        """Yield the ids of batches, in order."""

    def reset(self) -> None:
        """Make it usable again after a failure."""

    def close(self) -> None:
        """Release it."""


class Software:
    """The engine in place of a card."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        """Keep the tokenizer."""
        self._tokenizer = tokenizer

    def encode_iter(
        self,
        texts: Iterable[list[bytes]],
        *,
        allowed_special: str | Iterable[str] | None,
        prepend: int | str | None,
        append: int | str | None,
        in_flight: int,  # noqa: ARG002 - for cards only.
    ) -> Iterator[list[list[int]]]:
        """Yield the ids of batches, in order."""
        for batch in texts:
            yield self._tokenizer.encode_batch(
                batch, allowed_special=allowed_special, prepend=prepend, append=append
            )

    def reset(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Worker:
    """A card with its thread; other threads may read its public attributes."""

    def __init__(
        self,
        name: str,
        opener: Callable[[], Card],
        queue: FairQueue,
        report: Callable[[list[tuple[Share, PackedIds | RefusedError]]], None],
        settings: Settings,
        *,
        is_card: bool = True,
    ) -> None:
        """Keep a name and a function that opens the card; `report` is called in the thread."""
        self.name = name
        self.is_card = is_card
        self.is_up = False
        self.failure: str | None = None
        self.failures = self.batches = self.texts = self.bytes = 0
        self.busy_seconds = 0.0
        self._opener, self._queue, self._report, self._settings = opener, queue, report, settings
        self._card: Card | None = None
        self._lock = threading.RLock()
        self._sent: deque[list[Share]] = deque()
        self._since = 0.0
        self._is_given_up = False
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"card {name}", daemon=True)

    def start(self) -> None:
        """Open the card, and start the thread.

        A card that fails is opened again later. An error of building or loading is raised.
        """
        try:
            self._card = self._opener()
        except DeviceError as error:
            self._note(error)
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Release the card after its batches; the queue must be closed before."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

    def check(self) -> None:
        """Return the shares of a card that has not answered for `hang_seconds` to the queue."""
        with self._lock:
            is_late = self._sent and time.monotonic() - self._since > self._settings.hang_seconds
            if not is_late:
                return
            # Under one lock, because the card's thread may reset the card at any time.
            self._is_given_up = True
            shares = self._all_sent()
            late = f"the card answered no batch for {self._settings.hang_seconds:g} seconds"
            self._note(DeviceError(late))
            self._set_up(up=False)
        self._queue.give_back(shares)

    # ---- in the thread ----

    def _run(self) -> None:
        wait = 0.0 if self._card is not None else self._settings.retry_seconds
        while not self._stopped.wait(wait):
            done = self.batches
            try:
                self._bring_back()
                self._set_up(up=True)
                self._serve()
                break
            except Exception as error:  # noqa: BLE001 - after any error the texts must be encoded.
                self._lose(error)
            again = self._settings.retry_seconds
            wait = again if self.batches > done else min(max(2 * wait, again), RETRY_SECONDS_MAX)
        self._set_up(up=False)
        self._let_go()

    def _bring_back(self) -> None:
        """Open the card, or reset it after a failure."""
        if self._card is not None and self.failure is not None:
            try:
                self._card.reset()
            except Exception:
                self._let_go()
                raise
        if self._card is None:
            self._card = self._opener()
        self.failure = None
        self._is_given_up = False

    def _let_go(self) -> None:
        card, self._card = self._card, None
        if card is not None:
            with suppress(AcceleratorError, OSError):
                card.close()

    def _serve(self) -> None:
        """Encode until the queue is closed, with one `encode_iter` for each change of options."""
        if self._card is None:
            raise DeviceError("the card is not open; open it first")
        while shares := self._queue.take(self._batch_bytes, is_card=self.is_card):
            options = shares[0].request.options
            batches = self._batches(shares, options)
            for answers in self._card.encode_iter(
                batches, **options._asdict(), in_flight=self._settings.in_flight_batches
            ):
                self._finish(answers)

    def _batches(self, shares: list[Share], options: Options) -> Iterator[list[bytes]]:
        """Yield the texts of batches; an empty batch flushes the card's last answer."""
        while shares:
            self._push(shares)
            yield [text for share in shares for text in share.texts]
            shares = self._more(options)
            while not shares and any(self._sent):
                self._push([])
                yield []
                shares = self._more(options)

    def _more(self, options: Options) -> list[Share]:
        return self._queue.take(
            self._batch_bytes, is_card=self.is_card, waits=False, options=options
        )

    @property
    def _batch_bytes(self) -> int:
        lanes = self._card.info.configuration.lanes if isinstance(self._card, Device) else 1
        return self._settings.batch_bytes * lanes

    def _push(self, shares: list[Share]) -> None:
        with self._lock:
            if not any(self._sent):
                self._since = time.monotonic()
            self._sent.append(shares)

    def _finish(self, answers: list[list[int]]) -> None:
        """Report the ids of the oldest batch."""
        with self._lock:
            if self._is_given_up:
                raise DeviceError("the card answered after its batch was given to another card")
            shares = self._sent.popleft()
            now = time.monotonic()
            self.busy_seconds += now - self._since if shares else 0
            self._since = now
        if not shares:
            return
        try:
            self._hand_in(shares, answers)
        except Exception:
            with self._lock:
                self._sent.appendleft(shares)  # Still unanswered.
            raise
        self.batches += 1

    def _hand_in(self, shares: list[Share], answers: list[list[int]]) -> None:
        texts = sum(len(share.texts) for share in shares)
        if texts != len(answers):
            raise DeviceError(f"a batch of {texts} texts has {len(answers)} answers")
        found: list[tuple[Share, PackedIds | RefusedError]] = []
        at = 0
        for share in shares:
            found.append((share, pack_ids(answers[at : at + len(share.texts)])))
            at += len(share.texts)
        self.texts += texts
        self.bytes += sum(len(text) for share in shares for text in share.texts)
        self._report(found)

    # ---- failures ----

    def _lose(self, error: Exception) -> None:
        """Record the failure, and queue or refuse the card's shares."""
        with self._lock:
            shares = self._all_sent()
        self._note(error)
        self._set_up(up=False)
        if not self.is_card:
            self._refuse_one_by_one(shares)
            return
        lost = [share for share in shares if share.failures + 1 < FAILURES_MAX]
        if self._settings.fallback:
            lost = shares
        refusal = RefusedError(f"no card could encode the texts: {error}", Code.CARD)
        self._report([(share, refusal) for share in shares if share not in lost])
        self._queue.give_back(lost)

    def _refuse_one_by_one(self, shares: list[Share]) -> None:
        """Encode each share by itself, so that one bad share does not fail the rest."""
        for share in shares:
            options = share.request.options._asdict()
            try:
                card = self._card or self._opener()
                (answers,) = card.encode_iter([share.texts], **options, in_flight=1)
                self._hand_in([share], answers)
            except Exception as error:  # noqa: BLE001 - any error must reach the client.
                self._report([(share, RefusedError(str(error), Code.REQUEST))])

    def _all_sent(self) -> list[Share]:
        shares = [share for batch in self._sent for share in batch]
        self._sent.clear()
        return shares

    def _note(self, error: Exception) -> None:
        self.failure = f"{type(error).__name__}: {error}"
        self.failures += 1

    def _set_up(self, *, up: bool) -> None:
        with self._lock:
            has_changed, self.is_up = self.is_up != up, up
        if has_changed and self.is_card:
            self._queue.note_card(up=up)
