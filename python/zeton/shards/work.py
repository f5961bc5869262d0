"""One unit becomes ids: a function of the unit and of the job, on this machine or another."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeton._engine import Counter
from zeton.chat import Rendered, Template
from zeton.corpus import Skipped, Unit
from zeton.shards.options import Options
from zeton.shards.texts import HEAD_BYTES, Reading, Segment, cut_at_ends
from zeton.tokenizer import Tokenizer

__all__ = ["Encoded", "Job", "Tally", "cutter"]

BATCH_BYTES = 1 << 23
"""About how much text is encoded at once."""

ALONE_BYTES = 1 << 20
"""From where on a text has all threads for itself."""

HELD_TOKENS = 1 << 23
"""How many ids of a unit are held in memory; more go to a file, as of compressed files."""

Ids: TypeAlias = NDArray[Any]

_NONE = np.empty(0, np.int64)


@dataclass
class Tally:
    """Numbers of a file, or of a range of it."""

    texts: int = 0
    tokens: int = 0
    bytes: int = 0

    def add(self, other: "Tally") -> None:
        """Add the numbers of another range."""
        self.texts += other.texts
        self.tokens += other.tokens
        self.bytes += other.bytes


@dataclass
class Encoded:
    """The ids of a unit, and how they fall into texts."""

    ids: Ids
    mask: NDArray[np.uint8] | None
    lengths: NDArray[np.int64]
    """Of each text, in tokens; the first may be the rest of one, the last a beginning."""
    continues: bool
    """Whether the first is the rest of a text that began in the unit before."""
    held_out: NDArray[np.bool_] | None
    """Which texts go to validation; the rest of a text goes where it began."""
    tallies: dict[int, Tally]
    """By the number of the file."""
    skipped: Skipped
    spilled: list[str] = field(default_factory=list)
    """Files that hold ids and mask, and go when they were read."""

    def leave_out(self, text: int) -> None:
        """Leave a text out; if it is the last, without a copy."""
        start = int(self.lengths[:text].sum())
        stop = start + int(self.lengths[text])
        self.ids = _without(self.ids, start, stop)
        self.mask = None if self.mask is None else _without(self.mask, start, stop)
        self.lengths = np.delete(self.lengths, text)
        if self.held_out is not None:
            self.held_out = np.delete(self.held_out, text)


@dataclass(frozen=True)
class Job:
    """The function that encodes a unit, with all that units have in common."""

    tok: Tokenizer
    options: Options
    dtype: str
    threads: int | None
    folder: str
    """Where a unit that is too large for memory puts its ids."""

    def __call__(self, unit: Unit) -> Encoded:
        """Read a unit and encode it."""
        gathered = _Gathered(self.dtype, self.folder, has_mask=self.options.chat is not None)
        tallies: dict[int, Tally] = {}
        skipped = Skipped()
        begins: list[bool] = []
        held_out: list[bool] = []
        broken: list[int] = []
        text = Tally()
        reading = self._reading(skipped)
        for files, batch in _batches(reading.segments(unit)):
            broken += [len(begins) + at for at, segment in enumerate(batch) if segment.is_broken]
            begins += [segment.begins for segment in batch]
            if self.options.validation:
                held_out += map(self._is_held_out, batch)
            arrays, mask, lengths = self._encode(batch)
            gathered.add(arrays, mask, lengths)
            for file, segment, tokens in zip(files, batch, lengths.tolist(), strict=True):
                tally = tallies.setdefault(unit.start.file + file, Tally())
                part = Tally(int(segment.begins), tokens, segment.size)
                tally.add(part)
                text = part if segment.begins else text
                if not segment.begins:
                    text.add(part)
                if segment.is_broken:
                    tally.add(Tally(-text.texts, -text.tokens, -text.bytes))
        # The parts of a text are one, but for the part that came before the unit.
        firsts = np.flatnonzero([True, *begins[1:]] if begins else [])
        encoded = Encoded(
            *gathered.finish(),
            np.add.reduceat(np.concatenate(gathered.lengths), firsts) if begins else _NONE,
            bool(begins) and not begins[0],
            np.array(held_out, np.bool_)[firsts] if self.options.validation else None,
            tallies,
            skipped,
            gathered.spilled,
        )
        for at in reversed(broken):
            encoded.leave_out(int(np.searchsorted(firsts, at, side="right")) - 1)
        return encoded

    def _reading(self, skipped: Skipped) -> Reading:
        options = self.options
        cut, render = self._cut, self._render
        return Reading(options.field, options.end, cut, options.on_error, render, skipped)

    @cached_property
    def _cut(self) -> Callable[[bytes], int]:
        return cutter(self.tok, self.options)

    @cached_property
    def _render(self) -> Any:  # noqa: ANN401 - a function, or None where texts are no chats.
        if self.options.chat is None:
            return None
        renderer = Template.from_json(self.options.chat).bind(self.tok)
        return lambda chat: renderer.render(chat, max_tokens=self.options.max_tokens)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the cached properties."""
        return Job, (self.tok, self.options, self.dtype, self.threads, self.folder)

    def _is_held_out(self, segment: Segment) -> bool:
        """Tell by the text's first bytes alone whether it is for validation."""
        if not segment.begins:
            return False
        head = segment.head
        if head is None:
            start = segment.text[:HEAD_BYTES]
            head = start.encode("utf-8", "surrogatepass") if isinstance(start, str) else start
        key = self.options.validation_seed.to_bytes(8, "little")
        digest = hashlib.blake2b(head[:HEAD_BYTES], digest_size=8, key=key).digest()
        return int.from_bytes(digest, "little") < self.options.validation * 2.0**64

    def _encode(
        self, batch: list[Segment]
    ) -> tuple[list[Ids], NDArray[np.uint8] | None, NDArray[np.int64]]:
        """Return the ids of texts, which may come in several arrays, their mask and lengths."""
        if self.options.chat is not None:
            return _joined([segment.chat for segment in batch if segment.chat is not None])
        arrays: list[Ids] = []
        lengths: list[NDArray[np.int64]] = []
        for is_large, some in groupby(batch, lambda segment: segment.size >= ALONE_BYTES):
            if is_large:
                for segment in some:
                    arrays.append(
                        self.tok.encode_array(
                            segment.text,
                            allowed_special=self.options.allowed_special,
                            threads=self.threads,
                        )
                    )
                    lengths.append(np.array([len(arrays[-1])], np.int64))
            else:
                texts = [segment.text for segment in some]
                ids, edges = self.tok.encode_batch_array(
                    texts, threads=self.threads, allowed_special=self.options.allowed_special
                )
                arrays.append(ids)
                edges_of = edges.view(np.int64)
                lengths.append(edges_of[1:] - edges_of[:-1])
        sizes = np.concatenate(lengths)
        bos, eos = self.options.bos, self.options.eos
        if bos is None and eos is None:
            return arrays, None, sizes
        ids, sizes = _framed(np.concatenate(arrays), sizes, batch, bos, eos)
        return [ids], None, sizes


