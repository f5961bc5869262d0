"""Needles in files of ids: the shards of a folder, or bare arrays of ids."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from zeton import shards
from zeton.errors import FormatError, IdError, ShardError, file_error
from zeton.search.needles import Needles
from zeton.search.occurrences import Phrases
from zeton.shards.formats.llmc import HEADER_INTS, MAGICS
from zeton.shards.manifest import MANIFEST, TOKENIZER, is_manifest
from zeton.shards.reader import Tokens
from zeton.shards.writing import told_of
from zeton.tokenizer import Tokenizer
from zeton.work.npy_file import Dtype, dtype_of, read_header

__all__ = ["Place", "Stored", "is_stored", "own_folder", "places_in", "shards_in", "stored"]

SUFFIXES = {".bin", ".npy"}
"""Suffixes of files of ids, also without a manifest."""

CHARACTER_BYTES_MAX = 4

DECODED_IDS = 1 << 18
"""How many ids are decoded at a time, where that is needed."""

BREAK = b"\xff"
"""A byte that is in no needle without case, which is UTF-8, and in no word."""


class Place(NamedTuple):
    """Where a needle is among ids."""

    first: int
    """The number of the first id that has some of it."""
    end: int
    offset: int
    """The bytes of the first id's token that stand before it."""
    size: int
    """Its bytes; without case they may differ in number from the needle's."""
    needle: int
    text: int | None
    """Which text of the split it is in, if the ids are of shards."""
    begin: int
    """Where that text begins, or all ids do."""
    stop: int


@dataclass(frozen=True)
class Stored:
    """The ids of one file, within those of all shards: a needle may cross into the next file."""

    path: Path
    tokenizer: Tokenizer
    ids: Tokens | NDArray[Any]
    start: int
    stop: int
    reader: shards.Reader | None = None

    @property
    def size(self) -> int:
        """The bytes of its ids."""
        return (self.stop - self.start) * self.ids[:0].itemsize

    def check(self, ids: NDArray[Any]) -> None:
        """Raise an error for an id beyond the vocabulary; a negative id, as of a label, is none."""
        most, size = (int(ids.max()) if len(ids) else 0), self.tokenizer.vocab_size
        if most >= size:
            raise IdError(
                f"{self.path} has id {most:,}, but the tokenizer has ids 0 to {size - 1:,}; "
                "give -t with the tokenizer that encoded it"
            )

    def text_of(self, at: int) -> tuple[int | None, int, int]:
        """Return which text has an id, and where it begins and ends; without shards, all is one."""
        if self.reader is None:
            return None, 0, len(self.ids)
        number = int(np.searchsorted(self.reader.starts[:-1], at, "right")) - 1
        return number, *self.reader.span(number)

    def shown(self, place: Place, beside: int) -> tuple[bytes, bytes, bytes]:
        """Return the text before a needle, the needle, and the text after it.

        Specials appear by their names; an id outside the vocabulary is left out.
        """
        first, end, offset, size, *_ = place
        own = self.tokenizer.decode_bytes(self.ids[first:end])
        before = self._decoded(max(place.begin, first - beside), first)
        after = self._decoded(end, min(place.stop, end + beside))
        return before + own[:offset], own[offset : offset + size], own[offset + size :] + after

    def _decoded(self, start: int, stop: int) -> bytes:
        found = []
        for number in self.ids[start:stop].tolist() if start < stop else []:
            try:
                found.append(self.tokenizer.token_bytes(number))
            except IdError:
                continue
        return b"".join(found)


def is_stored(path: Path) -> bool:
    """Tell whether a path is of ids: shards, one of their files, or a file that is named so."""
    if path.is_dir():
        return is_manifest(path / MANIFEST)
    return path.suffix in SUFFIXES or _manifest(path) is not None


def own_folder(path: Path) -> Path | None:
    """Return the folder of shards that a path is, or is a file of, if their tokenizer is in it."""
    folder = path if path.is_dir() else path.parent
    if not (folder / TOKENIZER).is_file():
        return None
    return folder if path.is_dir() or _manifest(path) is not None else None


