"""A corpus becomes counts: how often each distinct piece occurs. Learning needs no more of it."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Self, TypeAlias, Unpack

from zeton import corpus
from zeton._engine import DEFAULT_PATTERN, Counter, RawCounts, Texts
from zeton.errors import ArgumentTypeError, CorpusError, Error, TrainError, file_error
from zeton.pattern.spec import pattern_text
from zeton.plural import counted
from zeton.rules import Rules
from zeton.splitting import Split, checked, mark_of, name_of, pieces_of
from zeton.training.options import COUNT_DEFAULTS, CountOptions, check_names
from zeton.work import memory as memories
from zeton.work.files import require_path, write_whole_by
from zeton.work.prefetch import ahead
from zeton.work.progress import Clock, Listener, Progress, shown

__all__ = ["Counting", "Counts", "Weighted", "count_corpus", "weighted_texts"]

THREADS_MAX = 256
"""The most threads of one call, as in the engine; a larger number means this one."""

BATCH_BYTES = 1 << 22
"""About how much text is counted at once, for each thread."""

BATCHES_AHEAD = 2
"""How many are read while one is counted."""

WEIGHT_MAX = 2**32 - 1

Text: TypeAlias = str | bytes


class Counts:
    """Distinct pieces and how often each occurs in a corpus; `learn` makes vocabularies of them.

    >>> counts = count_corpus(["low lower lowest", "low"])
    >>> len(counts), counts.corpus_bytes, counts.most_common(2)
    (3, 19, [(b'low', 2), (b' lower', 1)])
    """

    def __init__(self, raw: RawCounts, validation: "Counts | None" = None) -> None:
        """Take the counts of the engine; `count_corpus` makes them."""
        self.raw = raw
        self.validation = validation
        """The counts of the share that was held out, if one was."""
        self.skipped = ""
        """The skipped files and lines, in one line, or ""."""
        self.split: Split | None = None
        """The function that made the pieces, if one did."""

    @classmethod
    def load(cls, *paths: str | PathLike[str], temp_dir: str | PathLike[str] | None = None) -> Self:
        """Read counts files and merge them: as if all their texts had been counted at once.

        A temporary file in `temp_dir` takes as much room as the merged counts, memory hardly any.
        """
        if not paths:
            raise CorpusError("there are no counts files to read; give one or more")
        for path in paths:
            try:
                require_path(path).open("rb").close()
            except (OSError, ValueError) as error:
                raise file_error(Path(path), "read", error) from None
        try:
            return cls(RawCounts.read([os.fspath(path) for path in paths], _folder(temp_dir)))
        except Error as error:
            raise type(error)(f"{_culprit(paths, temp_dir)}: {error}") from None

    def save(self, path: str | PathLike[str]) -> Path:
        """Write a counts file, which appears whole or not at all; return where it is."""
        if self.split is not None:
            name = name_of(self.split)
            raise TrainError(f"a file holds no code, so not the split {name}; learn here and now")
        if self.validation is not None:
            raise TrainError(
                "these counts have a validation share, which a counts file cannot hold"
            )
        target = require_path(path)
        self.write(target)
        return target

    def write(self, path: Path) -> None:
        """Write a counts file, without the validation share."""
        write_whole_by(path, lambda name: self.raw.write(os.fspath(name)))

    @property
    def pattern(self) -> str:
        """The pattern that made the pieces."""
        return self.raw.pattern

    @property
    def rules(self) -> Rules | None:
        """The rules that made the pieces; None if a pattern did."""
        return Rules.of(self)

    @property
    def corpus_bytes(self) -> int:
        """The bytes of the corpus, weights included."""
        return self.raw.totals[1]

    @property
    def texts(self) -> int:
        """How many texts there were."""
        return self.raw.totals[2]

    def __len__(self) -> int:
        """Return the number of distinct pieces."""
        return self.raw.totals[0]

    def most_common(self, count: int) -> list[tuple[bytes, int]]:
        """Return the pieces that occur most often; of equal ones, the first in byte order."""
        return self.raw.most_common(max(count, 0))

    def __repr__(self) -> str:
        """Return the numbers of pieces, bytes and texts."""
        return (
            f"<zeton.Counts of {counted(len(self), 'piece')}, "
            f"{counted(self.corpus_bytes, 'byte')}, {counted(self.texts, 'text')}>"
        )


def _culprit(paths: Sequence[str | PathLike[str]], folder: str | PathLike[str] | None) -> str:
    """Name the first of several files that cannot be read alone, or all of them."""
    for path in paths:
        try:
            RawCounts.read([os.fspath(path)], _folder(folder))
        except Error:
            return str(path)
    return ", ".join(map(str, paths))


def count_corpus(texts: Iterable[Text], **options: Unpack[CountOptions]) -> Counts:
    """Count the pieces of texts, which are read once, as they come, in a thread of their own.

    An iterator that only its own thread may use, for example a cursor of sqlite3, needs a list.

    `memory` bounds the memory of counting; counts that do not fit go to temporary files in
    `temp_dir`. `zeton.training.options` explains every option.
    """
    check_names("count_corpus", options, CountOptions.__annotations__)
    chosen = COUNT_DEFAULTS | options
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts is many texts, not one; give a list")
    counting = Counting(
        pattern_text(chosen["pattern"], chosen["rules"]),
        chosen["threads"],
        chosen["memory"],
        chosen["temp_dir"],
        chosen["validation"],
        split=chosen["split"],
    )
    with shown(chosen["progress"]) as tell:
        for _ in counting.add(_weighted(texts, chosen["weights"]), tell):
            pass
        return counting.finish()


@dataclass(frozen=True)
class Weighted:
    """A text, or a part of one, and how many times it counts."""

    text: Text
    weight: int = 1
    is_new: bool = True
    """Whether a text begins here."""
    end: Any = None
    """The position after the text, from which reading can resume."""


def _weighted(texts: Iterable[Text], weights: Iterable[int] | None) -> Iterator[Weighted]:
    if weights is None:
        yield from map(Weighted, texts)
        return
    if not isinstance(weights, Iterable):
        raise ArgumentTypeError(
            f"weights is a list with an int for each text, not {type(weights).__name__}"
        )
    none = object()
    left = iter(weights)
    for text in texts:
        if (weight := next(left, none)) is none:
            raise TrainError("there are fewer weights than texts; give one for each text")
        yield Weighted(text, check_weight(weight))
    if next(left, none) is not none:
        raise TrainError("there are more weights than texts; give one for each text")


def weighted_texts(reader: corpus.Reader, weights: Sequence[int]) -> Iterator[Weighted]:
    """Yield the texts of files; each `end` is its position and a copy of `skipped` up to there.

    `weights` has one entry a file.
    """
    start, seen, skipped = reader.start, (-1, -1), corpus.Skipped()
    last = start.file if start.at else -1
    for part in reader:
        now = (len(reader.skipped.files), reader.skipped.lines)
        if now != seen:
            seen, skipped = now, deepcopy(reader.skipped)
        # The first part of a long text stands for the text.
        is_new = part.file != last or isinstance(part.text, str)
        last = part.file
        yield Weighted(part.text, weights[part.file], is_new, (part.end, skipped))


def check_weight(weight: object) -> int:
    """Return a weight, or raise an error."""
    if not isinstance(weight, int) or isinstance(weight, bool):
        raise TypeError(f"a weight is an int, not {type(weight).__name__}")
    if not 1 <= weight <= WEIGHT_MAX:
        raise TrainError(f"a weight is {weight}; it must be from 1 to {WEIGHT_MAX}")
    return weight


class Counting:
    """A corpus that is being counted: the options, checked, and the counter."""

    def __init__(
        self,
        pattern: str | None,
        threads: int | None,
        memory: int | str | None,
        folder: str | PathLike[str] | None = None,
        validation: float = 0.0,
        *,
        split: Split | None = None,
    ) -> None:
        """Check the options."""
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int)):
            raise ArgumentTypeError(f"threads is an int, not {type(threads).__name__}")
        if threads is not None and not 1 <= threads < 2**63:
            raise TrainError(
                f"threads is {threads}; give at least 1, or None for one thread a core"
            )
        if isinstance(validation, bool) or not isinstance(validation, (int, float)):
            raise ArgumentTypeError(f"validation is a share, not {type(validation).__name__}")
        if not 0.0 <= validation < 1.0:
            raise TrainError(f"validation={validation}; give a share, from 0 to less than 1")
        self.pattern = DEFAULT_PATTERN if pattern is None else pattern
        self.split = split
        if split is not None:
            self.pattern, threads = mark_of(checked(split)), 1
        self.threads_given = threads and min(threads, THREADS_MAX)
        self.threads = self.threads_given or _cores()
        self.memory = memories.given_or_free(memory)
        self.folder = _folder(folder)
        self.validation = validation
        self.bytes = 0
        self.texts = 0
        """Counted since the last `take`."""
        self._texts_before = 0
        self._counter = self._new_counter()

    def _new_counter(self) -> Counter:
        # The other half is for prefetched texts, and for memory that the allocator keeps.
        half = max(self.memory // 2, 1)
        by_function = self.split is not None
        return Counter(self.pattern, self.threads, half, self.folder, self.validation, by_function)

    def last_safe_cut(self, text: bytes) -> int:
        """Return how much of a text may be counted on its own, for any text behind it."""
        return self._counter.last_safe_cut(text)

    def add(
        self,
        texts: Iterable[Weighted],
        tell: Listener,
        total: Callable[[Any], int | None] = lambda _: None,
        bytes_max: int = 2**63,
    ) -> Iterator["_Batch"]:
        """Count texts, a batch at a time; yield each batch.

        `total` says how much there is, about, as far as it is known where a batch ends.
        """
        clock, before = Clock(), self.bytes
        size = min(BATCH_BYTES * self.threads, bytes_max, max(self.memory // 16, 1))
        for batch in ahead(_made_ready(_batches(texts, size)), BATCHES_AHEAD):
            self._count(batch)
            self.texts += batch.begun
            self.bytes += batch.bytes
            if clock.is_time() or not batch.texts:
                pieces, _ = self._counter.held()
                tell(
                    Progress(
                        "count",
                        clock.seconds(),
                        texts=self._texts_before + self.texts,
                        text_bytes=self.bytes - before,
                        text_bytes_total=total(batch.end),
                        pieces=pieces,
                        memory=memories.resident(),
                    )
                )
            yield batch

    def _count(self, batch: "_Batch") -> None:
        if self.split is None:
            for weight, some in batch.ready.items():
                self._counter.add(some, weight)
            return
        for weight, texts in batch.texts.items():
            split = [pieces_of(text, self.split) for text in texts]
            lengths = [list(map(len, pieces)) for pieces in split]
            self._counter.add_pieces(list(zip(map(b"".join, split), lengths, strict=True)), weight)

    def take(self) -> Counts:
        """Return the counts since the last call, and start from zero."""
        counts = self.finish()
        self._counter = self._new_counter()
        self._texts_before += self.texts
        self.texts = 0
        return counts

    def finish(self) -> Counts:
        """End counting and return the counts."""
        corpus, validation = self._counter.finish(self.texts)
        counts = Counts(corpus, Counts(validation) if self.validation else None)
        counts.split = self.split
        return counts


@dataclass
class _Batch:
    """Texts that are counted at once, by their weights."""

    texts: dict[int, list[Text]] = field(default_factory=dict)
    ready: dict[int, Texts] = field(default_factory=dict)
    """The same for the engine: making them ready takes time as well."""
    bytes: int = 0
    begun: int = 0
    """How many texts began."""
    end: Any = None


def _batches(texts: Iterable[Weighted], size_max: int) -> Iterator[_Batch]:
    """Gather texts. The last batch is empty."""
    batch, held = _Batch(), 0
    for text in texts:
        batch.texts.setdefault(text.weight, []).append(text.text)
        batch.bytes += _length(text.text)
        batch.begun += text.is_new
        batch.end = text.end
        held += sys.getsizeof(text.text)
        if held >= size_max:
            yield batch
            batch, held = _Batch(end=batch.end), 0
    if batch.texts:
        yield batch
    yield _Batch(end=batch.end)


def _length(text: object) -> int:
    return len(text) if isinstance(text, (str, bytes, bytearray, memoryview)) else 0


def _made_ready(batches: Iterator[_Batch]) -> Iterator[_Batch]:
    for batch in batches:
        batch.ready = {weight: Texts(some) for weight, some in batch.texts.items()}
        yield batch


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _folder(folder: str | PathLike[str] | None) -> str:
    """Return where temporary files go; refused now, not after the work."""
    if folder is None:
        return tempfile.gettempdir()
    found = require_path(folder)
    if not found.is_dir():
        raise CorpusError(f"{found} is no folder; temporary files need one that exists")
    return os.fspath(found)