def _without(values: NDArray[Any], start: int, stop: int) -> NDArray[Any]:
    if stop == len(values):
        return values[:start]
    return np.concatenate([values[:start], values[stop:]])


def cutter(tok: Tokenizer, options: Options) -> Callable[[bytes], int]:
    """Return the function that finds a cut in a text; with specials there is none."""
    if options.allowed_special is not None:
        return cut_at_ends(lambda _: 0, options.end)
    counter = Counter(tok.pattern, 1, None, tempfile.gettempdir(), 0.0)
    return cut_at_ends(counter.last_safe_cut, options.end)


def _batches(
    segments: Iterator[tuple[int, Segment]],
) -> Iterator[tuple[list[int], list[Segment]]]:
    """Gather texts, with the numbers of their files."""
    files: list[int] = []
    held: list[Segment] = []
    size = 0
    for file, segment in segments:
        files.append(file)
        held.append(segment)
        size += segment.size
        if size >= BATCH_BYTES:
            yield files, held
            files, held, size = [], [], 0
    if held:
        yield files, held


def _joined(
    chats: list[Rendered],
) -> tuple[list[Ids], NDArray[np.uint8], NDArray[np.int64]]:
    ids = [np.array(chat.ids, np.uint32) for chat in chats]
    masks = [np.array(chat.mask, np.uint8) for chat in chats]
    return ids, np.concatenate(masks), np.array([len(chat.ids) for chat in chats], np.int64)


def _framed(
    ids: Ids,
    lengths: NDArray[np.int64],
    batch: list[Segment],
    bos: int | None,
    eos: int | None,
) -> tuple[Ids, NDArray[np.int64]]:
    """Put bos before and eos after each text; one that is cut has them once."""
    before = np.array([segment.begins and bos is not None for segment in batch], np.int64)
    after = np.array([segment.ends and eos is not None for segment in batch], np.int64)
    sizes = lengths + before + after
    ends = np.cumsum(sizes)
    framed = np.empty(int(ends[-1]), np.uint32)
    is_text = np.ones(len(framed), np.bool_)
    for id, places in ((bos, (ends - sizes)[before > 0]), (eos, (ends - 1)[after > 0])):  # noqa: A001
        if id is not None:
            is_text[places] = False
            framed[places] = id
    framed[is_text] = ids
    return framed, sizes


class _Gathered:
    """Ids of a unit as they come: in memory, or in a file where they are too many."""

    def __init__(self, dtype: str, folder: str, *, has_mask: bool) -> None:
        self._arrays: list[Ids] = []
        self._masks: list[NDArray[np.uint8]] = []
        self._dtype = np.dtype(dtype)
        self._folder = Path(folder)
        self._has_mask = has_mask
        self._held = 0
        self.tokens = 0
        self.lengths: list[NDArray[np.int64]] = []
        self.spilled: list[str] = []

    def add(
        self, arrays: list[Ids], mask: NDArray[np.uint8] | None, lengths: NDArray[np.int64]
    ) -> None:
        """Take more ids, in the type that they are written in."""
        for ids in arrays:
            self._arrays.append(ids.astype(self._dtype))
            self._held += len(ids)
            self.tokens += len(ids)
        if mask is not None:
            self._masks.append(mask)
        self.lengths.append(lengths)
        if self._held > HELD_TOKENS:
            self._spill()

    def _spill(self) -> None:
        if not self.spilled:
            name = self._folder / f".{os.urandom(8).hex()}"
            self.spilled = [f"{name}.ids.tmp", *([f"{name}.mask.tmp"] * self._has_mask)]
        for path, held in zip(self.spilled, (self._arrays, self._masks), strict=False):
            with Path(path).open("ab") as file:
                file.writelines(some.data for some in held)
        self._arrays, self._masks, self._held = [], [], 0

    def finish(self) -> tuple[Ids, NDArray[np.uint8] | None]:
        """Return all ids and their mask, mapped if they are in a file."""
        if self.spilled:
            self._spill()
            mapped = [np.memmap(path, mode="r") for path in self.spilled]
            return mapped[0].view(self._dtype), mapped[1] if self._has_mask else None
        if len(self._arrays) == 1 and not self._has_mask:
            return self._arrays[0], None
        ids = np.concatenate([np.empty(0, self._dtype), *self._arrays])
        return ids, np.concatenate(self._masks) if self._masks else None