def shards_in(path: Path) -> list[Path]:
    """Return the folders of shards in a folder that is not hidden, itself included."""
    found = []
    for root, folders, _ in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if is_stored(Path(root)):
            found.append(Path(root))
            folders.clear()
    return found


def stored(path: Path, tokenizer: Tokenizer, dtype: Dtype | None = None) -> Iterator[Stored]:
    """Open the ids of a file, or of all shards of a folder; masks and indices hold none."""
    manifest = shards.Manifest.read(path) if path.is_dir() else _manifest(path)
    if manifest is None:
        ids = _array(path, tokenizer, dtype)
        yield Stored(path, tokenizer, ids, 0, len(ids))
        return
    folder = path if path.is_dir() else path.parent
    if told_of(tokenizer) != manifest.tokenizer:
        own = folder / TOKENIZER
        raise ShardError(f"{path} was made with another tokenizer; give its own: -t {own}")
    for split, told in manifest.splits.items():
        reader = shards.Reader(folder, split)
        start = 0
        for shard in told["shards"]:
            name, stop = folder / shard["files"][0]["file"], start + int(shard["tokens"])
            if path.is_dir() or name.name == path.name:
                yield Stored(name, tokenizer, reader.tokens, start, stop, reader)
            start = stop


def places_in(
    source: Stored, needles: Needles, tell: Callable[[int], object] = int
) -> Iterator[Place]:
    """Yield where needles begin in a file and end in the same text.

    They are found as phrases. Where they are to be whole words, the characters beside each are
    decoded; where their case is ignored, all ids are. `tell` is told how many ids were read.
    """
    find = _by_decoding if needles.ignore_case else _by_phrases
    text: int | None = None
    begin = stop = 0
    for first, end, offset, size, needle in find(source, needles, tell):
        if not begin <= first < stop:
            text, begin, stop = source.text_of(first)
        if begin <= first < end <= stop:
            yield Place(first, end, offset, size, needle, text, begin, stop)


def _manifest(path: Path) -> shards.Manifest | None:
    """Return the manifest beside a file, if it knows the file."""
    if not is_manifest(path.parent / MANIFEST):
        return None
    manifest = shards.Manifest.read(path.parent)
    known = {each["file"] for each in manifest.files()}
    return manifest if path.name in known else None


def _array(path: Path, tokenizer: Tokenizer, dtype: Dtype | None) -> NDArray[Any]:
    """Map a file of ids: numpy's, llm.c's, or bare ones of a given type."""
    try:
        if path.suffix == ".npy":
            kept, count, start = read_header(path)
            if not count:
                return np.empty(0, kept)
            return np.asarray(np.memmap(path, kept, "r", start))
        size = path.stat().st_size
        number = np.dtype(dtype or dtype_of(tokenizer.vocab_size)).newbyteorder("<")
        header = 0
        if size >= 4 * HEADER_INTS:
            magic = np.fromfile(path, "<i4", 2).tolist()
            for kind, told in MAGICS.items():
                if tuple(magic) == told:
                    number, header = np.dtype(kind), 4 * HEADER_INTS
        if (size - header) % number.itemsize:
            raise FormatError(f"{path} ends inside a number of {number}; it is cut off")
        if size == header:
            return np.empty(0, number)
        return np.asarray(np.memmap(path, number, "r", header))
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, FormatError):
            raise
        raise file_error(path, "read", error) from None


class _View:
    """A stretch of ids, read as it is looked at."""

    def __init__(self, source: Stored, more: int, tell: Callable[[int], object]) -> None:
        self._source, self._start, self._tell = source, source.start, tell
        self._length = min(source.stop + more, len(source.ids)) - source.start

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, at: slice) -> NDArray[Any]:
        start, stop, _ = at.indices(self._length)
        self._tell(stop)
        found = self._source.ids[self._start + start : self._start + stop]
        if self._source.reader is None:
            self._source.check(found)
        return found


