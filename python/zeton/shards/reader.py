"""Shards read again: any stretch of tokens, any text, any row; mapped when first needed."""

import builtins
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from zeton.errors import ShardError, ShardPlaceError, file_error
from zeton.plural import counted
from zeton.shards.formats import FORMATS
from zeton.shards.formats.parquet import modules
from zeton.shards.manifest import TOKENIZER, Manifest
from zeton.suggest import did_you_mean
from zeton.tokenizer import Tokenizer, load
from zeton.work.files import require_path

__all__ = ["Reader", "Tokens", "open", "place"]


def open(folder: str | PathLike[str], *, split: str = "train") -> "Reader":  # noqa: A001 - the word is ours.
    """Open the shards of a split, without reading them."""
    return Reader(require_path(folder), split)


def place(number: SupportsIndex, count: int, noun: str) -> int:
    """Return which of so many a number means; a negative one counts from the end.

    >>> place(-1, 10, "row")
    9
    """
    try:
        at = index(number)
    except TypeError:
        found = type(number).__name__
        raise TypeError(f"a {noun} is named by an int, not {found}") from None
    if not -count <= at < count:
        there = f"there is 1 {noun}" if count == 1 else f"there are {counted(count, noun)}"
        raise ShardPlaceError(f"{noun} {at} is not there; {there}")
    return at % count


class Values(Protocol):
    """The values of one shard."""

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return a stretch of them."""


class Reader:
    """The texts of a split, each an array of ids; `tokens` is all of them, one after the other.

    It is lazy and may be pickled; processes map the same pages.
    """

    def __init__(self, folder: Path, split: str = "train") -> None:
        """Read the manifest, and nothing else yet."""
        self.folder = folder
        self.split = split
        self.manifest = Manifest.read(folder)
        if split not in self.manifest.splits:
            hint = did_you_mean(split, self.manifest.splits)
            raise ShardError(f"{folder} has no split {split!r}{hint}")
        self._told = self.manifest.splits[split]
        self.dtype = np.dtype(self.manifest.dtype)
        self.row_length: int | None = self.manifest.options["pack"]
        """How many tokens a packed row has, if they are packed."""
        self.tokens = Tokens(self, is_mask=False)
        has_mask = self.manifest.options["chat"] is not None
        self.mask = Tokens(self, is_mask=True) if has_mask else None
        """For chats: 1 for each token to learn."""
        self._starts: NDArray[np.int64] | None = None
        self._lengths: NDArray[np.int64] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as where it is."""
        return Reader, (self.folder, self.split)

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that made the shards, from their folder, checked by its digest."""
        path = self.folder / TOKENIZER
        found = load(path)
        if found.digest != self.manifest.tokenizer["sha256"]:
            raise ShardError(f"{path} is not the tokenizer that made the shards; write them again")
        return found

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each text begins, in tokens; the last value is where all end."""
        if self._starts is None:
            self._starts = self._array("index")
        return self._starts

    def __len__(self) -> int:
        """Return the number of texts."""
        return int(self._told["texts"])

    def span(self, number: int) -> tuple[int, int]:
        """Return where a text begins and ends, in tokens."""
        number = place(number, len(self), "text")
        start = int(self.starts[number])
        if "lengths" not in self._told:
            return start, int(self.starts[number + 1])
        if self._lengths is None:
            self._lengths = self._array("lengths")
        return start, start + int(self._lengths[number])

    def text(self, number: int) -> NDArray[Any]:
        """Return the ids of a text."""
        start, stop = self.span(number)
        return self.tokens[start:stop]

    __getitem__ = text

    def text_mask(self, number: int) -> NDArray[Any]:
        """Return the mask of a chat."""
        if self.mask is None:
            raise ShardError(f"{self.folder} has texts, not chats; there is no mask")
        start, stop = self.span(number)
        return self.mask[start:stop]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        """Return the texts in order."""
        return map(self.text, range(len(self)))

    @property
    def rows(self) -> int:
        """The number of packed rows."""
        return int(self._told["tokens"]) // self._packed()

    def row(self, number: int) -> NDArray[Any]:
        """Return the ids of a packed row."""
        first, last = self._row_span(number)
        return self.tokens[first:last]

    def borders(self, number: int) -> NDArray[np.int64]:
        """Return where texts, or padding, begin in a row; the first is 0, the last its length.

        These are the `cu_seqlens` of attention that stays within a text.
        """
        first, last = self._row_span(number)
        low, high = np.searchsorted(self.starts[:-1], [first, last])
        inside = [self.starts[low:high]]
        if "lengths" in self._told:
            spans = [self.span(text)[1] for text in range(max(int(low) - 1, 0), int(high))]
            inside.append(np.array(spans, np.int64))
        edges = np.concatenate([[first, last], *inside])
        return np.unique(edges[(edges >= first) & (edges <= last)]) - first

    def _row_span(self, number: int) -> tuple[int, int]:
        length = self._packed()
        number = place(number, self.rows, "row")
        return number * length, (number + 1) * length

    def _packed(self) -> int:
        if self.row_length is None:
            raise ShardError(f"{self.folder} is not packed; write it with pack=")
        return self.row_length

    def _array(self, name: str) -> NDArray[np.int64]:
        path = self.folder / self._told[name]["file"]
        try:
            return np.load(path, mmap_mode="r")  # type: ignore[no-any-return]
        except (OSError, ValueError) as error:
            raise file_error(path, "read", error) from None

    def __repr__(self) -> str:
        """Return the split, the format, and the numbers of texts and tokens."""
        counts = f"{counted(len(self), 'text')}, {counted(len(self.tokens), 'token')}"
        return f"<zeton.shards.Reader of {self.split}: {counts} as {self.manifest.format}>"


