"""`Device`: the card that programs hold.

`load` fills the tables, `encode*` send batches and read their ids, `reset` makes a failed card
usable again.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from zeton._engine import TokenizerCore
from zeton.accel.batches import Batch, End, Options, plan_batch
from zeton.accel.errors import AnswerError, DeviceError
from zeton.accel.info import Info
from zeton.accel.readback import check_tables, read_tokens
from zeton.accel.tables.image import digest_image
from zeton.accel.tables.image_cache import load_image
from zeton.accel.wire.link import Link
from zeton.accel.wire.texts import (
    Specials,
    Text,
    freeze_specials,
    group_texts,
    to_bytes,
)
from zeton.accel.wire.words import (
    BATCH,
    Kind,
    Vocab,
    count_bytes,
    read_words,
)

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport
    from zeton.accel.wire.packets import Words
    from zeton.tokenizer import Tokenizer

__all__ = ["Device"]

BATCH_BYTES = 1 << 18
"""Bytes of text in a batch, per lane, when texts are given one by one."""

NO_TABLES = "the card has no tables; call load(tokenizer) first"


class Device:
    """A card whose ids equal those of the `Tokenizer` it is loaded with, on every text.

    >>> import zeton
    >>> from zeton import accel
    >>> tok = zeton.train(["low lower lowest"] * 9, vocab_size=260)
    >>> with accel.open("reference", config="small") as device:
    ...     device.load(tok)
    ...     device.encode_batch(["low", "lower"]) == tok.encode_batch(["low", "lower"])
    True

    Threads may share a device; their calls wait for each other. After an error of the card, call
    `reset`. With `fallback`, the host encodes the lost texts, and all texts until the reset.
    """

    def __init__(
        self,
        transport: "Transport",
        *,
        name: str = "card",
        timeout: float = 60.0,
        fallback: bool | Literal["software"] = False,
    ) -> None:
        """Identify the card behind a transport and reset it; refuse any other hardware."""
        if fallback not in (True, False, "software"):
            raise ValueError(f"fallback is {fallback!r}; give 'software', True or False")
        if not timeout > 0:
            raise ValueError(f"timeout is {timeout}; give seconds greater than 0")
        self._lock = RLock()
        self._link = Link(transport, timeout)
        self._name = name
        self._fallback = bool(fallback)
        self._vocab: Vocab | None = None
        self._image, self._digest = b"", 0
        self._flight: deque[Batch] = deque()
        self._early: list[Words] = []
        self._batches = 0
        self._failure: DeviceError | None = None
        self._texts = self._software_texts = self._software_bytes = 0
        self.listener: Callable[[int], object] = lambda _: None
        """Called with the number of text bytes that received words spell, for progress bars."""
        self._configuration = self._link.identify()
        self._link.reset()

    # ---- tables, registers, counters ----

    def load(self, tokenizer: "Tokenizer") -> None:
        """Fill the card's tables from a tokenizer, unless they have its image already.

        A tokenizer that does not fit raises `FitError` with the sizes needed and available. Texts
        on the card are encoded first. A card that has failed is reset.
        """
        if not isinstance(tokenizer, TokenizerCore):
            kind = type(tokenizer).__name__
            raise TypeError(
                f"load takes a Tokenizer, not {kind}; for example zeton.pretrained('cl100k_base')"
            )
        image = load_image(tokenizer, self._configuration)
        with self._lock:
            while self._flight:
                self._receive()
            # Without a vocabulary nothing is encoded, if an exception interrupts the load.
            vocab, digest = Vocab(tokenizer), digest_image(image)
            self._vocab, self._image, self._digest = None, b"", 0
            try:
                with self._failing():
                    if self._failure is not None:
                        self._link.reset()
                        self._batches = 0
                    self._fill(image, digest)
                    self._failure = None
            except DeviceError:
                if not self._fallback:
                    raise
            self._vocab, self._image, self._digest = vocab, image, digest

    def _fill(self, image: bytes, digest: int) -> None:
        if self._link.read_digest() != digest:
            self._link.load(image, digest)

    @property
    def info(self) -> Info:
        """Identity, configuration and counts of the card."""
        return Info(
            name=self._name,
            configuration=self._configuration,
            image=self._digest,
            failure=None if self._failure is None else str(self._failure),
            texts=self._texts,
            software_texts=self._software_texts,
            software_bytes=self._software_bytes,
        )

    @property
    def transport(self) -> "Transport":
        """The transport of the card."""
        return self._link.transport

    def counters(self) -> dict[str, int]:
        """Return the card's counters since its reset, copied in one clock cycle."""
        with self._lock:
            return self._link.counters()

    def tokens(self, lane: int = 0) -> dict[bytes, int]:
        """Return token → id of all tokens in a lane's tables, read back through registers."""
        if not 0 <= lane < self._configuration.lanes:
            raise DeviceError(f"no lane {lane}; give 0 to {self._configuration.lanes - 1}")
        with self._lock:
            self._settle()
            return read_tokens(self._link, self._configuration, lane)

    def verify(self) -> None:
        """Read the tables of all lanes back, and raise `AnswerError` if an entry differs.

        Links without checksums need it, such as a serial port: a damaged table can give wrong ids
        that still spell the text. Each entry costs three register accesses.
        """
        with self._lock:
            self._settle()
            with self._failing():
                check_tables(self._link, self._configuration.lanes, self._image)

    def _settle(self) -> None:
        """Receive the texts on the card, because tables can be read only while it is idle."""
        while self._flight:
            self._receive()
        self._check()
        if self._vocab is None:
            raise DeviceError(NO_TABLES)

    # ---- text to ids ----

    def encode(
        self,
        text: Text,
        *,
        allowed_special: Specials = None,
        prepend: End = None,
        append: End = None,
    ) -> list[int]:
        """Encode a text into a list of ids, as `Tokenizer.encode` does."""
        batch = self._plan([text], Options(allowed_special, prepend, append))
        self._send(batch)
        return self._finish(batch)[0]

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Specials = None,
        prepend: End = None,
        append: End = None,
    ) -> list[list[int]]:
        """Encode many texts into lists of ids, as `Tokenizer.encode_batch` does."""
        if isinstance(texts, (str, bytes, bytearray, memoryview)):
            raise TypeError("a batch is a list of texts, not one text")
        options = Options(freeze_specials(allowed_special), prepend, append)
        found = self._stream(group_texts(map(to_bytes, texts), self._batch_bytes), options, 2)
        return [ids for batch, _ in found for ids in batch]

    @overload
    def encode_iter(  # type: ignore[overload-overlap] # A str is a text, not a batch of them.
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Specials = None,
        prepend: End = None,
        append: End = None,
        in_flight: int = 2,
    ) -> Iterator[list[int]]: ...

    @overload
    def encode_iter(
        self,
        texts: Iterable[Iterable[Text]],
        *,
        allowed_special: Specials = None,
        prepend: End = None,
        append: End = None,
        in_flight: int = 2,
    ) -> Iterator[list[list[int]]]: ...

    def encode_iter(
        self,
        texts: Iterable[Text] | Iterable[Iterable[Text]],
        *,
        allowed_special: Specials = None,
        prepend: End = None,
        append: End = None,
        in_flight: int = 2,
    ) -> Iterator[list[int]] | Iterator[list[list[int]]]:
        """Yield the ids of each text, or for each batch of texts a list of their ids, in order.

        Single texts are gathered to batches; `in_flight` batches are on the card at a time.
        """
        if in_flight < 1:
            raise DeviceError(f"in_flight is {in_flight}; give 1 or more batches")
        return self._flatten(
            texts, Options(freeze_specials(allowed_special), prepend, append), in_flight
        )

    def _flatten(
        self,
        texts: Iterable[Text] | Iterable[Iterable[Text]],
        options: Options,
        in_flight: int,
    ) -> Iterator[Any]:
        """Yield the ids of single texts one by one, and the ids of a batch together."""
        groups = group_texts(texts, self._batch_bytes)
        for batch, is_batch in self._stream(groups, options, in_flight):
            if is_batch:
                yield batch
            else:
                yield from batch

    @property
    def _batch_bytes(self) -> int:
        return BATCH_BYTES * self._configuration.lanes

    def _stream(
        self,
        groups: "Iterator[tuple[list[Text], bool]]",
        options: Options,
        in_flight: int,
    ) -> Iterator[tuple[list[list[int]], bool]]:
        """Yield the ids of groups of texts, with `in_flight` groups on the card at a time."""
        sent: deque[tuple[Batch, bool]] = deque()
        for texts, is_batch in groups:
            batch = self._plan(texts, options)
            self._send(batch)
            sent.append((batch, is_batch))
            if len(sent) >= in_flight:
                first, flag = sent.popleft()
                yield self._finish(first), flag
        for batch, is_batch in sent:
            yield self._finish(batch), is_batch

    def _plan(self, texts: Iterable[Text], options: Options) -> Batch:
        """Cut specials out of texts, and deal the rest to lanes."""
        vocab = self._vocab
        if vocab is None:
            raise self._loss() if self._link.is_closed else DeviceError(NO_TABLES)

        def encode_long(text: bytes) -> list[int]:
            return self._encode_in_software([text], vocab.tokenizer)[0]

        return plan_batch(texts, options, vocab, self._configuration.lanes, encode_long)

    def _encode_in_software(
        self, texts: "Iterable[bytes]", tokenizer: "Tokenizer"
    ) -> list[list[int]]:
        content = list(texts)
        with self._lock:
            self._software_texts += len(content)
            self._software_bytes += sum(map(len, content))
        return tokenizer.encode_batch(content)

    # ---- batches to the card and back ----

    def _send(self, batch: Batch) -> None:
        if not batch.dealt.texts:
            batch.answer = []
            return
        with self._lock:
            if batch.vocab is not self._vocab:
                raise DeviceError("another tokenizer was loaded meanwhile; encode the texts again")
            if self._failure is None:
                with suppress(DeviceError), self._failing():
                    self._link.send(batch.dealt.packet)
            if self._failure is None:
                self._flight.append(batch)
            else:
                batch.is_lost = True

    def _finish(self, batch: Batch) -> list[list[int]]:
        """Wait for the ids of a batch, and return the ids of its texts."""
        with self._lock:
            while batch.answer is None and not batch.is_lost:
                self._receive()
        answer = batch.answer
        if answer is None:
            if not self._fallback:
                raise self._loss()
            answer = self._encode_in_software(batch.dealt.texts, batch.vocab.tokenizer)
        return batch.assemble(answer)

    def _receive(self) -> None:
        """Receive all words of the oldest batch; an error loses all batches on the card."""
        batch = self._flight[0]
        with suppress(DeviceError), self._failing():
            batch.answer = read_words(self._read_batch(batch), batch.dealt, batch.vocab)
        if batch.answer is None:
            return
        self._flight.popleft()
        self._texts += len(batch.dealt.texts)
        if self._early and not self._flight:
            self._fail(AnswerError("the card sent words after its last batch; reset the device"))

    def _read_batch(self, batch: Batch) -> "Words":
        """Return the words of a batch without its BATCH word; keep the words behind it."""
        found: list[Words] = []
        count = 0
        while True:
            words = self._early.pop() if self._early else self._link.receive()
            ends = np.flatnonzero(words >> np.uint32(24) & np.uint32(7) == Kind.BATCH)
            end = int(ends[0]) if ends.size else len(words)
            found.append(words[:end])
            count += end
            if count > batch.dealt.words_max:
                most = batch.dealt.words_max
                raise AnswerError(
                    f"{count} words came for a batch, expected at most {most}; reset the device"
                )
            self.listener(count_bytes(words[:end], batch.vocab))
            if ends.size:
                break
        if end + 1 < len(words):
            self._early.append(words[end + 1 :])
        if words[end] != BATCH | self._batches:
            raise AnswerError(
                f"batch {self._batches} ended with the word {int(words[end]):#010x}, expected "
                f"{BATCH | self._batches:#010x}; reset the device"
            )
        self._batches = self._batches + 1 & 0xFFFFFF
        return np.concatenate(found)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Mark the card as failed after any exception, because a transfer may be incomplete."""
        try:
            yield
        except DeviceError as error:
            self._fail(error)
            raise
        except BaseException:
            self._fail(DeviceError("an exception interrupted a transfer; reset the device"))
            raise

    def _fail(self, error: DeviceError) -> None:
        """Mark the card as failed, and all batches on it as lost."""
        self._failure = error
        for batch in self._flight:
            batch.is_lost = True
        self._flight.clear()
        self._early.clear()

    def _check(self) -> None:
        """Raise the error of a failed card."""
        if self._failure is not None:
            raise self._loss()

    def _loss(self) -> DeviceError:
        if self._failure is None:
            return DeviceError("the card was reset before it sent the ids; encode the texts again")
        return type(self._failure)(str(self._failure))

    # ---- reset and close ----

    def reset(self) -> None:
        """Make a failed card usable again; texts on the card are lost, its tables are kept."""
        with self._lock, self._failing():
            for batch in self._flight:
                batch.is_lost = True
            self._flight.clear()
            self._early.clear()
            self._link.reset()
            self._batches = 0
            if self._vocab is not None:
                self._fill(self._image, self._digest)
            self._failure = None

    def close(self) -> None:
        """Release the card after pending calls of other threads; closing again does nothing."""
        with self._lock:  # A transport is called by one thread at a time.
            self._fail(DeviceError("the device is closed; open it again"))
            self._fallback = False
            self._link.close()

    def __enter__(self) -> Self:
        """Return the device, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Release the card."""
        self.close()

    def __repr__(self) -> str:
        """Return name, lanes and tokenizer of the device."""
        loaded = "no tables" if self._vocab is None else repr(self._vocab.tokenizer)
        lanes = f"{self._configuration.lanes} lane{'s' if self._configuration.lanes > 1 else ''}"
        return f"<zeton.accel.Device {self._name!r}, {lanes}, {loaded}>"