def _by_phrases(
    source: Stored, needles: Needles, tell: Callable[[int], object]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Find needles without decoding, and decode the text beside each whole word."""
    view: Any = _View(source, needles.bytes_max, tell)
    phrases = Phrases(source.tokenizer, needles.texts)
    words = {}
    for each in phrases.iterate(view):
        first, end = source.start + each.first, source.start + each.end
        if first >= source.stop:
            continue
        text = needles.texts[each.phrase]
        if needles.whole_word:
            if each.phrase not in words:
                words[each.phrase] = Needles((text,), whole_word=True)
            own = source.tokenizer.decode_bytes(source.ids[first:end])
            _, begin, stop = source.text_of(first)
            before = _near(source, range(first - 1, begin - 1, -1)) + own[: each.offset]
            whole = before + own[each.offset :] + _near(source, range(end, stop))
            if not words[each.phrase].every(whole, len(before), len(before) + 1):
                continue
        yield first, end, each.offset, len(text), each.phrase


def _near(source: Stored, places: range) -> bytes:
    """Return a character or more of the ids at these places, as far as they are of the text."""
    found: list[bytes] = []
    for at in places:
        token = _token(source.tokenizer, int(source.ids[at]))
        if token is None or sum(map(len, found)) >= CHARACTER_BYTES_MAX:
            break
        found.append(token)
    return b"".join(found if places.step > 0 else reversed(found))


def _by_decoding(
    source: Stored, needles: Needles, tell: Callable[[int], object]
) -> Iterator[tuple[int, int, int, int, int]]:
    """Find needles in the decoded text; a break stands where a text ends or a special is."""
    lengths = _lengths(source.tokenizer)
    shared = needles.bytes_max + 2 * CHARACTER_BYTES_MAX
    for start in range(source.start, source.stop, DECODED_IDS):
        stop = min(start + DECODED_IDS, source.stop)
        low, high = max(start - shared, 0), min(stop + shared, len(source.ids))
        ids = np.asarray(source.ids[low:high])
        if source.reader is None:
            source.check(ids)
        tell(stop - source.start)
        known = (ids >= 0) & (ids < len(lengths))
        sizes = np.where(known, lengths[np.where(known, ids, 0)], 0)
        is_text = sizes > 0
        begins = np.zeros(len(ids), bool)
        if source.reader is not None:
            edges = source.reader.starts
            inside = edges[np.searchsorted(edges, low) : np.searchsorted(edges, high)]
            begins[inside - low] = True
        # Each id that is no text is a break, and one more is before the start of a text.
        ends = np.cumsum(np.where(is_text, sizes, 1) + begins)
        starts = ends - np.where(is_text, sizes, 1)
        text = b"".join(_segments(source.tokenizer, ids, is_text, begins))
        for from_, to, needle in needles.every(text, 0, len(text)):
            first = int(np.searchsorted(starts, from_, "right")) - 1
            end = int(np.searchsorted(starts, to, "left"))
            if start <= low + first < stop:
                yield low + first, low + end, from_ - int(starts[first]), to - from_, needle


def _segments(
    tokenizer: Tokenizer, ids: NDArray[Any], is_text: NDArray[Any], begins: NDArray[Any]
) -> Iterator[bytes]:
    done = 0
    for at in np.flatnonzero(~is_text | begins).tolist():
        if done < at:
            yield tokenizer.decode_bytes(ids[done:at])
        done = at
        if begins[at]:
            yield BREAK
        if not is_text[at]:
            yield BREAK
            done = at + 1
    yield tokenizer.decode_bytes(ids[done:])


def _lengths(tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the bytes of each id's token; 0 for specials and unknown ids."""
    lengths = np.zeros(tokenizer.vocab_size, np.int64)
    for token, number in tokenizer.ranks().items():
        lengths[number] = len(token)
    return lengths


def _token(tokenizer: Tokenizer, number: int) -> bytes | None:
    """Return the bytes of a token; None for a special and an unknown id."""
    if number in tokenizer.specials.values() or not 0 <= number < tokenizer.vocab_size:
        return None
    try:
        return tokenizer.token_bytes(number)
    except IdError:
        return None