class Tokens:
    """All ids of a split, or its mask, like one array; a stretch within a shard is a view."""

    def __init__(self, reader: Reader, *, is_mask: bool) -> None:
        """Take the shards, which are opened when they are needed."""
        self._reader = reader
        self._is_mask = is_mask
        told = reader.manifest.splits[reader.split]["shards"]
        self._edges = [0]
        for shard in told:
            self._edges.append(self._edges[-1] + int(shard["tokens"]))
        self._shards: list[Values | None] = [None] * len(told)

    def __len__(self) -> int:
        """Return how many there are."""
        return self._edges[-1]

    def __getitem__(self, at: int | slice) -> NDArray[Any]:
        """Return one id, or a stretch of them."""
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            if step != 1:
                raise ShardError(f"the step is {step}; read a stretch, and then take of it")
            return self._read(start, max(stop, start))
        at = place(at, len(self), "token")
        return self._read(at, at + 1)[0]  # type: ignore[no-any-return]

    def _read(self, start: int, stop: int) -> NDArray[Any]:
        found = []
        number = max(bisect_right(self._edges, start) - 1, 0)
        while start < stop:
            end = min(stop, self._edges[number + 1])
            if start < end:
                base = self._edges[number]
                found.append(self._shard(number).read(start - base, end - base))
            start, number = end, number + 1
        if len(found) == 1:
            return found[0]
        dtype = np.dtype(np.uint8) if self._is_mask else self._reader.dtype
        return np.concatenate([np.empty(0, dtype), *found])

    def _shard(self, number: int) -> Values:
        shard = self._shards[number]
        if shard is None:
            shard = self._shards[number] = self._open(number)
        return shard

    def _open(self, number: int) -> Values:
        reader = self._reader
        told = reader.manifest.splits[reader.split]["shards"]
        tokens = int(told[number]["tokens"])
        if reader.manifest.format == "parquet":
            first = sum(int(shard["texts"]) for shard in told[:number])
            path = reader.folder / told[number]["files"][0]["file"]
            if reader.row_length:
                starts = np.arange(0, tokens + 1, reader.row_length)
            else:
                starts = reader.starts[first : first + int(told[number]["texts"]) + 1]
                starts = starts - starts[0]
                starts[-1] = tokens
            return _Table(path, "loss_mask" if self._is_mask else "input_ids", starts)
        path = reader.folder / told[number]["files"][int(self._is_mask)]["file"]
        if self._is_mask:
            return _Mapped(path, np.dtype(np.uint8), 0, tokens)
        return _Mapped(path, reader.dtype, FORMATS[reader.manifest.format].header_bytes, tokens)


class _Mapped:
    """The values of a file after its header, mapped."""

    def __init__(self, path: Path, dtype: "np.dtype[Any]", header: int, count: int) -> None:
        try:
            mapped = np.memmap(path, dtype, "r", header, (count,))
        except (OSError, ValueError) as error:
            raise file_error(path, "read", error) from None
        self._values: NDArray[Any] = np.asarray(mapped)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return a view."""
        return self._values[start:stop]


class _Table:
    """A column of a Parquet file, of which one group of rows is held."""

    def __init__(self, path: Path, column: str, starts: NDArray[np.int64]) -> None:
        self._path, self._column = path, column
        rows = self._of_file(
            lambda table: [
                table.metadata.row_group(group).num_rows for group in range(table.num_row_groups)
            ]
        )
        if sum(rows) != len(starts) - 1:
            raise ShardError(f"{path} has {sum(rows)} rows, not {len(starts) - 1}; it is damaged")
        self._edges = [int(starts[edge]) for edge in np.cumsum([0, *rows])]
        self._held: tuple[int, NDArray[Any]] | None = None

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return a stretch, of one group of rows or several."""
        found = []
        for group in range(max(bisect_right(self._edges, start) - 1, 0), len(self._edges) - 1):
            first, last = self._edges[group], self._edges[group + 1]
            if first >= stop:
                break
            found.append(self._group(group)[max(start - first, 0) : min(stop, last) - first])
        return found[0] if len(found) == 1 else np.concatenate(found)

    def _group(self, group: int) -> NDArray[Any]:
        held = self._held
        if held is None or held[0] != group:
            values = self._of_file(
                lambda table: (
                    table.read_row_group(group, columns=[self._column])
                    .column(0)
                    .combine_chunks()
                    .values.to_numpy()
                )
            )
            size = self._edges[group + 1] - self._edges[group]
            if len(values) != size:
                found = f"{self._path} has {len(values)} values, not {size}"
                raise ShardError(f"{found}, in group {group}; it is damaged")
            held = self._held = group, values
        return held[1]

    def _of_file(self, read: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - the result of `read`.
        pa, pq = modules()
        try:
            with builtins.open(self._path, "rb") as file, pq.ParquetFile(file) as table:  # noqa: PTH123 - ours has the name `open`.
                return read(table)
        except (pa.ArrowException, OSError, ValueError, IndexError, KeyError) as error:
            if isinstance(error, OSError) and error.errno:
                raise file_error(self._path, "read", error) from None
            said = str(error).partition("\n")[0]
            raise ShardError(f"{self._path} is damaged: {said}") from None
