"""The card that people hold: load a tokenizer, encode texts, read back what it has."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, overload

import numpy as np

from zeton._engine import TokenizerCore
from zeton.accel.configuration import BANKS, Configuration
from zeton.accel.errors import AnswerError, DeviceError
from zeton.accel.tables.image import Table, digest_of, tables_in
from zeton.accel.tables.image_cache import kept_image
from zeton.accel.tables.pairs import pairs_of, spell
from zeton.accel.wire.link import Link
from zeton.accel.wire.texts import Specials, Text, bytes_of, grouped, names, stretches
from zeton.accel.wire.words import (
    BATCH,
    TEXT_BYTES_MAX,
    Dealt,
    Kind,
    Vocab,
    bytes_of_words,
    deal,
    read_words,
)

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport
    from zeton.accel.wire.packets import Words
    from zeton.tokenizer import Tokenizer

__all__ = ["Device", "Info"]

BATCH_BYTES = 1 << 18
"""Bytes of text for each lane that make a batch, where texts come one by one."""

NO_TABLES = "the card has no tables; load a tokenizer"

End: TypeAlias = int | str | None


@dataclass(frozen=True, slots=True)
class Info:
    """What a card is, and how it is."""

    name: str
    configuration: Configuration
    """What its registers say; they do not tell the size of the FIFO."""
    image: int
    """The digest of the tables that were loaded, 0 if there are none."""
    failure: str | None
    """Why it does not encode until it is reset, if so."""
    texts: int
    """Texts that the card has encoded; what is between specials is one each."""
    software_texts: int
    """Texts that the host has encoded: too long for the card, or lost by it."""
    software_bytes: int


@dataclass(slots=True, eq=False)
class _Batch:
    """Texts on their way."""

    parts: list[list[list[int] | int]]
    """For each text, what its ids are made of: ids, and numbers of texts that the card was sent."""
    dealt: Dealt
    vocab: Vocab
    answer: list[list[int]] | None = None
    is_lost: bool = False


class Device:
    """A card, which gives exactly what the `Tokenizer` gives that it was loaded with.

    Threads may share it, and wait for each other. When the card fails, `reset` makes it usable
    again; with `fallback`, what it owes, and what comes until then, is encoded in software.
    """

    def __init__(
        self,
        transport: "Transport",
        *,
        name: str = "card",
        timeout: float = 60.0,
        fallback: bool | Literal["software"] = False,
    ) -> None:
        """Take hold of a card and reset it; what is no card is refused."""
        if fallback not in (True, False, "software"):
            raise ValueError(f"a fallback is 'software', True or False, not {fallback!r}")
        if not timeout > 0:
            raise ValueError(f"a timeout is more than 0 seconds, not {timeout}")
        self._lock = RLock()
        self._link = Link(transport, timeout)
        self._name = name
        self._fallback = bool(fallback)
        self._vocab: Vocab | None = None
        self._image, self._digest = b"", 0
        self._flight: deque[_Batch] = deque()
        self._early: list[Words] = []
        self._batches = 0
        self._failure: DeviceError | None = None
        self._texts = self._software_texts = self._software_bytes = 0
        self.listener: Callable[[int], object] = lambda _: None
        """Whom to tell of how many bytes of text words have come."""
        self._configuration = self._link.identify()
        self._link.reset()

    # ---- what it holds ----

    def load(self, tokenizer: "Tokenizer") -> None:
        """Fill the card's tables from a tokenizer, unless they have just that.

        One that does not fit is refused with the sizes needed and available.
        Texts that are on their way are encoded first; a card that has failed is reset.
        """
        if not isinstance(tokenizer, TokenizerCore):
            kind = type(tokenizer).__name__
            raise TypeError(f"a card is loaded with a Tokenizer, not {kind}; see zeton.pretrained")
        image = kept_image(tokenizer, self._configuration)
        with self._lock:
            while self._flight:
                self._receive()
            # Until its tables are there, whatever comes between, nothing is encoded.
            vocab, digest = Vocab(tokenizer), digest_of(image)
            self._vocab, self._image, self._digest = None, b"", 0
            try:
                with self._watched():
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
        if self._link.image() != digest:
            self._link.load(image, digest)

    @property
    def info(self) -> Info:
        """What the card is and how it is."""
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
        """The way to the card."""
        return self._link.transport

    def counters(self) -> dict[str, int]:
        """Return what the card has counted since it was reset, all at one moment."""
        with self._lock:
            return self._link.counters()

    def tokens(self, lane: int = 0) -> dict[bytes, int]:
        """Return the ids of all tokens that a lane's tables spell, read back by registers."""
        if not 0 <= lane < self._configuration.lanes:
            raise DeviceError(f"there is no lane {lane}; the card has {self._configuration.lanes}")
        with self._lock:
            self._settle()
            ids = self._link.table(Table.BYTES, 256, lane).tolist()
            spelled = {id_: bytes([byte]) for byte, id_ in enumerate(ids)}
            merges: dict[tuple[int, int], int] = {}
            for bank in range(BANKS):
                size = 1 << self._configuration.bank_bits
                entries = self._link.table(Table.PAIRS + bank, size, lane)
                merges |= pairs_of(bank, entries, self._configuration)
        return {token: id_ for id_, token in spell(spelled, merges).items()}

    def verify(self) -> None:
        """Read the tables of all lanes back; a card that holds others than were loaded is refused.

        For a link that has no checks of its own, as a serial port: with a spoiled table, ids would
        spell the text and yet be others. It takes four accesses of registers for each entry.
        """
        with self._lock:
            self._settle()
            with self._watched():
                for lane in range(self._configuration.lanes):
                    for table, entries in tables_in(self._image).items():
                        found = self._link.table(table, len(entries), lane)
                        if (wrong := np.flatnonzero(found != entries)).size:
                            self._link.note(0)  # So that a reset loads them again.
                            raise AnswerError(
                                f"{wrong.size} entries of table {table} of lane {lane} are not "
                                "those that were loaded; reset the card"
                            )

    def _settle(self) -> None:
        """Let the texts that are on their way come back, for a card shows its tables when idle."""
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
        batch = self._planned([text], allowed_special, prepend, append)
        self._send(batch)
        return self._finished(batch)[0]

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
        options = (names(allowed_special), prepend, append)
        found = self._streamed(grouped(map(bytes_of, texts), self._batch_bytes), options, 2)
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
        """Yield the ids of each text, and for a batch of texts a list of them, in order.

        So many batches are on the card at once; texts that come one by one are gathered.
        """
        if in_flight < 1:
            raise DeviceError(f"{in_flight} batches in flight; give 1 or more")
        return self._flattened(texts, (names(allowed_special), prepend, append), in_flight)

    def _flattened(
        self,
        texts: Iterable[Text] | Iterable[Iterable[Text]],
        options: tuple[Specials, End, End],
        in_flight: int,
    ) -> Iterator[Any]:
        """Yield the ids of texts one by one, and those of batches together."""
        groups = grouped(texts, self._batch_bytes)
        for batch, is_batch in self._streamed(groups, options, in_flight):
            if is_batch:
                yield batch
            else:
                yield from batch

    @property
    def _batch_bytes(self) -> int:
        return BATCH_BYTES * self._configuration.lanes

    def _streamed(
        self,
        groups: "Iterator[tuple[list[Text], bool]]",
        options: tuple[Specials, End, End],
        in_flight: int,
    ) -> Iterator[tuple[list[list[int]], bool]]:
        """Yield the ids of groups of texts, with some of them on the card while one is read."""
        sent: deque[tuple[_Batch, bool]] = deque()
        for texts, is_batch in groups:
            batch = self._planned(texts, *options)
            self._send(batch)
            sent.append((batch, is_batch))
            if len(sent) >= in_flight:
                first, flag = sent.popleft()
                yield self._finished(first), flag
        for batch, is_batch in sent:
            yield self._finished(batch), is_batch

    def _planned(
        self, texts: Iterable[Text], allowed_special: Specials, prepend: End, append: End
    ) -> _Batch:
        """Cut specials out of texts, and deal to lanes what is left."""
        vocab = self._vocab
        if vocab is None:
            raise self._loss() if self._link.is_closed else DeviceError(NO_TABLES)
        tokenizer = vocab.tokenizer
        before = tokenizer.encode(b"", prepend=prepend)
        after = tokenizer.encode(b"", append=append)
        on_card: list[bytes] = []
        parts: list[list[list[int] | int]] = []
        for text in texts:
            own: list[list[int] | int] = [before]
            for stretch in stretches(tokenizer, text, allowed_special):
                if isinstance(stretch, int):
                    own.append([stretch])
                elif len(stretch) > TEXT_BYTES_MAX:
                    own.append(self._in_software([stretch], tokenizer)[0])
                else:
                    own.append(len(on_card))
                    on_card.append(stretch)
            parts.append([*own, after])
        return _Batch(parts, deal(on_card, self._configuration.lanes), vocab)

    def _in_software(self, texts: "Iterable[bytes]", tokenizer: "Tokenizer") -> list[list[int]]:
        content = list(texts)
        with self._lock:
            self._software_texts += len(content)
            self._software_bytes += sum(map(len, content))
        return tokenizer.encode_batch(content)

    # ---- batches to the card and back ----

    def _send(self, batch: _Batch) -> None:
        if not batch.dealt.texts:
            batch.answer = []
            return
        with self._lock:
            if batch.vocab is not self._vocab:
                raise DeviceError("another tokenizer was loaded meanwhile; encode the texts again")
            if self._failure is None:
                with suppress(DeviceError), self._watched():
                    self._link.send(batch.dealt.packet)
            if self._failure is None:
                self._flight.append(batch)
            else:
                batch.is_lost = True

    def _finished(self, batch: _Batch) -> list[list[int]]:
        """Return the ids of a batch that was sent, when the card has given them."""
        with self._lock:
            while batch.answer is None and not batch.is_lost:
                self._receive()
        answer = batch.answer
        if answer is None:
            if not self._fallback:
                raise self._loss()
            answer = self._in_software(batch.dealt.texts, batch.vocab.tokenizer)
        found = []
        for parts in batch.parts:
            ids: list[int] = []
            for part in parts:
                ids += answer[part] if isinstance(part, int) else part
            found.append(ids)
        return found

    def _receive(self) -> None:
        """Receive all words of the oldest batch, or lose all that are on their way."""
        batch = self._flight[0]
        with suppress(DeviceError), self._watched():
            batch.answer = read_words(self._words(batch), batch.dealt, batch.vocab)
        if batch.answer is None:
            return
        self._flight.popleft()
        self._texts += len(batch.dealt.texts)
        if self._early and not self._flight:
            self._fail(AnswerError("the card sent words after its last batch; reset it"))

    def _words(self, batch: _Batch) -> "Words":
        """Return the words of a batch without the one that ends it; those after it are kept."""
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
                raise AnswerError(f"{count} words came for a batch that has at most {most}")
            self.listener(bytes_of_words(words[:end], batch.vocab))
            if ends.size:
                break
        if end + 1 < len(words):
            self._early.append(words[end + 1 :])
        if words[end] != BATCH | self._batches:
            raise AnswerError(f"batch {self._batches} ended with the word {int(words[end]):#010x}")
        self._batches = self._batches + 1 & 0xFFFFFF
        return np.concatenate(found)

    @contextmanager
    def _watched(self) -> Iterator[None]:
        """Take whatever is raised for a failure: what was sent or received in part is lost."""
        try:
            yield
        except DeviceError as error:
            self._fail(error)
            raise
        except BaseException:
            self._fail(DeviceError("an exception came between the card and its driver; reset it"))
            raise

    def _fail(self, error: DeviceError) -> None:
        """Note that the card failed; what is on its way is lost."""
        self._failure = error
        for batch in self._flight:
            batch.is_lost = True
        self._flight.clear()
        self._early.clear()

    def _check(self) -> None:
        """Refuse to use a card that has failed."""
        if self._failure is not None:
            raise self._loss()

    def _loss(self) -> DeviceError:
        if self._failure is None:
            return DeviceError("the card was reset before it gave the ids; encode the texts again")
        return type(self._failure)(str(self._failure))

    # ---- its life ----

    def reset(self) -> None:
        """Bring the card back, whatever it did; texts on their way are lost, its tables are not."""
        with self._lock, self._watched():
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
        """Let the card go, when it has given what others wait for; to close again does nothing."""
        with self._lock:  # A transport is called by one thread at a time.
            self._fail(DeviceError("the device is closed; open it again"))
            self._fallback = False
            self._link.close()

    def __enter__(self) -> Self:
        """Return itself; it is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let the card go."""
        self.close()

    def __repr__(self) -> str:
        """Say what tells devices apart at a glance."""
        loaded = "no tables" if self._vocab is None else repr(self._vocab.tokenizer)
        lanes = f"{self._configuration.lanes} lane{'s' if self._configuration.lanes > 1 else ''}"
        return f"<zeton.accel.Device {self._name!r}, {lanes}, {loaded}>"
