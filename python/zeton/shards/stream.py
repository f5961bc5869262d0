"""A stream writes texts into shards, in order and in bounded memory, and can resume.

The current shard grows in the checkpoint's folder and moves to its place when it is full. A stream
can return to any state that was kept; later bytes are cut off.
"""

import hashlib
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from zeton.errors import file_error
from zeton.shards.formats import Format, Shard
from zeton.work.npy_file import HEADER_BYTES
from zeton.work.npy_file import header as npy_header

__all__ = ["State", "Stream", "checksum", "index_name"]

INDEX_DTYPE = "<i8"

SYNC_BYTES = 1 << 24
"""After how many bytes a file goes to the disk, while the next ids are being made."""

READ_BYTES = 1 << 22


@dataclass
class State:
    """How far a stream is; JSON carries it."""

    tokens: int = 0
    texts: int = 0
    shard_start: int = 0
    """Where the shard that grows begins, in tokens."""
    shard_texts: int = 0
    """How many texts begin before it."""
    shards: list[dict[str, Any]] = field(default_factory=list)
    """The full shards: tokens, texts, and each file with its bytes and checksum."""


class Stream:
    """The shards of one split, and the index that says where each text begins."""

    def __init__(
        self,
        name: str,
        growing: Path,
        out: Path,
        layout: Format,
        dtype: str,
        *,
        shard_size: int,
        has_mask: bool = False,
        row: int | None = None,
        state: State | None = None,
    ) -> None:
        """Start, or resume from a state: bytes that were written after it are cut off.

        With `row`, shards hold whole rows of so many tokens.
        """
        self.name = name
        self.state = State() if state is None else state
        self._growing = growing
        self._out = out
        self._layout = layout
        self._dtype = np.dtype(dtype)
        self._row = row
        self._size = shard_size // row * row if row else shard_size
        self._ends_anywhere = layout.ends_anywhere or row is not None
        self._has_mask = has_mask
        self._outgrown: list[Path] = []
        size = HEADER_BYTES + 8 * self.state.texts
        grown = growing / index_name(name)
        self._index = _Growing(grown, out / index_name(name), size, npy_header(0, INDEX_DTYPE))
        self._ids: _Growing | None = None
        self._mask: _Growing | None = None
        if self.state.tokens > self.state.shard_start:
            self._open()

    def add(
        self, ids: NDArray[Any], mask: NDArray[np.uint8] | None, starts: NDArray[np.int64]
    ) -> None:
        """Write more ids; new texts begin at `starts`, in tokens from the stream's beginning."""
        state = self.state
        self._index.write(starts.astype(INDEX_DTYPE))
        base, stop = state.tokens, state.tokens + len(ids)
        while True:
            cut = self._next_cut(starts, stop)
            end = stop if cut is None else cut
            self._write(ids[state.tokens - base : end - base], mask, base)
            state.tokens = end
            if cut is None:
                break
            self._close(state.texts + int(np.searchsorted(starts, cut)))
        state.texts += len(starts)

    def _next_cut(self, starts: NDArray[np.int64], stop: int) -> int | None:
        """Return the position at which the current shard is full, if that is before `stop`."""
        full = self.state.shard_start + self._size
        if self._ends_anywhere:
            return full if full <= stop else None
        at = int(np.searchsorted(starts, full))
        return int(starts[at]) if at < len(starts) else None

    def _write(self, ids: NDArray[Any], mask: NDArray[np.uint8] | None, base: int) -> None:
        if not len(ids):
            return
        if self._ids is None:
            self._open()
        start = self.state.tokens - base
        for at in range(0, len(ids), READ_BYTES):
            if self._ids is not None:
                self._ids.write(ids[at : at + READ_BYTES])
            if self._mask is not None and mask is not None:
                self._mask.write(mask[start + at : start + min(at + READ_BYTES, len(ids))])

    def _open(self) -> None:
        """Open the next shard, or resume the current one."""
        stem = self._stem()
        have = self.state.tokens - self.state.shard_start
        header = self._layout.header(self._size, self._dtype.str)
        size = len(header) + have * self._dtype.itemsize
        final = (self._out / stem).with_suffix(self._layout.suffix)
        self._ids = _Growing(self._growing / f"{stem}.ids", final, size, header)
        if self._has_mask:
            final = final.with_suffix(".mask.bin")
            self._mask = _Growing(self._growing / f"{stem}.mask", final, have, b"")

    def _stem(self) -> str:
        return f"{self.name}_{len(self.state.shards):06}"

    def _close(self, texts: int) -> None:
        """End the shard that grows, before which and in which so many texts begin."""
        state = self.state
        tokens = state.tokens - state.shard_start
        if self._ids is None:
            self._open()
        grown = [file for file in (self._ids, self._mask) if file is not None]
        grown[0].head(self._layout.header(tokens, self._dtype.str))
        digests = [file.close() for file in grown]
        paths = [file.path for file in grown]
        shard = Shard(
            paths[0],
            paths[1] if self._has_mask else None,
            self._entries(texts, tokens),
            self._dtype.str,
            self._out / self._stem(),
        )
        files = self._layout.finish(shard)
        self._outgrown += [path for path in paths if path.exists()]
        told = [
            # A renamed file is the one that was hashed as it grew.
            told_of(file, digests[at] if at < len(paths) and not paths[at].exists() else None)
            for at, file in enumerate(files)
        ]
        entry = {"tokens": tokens, "texts": texts - state.shard_texts, "files": told}
        state.shards.append(entry)
        state.shard_start, state.shard_texts = state.tokens, texts
        self._ids = self._mask = None

    def _entries(self, texts: int, tokens: int) -> NDArray[np.int64]:
        """Return where the entries of a shard begin: its rows, or texts where they are whole."""
        if self._layout.ends_anywhere:
            return np.array([0, tokens])
        if self._row:
            return np.arange(0, tokens + 1, self._row)
        first, count = self.state.shard_texts, texts - self.state.shard_texts
        offset = HEADER_BYTES + 8 * first
        starts = np.fromfile(self._index.path, INDEX_DTYPE, count, offset=offset)
        return np.append(starts, self.state.tokens) - self.state.shard_start

    def keep(self) -> dict[str, Any]:
        """Sync all files to disk; return the state to resume from."""
        for file in (self._index, self._ids, self._mask):
            if file is not None:
                file.sync()
        return asdict(self.state)

    def forget(self) -> None:
        """Remove files that only an earlier state needs."""
        for path in self._outgrown:
            path.unlink(missing_ok=True)
        self._outgrown = []

    def close(self) -> None:
        """Close the files as they are."""
        for file in (self._index, self._ids, self._mask):
            if file is not None:
                file.let_go()

    def finish(self) -> dict[str, Any]:
        """Finish the last shard and the index; return their entry of the manifest."""
        state = self.state
        if state.tokens > state.shard_start or state.texts > state.shard_texts:
            self._close(state.texts)
        self._index.write(np.array([state.tokens], INDEX_DTYPE))
        self._index.head(npy_header(state.texts + 1, INDEX_DTYPE))
        digest = self._index.close()
        target = self._out / index_name(self.name)
        self._index.path.replace(target)
        return {
            "tokens": state.tokens,
            "texts": state.texts,
            "index": told_of(target, digest),
            "shards": state.shards,
        }


class _Growing:
    """A file that is written to its end, and hashed as it grows."""

    def __init__(self, path: Path, final: Path, size: int, header: bytes) -> None:
        """Open a file that has so many bytes to keep; it may have moved to its place already."""
        self.path = path
        self._header = header
        self._since = 0
        try:
            if not path.exists() and size > len(header) and final.exists():
                final.replace(path)
            self._file: BinaryIO = path.open("r+b" if size > len(header) else "w+b", buffering=0)
            self._file.truncate(size)
            self._file.write(header)
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise file_error(path, "written", error) from None
        self._digest = _digest(path, size) if size > len(header) else hashlib.sha256(header)

    def write(self, values: NDArray[Any]) -> None:
        """Add values."""
        content = (
            np.ascontiguousarray(values).view(np.uint8).data if len(values) else memoryview(b"")
        )
        try:
            left = content
            while left:
                left = left[self._file.write(left) :]
            self._digest.update(content)
            self._since += len(content)
            if self._since >= SYNC_BYTES:
                self.sync()
        except OSError as error:
            raise file_error(self.path, "written", error) from None

    def head(self, header: bytes) -> None:
        """Replace the header, once the count is known."""
        if header != self._header:
            self._file.seek(0)
            self._file.write(header)
            self._header = header
            self._digest = _digest(self.path, self.path.stat().st_size)

    def sync(self) -> None:
        """Sync the file to disk."""
        if self._since:
            getattr(os, "fdatasync", os.fsync)(self._file.fileno())
            self._since = 0

    def close(self) -> str:
        """End writing; return the checksum."""
        self._since = 1
        self.sync()
        self.let_go()
        return str(self._digest.hexdigest())

    def let_go(self) -> None:
        """Close the file as it is."""
        self._file.close()


def index_name(split: str) -> str:
    """Return the name of the file that says where each text of a split begins."""
    return f"{split}_index.npy"


def told_of(path: Path, digest: str | None = None) -> dict[str, Any]:
    """Return the manifest's entry of a file."""
    size = path.stat().st_size
    return {"file": path.name, "bytes": size, "sha256": digest or checksum(path)}


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return str(_digest(path, path.stat().st_size).hexdigest())


def _digest(path: Path, size: int) -> Any:  # noqa: ANN401 - a hash object, which has no public type.
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while size > 0 and (chunk := file.read(min(size, READ_BYTES))):
            digest.update(chunk)
            size -= len(chunk)
    return digest
