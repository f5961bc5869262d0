"""A corpus becomes shards: planned, encoded in units, written in order, kept on the way."""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zeton._engine import to_file
from zeton.chat import Template
from zeton.corpus import AnyPath, Skipped, warn_of_doubles, warn_of_encodings
from zeton.errors import ShardError
from zeton.plural import counted
from zeton.shards import stream
from zeton.shards.arrange import SPOOL, Arrangement
from zeton.shards.checkpoint import ShardCheckpoint
from zeton.shards.formats import FORMATS
from zeton.shards.inputs import Plan, plan
from zeton.shards.manifest import TOKENIZER, Manifest
from zeton.shards.options import SHARD_TOKENS, checked, template_of
from zeton.shards.stream import State, Stream
from zeton.shards.work import Encoded, Job, Tally, cutter
from zeton.text.fit import AllowedSpecial
from zeton.tokenizer import Tokenizer, require_tokenizer
from zeton.work import memory
from zeton.work.executor import run_units
from zeton.work.files import require_path, write_whole
from zeton.work.npy_file import header as npy_header
from zeton.work.prefetch import ahead
from zeton.work.progress import Clock, Listener, Progress, Shown, shown

__all__ = ["write"]

PART_BYTES = 1 << 28
"""After how much text the checkpoint is kept, unless told otherwise."""

UNITS_AHEAD = 1
"""How many units wait, encoded, while one is written."""

SPLITS = ("train", "val")


def write(
    paths: Iterable[AnyPath],
    *,
    tokenizer: Tokenizer,
    out: str | PathLike[str],
    format: str = "bin",  # noqa: A002 - the word is ours.
    field: str = "text",
    texts_end_with: str | bytes = "",
    allowed_special: AllowedSpecial = None,
    bos: int | str | None = None,
    eos: int | str | None = None,
    shard_size: int = SHARD_TOKENS,
    shuffle: int | None = None,
    validation: float = 0.0,
    validation_seed: int = 0,
    chat: str | Template | None = None,
    max_tokens: int | None = None,
    pack: int | None = None,
    pad: int | str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    threads: int | None = None,
    executor: str = "local",
    workers: int | None = None,
    checkpoint_every: int | str = PART_BYTES,
    restart: bool = False,
    on_warning: Callable[[str], object] = warnings.warn,
    progress: Shown = False,
) -> Manifest:
    """Encode files, folders and globs into shards in the folder `out`; return the manifest.

    Stopped at any moment, the same call resumes and ends with the same bytes, for any number of
    threads and workers and any executor. Finished shards are not written again.

    A folder with other files is an error, and so is the work of another call, unless `restart`. The
    page on shards explains the options.
    """
    named = {
        "format": format,
        "field": field,
        "texts_end_with": texts_end_with,
        "allowed_special": allowed_special,
        "bos": bos,
        "eos": eos,
        "shard_size": shard_size,
        "shuffle": shuffle,
        "validation": validation,
        "validation_seed": validation_seed,
        "chat": None if chat is None else template_of(chat, tokenizer),
        "max_tokens": max_tokens,
        "pack": pack,
        "pad": pad,
        "on_error": on_error,
    }
    options = checked(require_tokenizer(tokenizer, "zeton.shards.write"), named)
    folder = require_path(out)
    part_bytes = memory.parse(checkpoint_every, "checkpoint_every")
    cut = cutter(tokenizer, options)
    planned = plan(paths, cut, folder, are_chats=options.chat is not None)
    files = [Path(entry.path) for entry in planned.inputs]
    warn_of_doubles(files, [1] * len(files), on_warning)
    warn_of_encodings(files, on_warning)
    dtype = options.layout.dtype(tokenizer.vocab_size)
    request = {
        "tokenizer": told_of(tokenizer),
        "dtype": dtype,
        "options": options.to_json(),
        "inputs": [asdict(entry) for entry in planned.inputs],
    }
    checkpoint = ShardCheckpoint(folder, request, restart=restart)
    try:
        if done := checkpoint.finished():
            on_warning(f"{folder} has all its shards already")
            checkpoint.discard()
            return done
        alone = threads if executor == "local" else threads or 1
        job = Job(tokenizer, options, dtype, alone, str(checkpoint.folder))
        with shown(progress) as tell:
            writing = _Writing(checkpoint, planned, job, part_bytes, tell)
            if writing.done:
                on_warning(f"resuming from {folder}, which has {writing.told()}")
            try:
                return writing.run(executor, workers, on_warning)
            finally:
                writing.close()
    finally:
        checkpoint.close()


def told_of(tok: Tokenizer) -> dict[str, Any]:
    """Return the identity of a tokenizer in a manifest."""
    return {"sha256": tok.digest, "vocab_size": tok.vocab_size}


class _Writing:
    """The writing of shards: encoded units go to streams, and checkpoints are kept."""

    def __init__(
        self, checkpoint: ShardCheckpoint, planned: Plan, job: Job, part_bytes: int, tell: Listener
    ) -> None:
        """Start, or resume from the state of the checkpoint."""
        kept = checkpoint.state
        self.checkpoint = checkpoint
        self.plan = planned
        self.job = job
        self.options = job.options
        self.done: int = kept.get("done", 0)
        """Units that were encoded and written."""
        self._arranged: int = kept.get("arranged", 0)
        """Pieces that were put in their places, of all splits."""
        self._tallies = [Tally(*tally) for tally in kept.get("tallies", [])]
        self._tallies = self._tallies or [Tally() for _ in planned.inputs]
        self._skipped = Skipped(**kept.get("skipped", {}))
        self._last: int = kept.get("last", 0)
        """The split of the last text, whose rest may follow."""
        self._part_bytes = part_bytes
        self._tell = tell
        self._clock = Clock()
        self._states = kept.get("streams", {})
        self._streams: dict[str, Stream] = {}
        self._splits = SPLITS if self.options.validation else SPLITS[:1]

    def told(self) -> str:
        """Say how much is done."""
        return f"{sum(tally.bytes for tally in self._tallies) / 1e6:.1f} MB of text encoded"

    def run(
        self, executor: str, workers: int | None, on_warning: Callable[[str], object]
    ) -> Manifest:
        """Write the rest of the shards."""
        if not self.checkpoint.state:
            self._keep()  # From here on the folder is known to be of this work.
        names = [SPOOL + name if self.options.is_arranged else name for name in self._splits]
        self._open(names)
        if self.done < len(self.plan.units):
            self._encode(executor, workers)
        if not any(tally.texts for tally in self._tallies):
            self.checkpoint.discard()
            where = counted(len(self.plan.inputs), "file")
            raise ShardError(f"there is no text in {where}; give files or folders of text")
        dropped = self._arrange() if self.options.is_arranged else {}
        splits = {name: self._streams[name].finish() for name in self._splits}
        for name, extra in dropped.items():
            splits[name] |= extra
        if self._skipped:
            on_warning(str(self._skipped))
        for name, split in splits.items():
            if split.get("dropped") and not split["tokens"]:
                found = f"{split['dropped']} tokens of {name} do not fill one row"
                on_warning(
                    f"{found} of {self.options.pack}, and are dropped; give a pad or shorter rows"
                )
        write_whole(self.checkpoint.out / TOKENIZER, to_file(self.job.tok))
        manifest = self._manifest(splits)
        self.checkpoint.finish(manifest)
        return manifest

    def close(self) -> None:
        """Close all files."""
        for each in self._streams.values():
            each.close()

    def _open(self, names: list[str]) -> None:
        for name in names:
            state = self._states.get(name)
            is_spool = name.startswith(SPOOL)
            self._streams[name] = Stream(
                name,
                self.checkpoint.folder,
                self.checkpoint.folder if is_spool else self.checkpoint.out,
                FORMATS["bin"] if is_spool else self.options.layout,
                self.job.dtype,
                shard_size=2**62 if is_spool else self.options.shard_size,
                has_mask=self.options.chat is not None,
                row=None if is_spool else self.options.pack,
                state=None if state is None else State(**state),
            )

    def _encode(self, executor: str, workers: int | None) -> None:
        """Encode the units that are left; the next is encoded while one is written."""
        units = self.plan.units[self.done :]
        streams = list(self._streams.values())
        since = 0
        results = run_units(self.job, units=units, executor=executor, workers=workers)
        for _, encoded in ahead(results, UNITS_AHEAD):
            self._write(encoded, streams)
            self.done += 1
            since += sum(tally.bytes for tally in encoded.tallies.values())
            if since >= self._part_bytes or self.done == len(self.plan.units):
                self._keep()
                since = 0
            self._show(is_last=self.done == len(self.plan.units))

    def _write(self, encoded: Encoded, streams: list[Stream]) -> None:
        for file, tally in encoded.tallies.items():
            self._tallies[file].add(tally)
        self._skipped.add(encoded.skipped)
        continues = encoded.continues and len(encoded.lengths) > 0
        if encoded.held_out is None:
            ends = np.cumsum(encoded.lengths)
            starts = (ends - encoded.lengths)[int(continues) :]
            streams[0].add(encoded.ids, encoded.mask, starts + streams[0].state.tokens)
        else:
            self._write_split(encoded, encoded.held_out, streams, continues=continues)
        for path in encoded.spilled:
            Path(path).unlink(missing_ok=True)

    def _write_split(
        self,
        encoded: Encoded,
        held_out: NDArray[np.bool_],
        streams: list[Stream],
        *,
        continues: bool,
    ) -> None:
        """Write each text to its split; the rest of one goes where its beginning went."""
        if continues:
            held_out = held_out.copy()  # An array from another process may be read-only.
            held_out[0] = bool(self._last)
        of_token = np.repeat(held_out, encoded.lengths)
        for number, stream_ in enumerate(streams):
            is_here = of_token if number else ~of_token
            chosen = held_out if number else ~held_out
            lengths = encoded.lengths[chosen]
            starts = np.cumsum(lengths) - lengths
            if continues and self._last == number:
                starts = starts[1:]
            mask = None if encoded.mask is None else encoded.mask[is_here]
            stream_.add(encoded.ids[is_here], mask, starts + stream_.state.tokens)
        if len(held_out):
            self._last = int(held_out[-1])

    def _arrange(self) -> dict[str, dict[str, Any]]:
        """Put texts in their places; return entries of the manifest, by split."""
        told: dict[str, dict[str, Any]] = {}
        self._open(list(self._splits))
        before = 0
        for name in self._splits:
            spool = self._streams[SPOOL + name].state
            arrangement = Arrangement(
                self.checkpoint.folder, name, spool, self.job.dtype, self.options
            )
            first, since = max(self._arranged - before, 0), 0
            for piece in ahead(arrangement.pieces(first), UNITS_AHEAD):
                self._streams[name].add(piece.ids, piece.mask, piece.starts)
                self._arranged += 1
                since += piece.ids.nbytes
                if since >= self._part_bytes:
                    self._keep()
                    since = 0
            before += len(arrangement)
            self._keep()
            told[name] = {"dropped": arrangement.dropped} if self.options.pack else {}
            if arrangement.lengths is not None:
                told[name]["lengths"] = self._write_lengths(name, arrangement.lengths)
        return told

    def _write_lengths(self, split: str, lengths: NDArray[np.int64]) -> dict[str, Any]:
        path = self.checkpoint.out / f"{split}_lengths.npy"
        write_whole(path, npy_header(len(lengths), "<i8") + lengths.astype("<i8").tobytes())
        return stream.told_of(path)

    def _keep(self) -> None:
        streams = {name: each.keep() for name, each in self._streams.items()}
        self._states = streams
        self.checkpoint.keep(
            {
                "done": self.done,
                "arranged": self._arranged,
                "tallies": [[tally.texts, tally.tokens, tally.bytes] for tally in self._tallies],
                "skipped": asdict(self._skipped),
                "last": self._last,
                "streams": streams,
            }
        )
        for each in self._streams.values():
            each.forget()

    def _show(self, *, is_last: bool) -> None:
        if self._clock.is_time() or is_last:
            total = sum(entry.size for entry in self.plan.inputs)
            done = sum(tally.bytes for tally in self._tallies)
            share = self.done / len(self.plan.units)
            are_plain = total >= done and share < 1
            self._tell(
                Progress(
                    "shard",
                    self._clock.seconds(),
                    texts=sum(tally.texts for tally in self._tallies),
                    text_bytes=done,
                    # Where only reading tells how much there is, the units tell about.
                    text_bytes_total=total if are_plain else int(done / share),
                    memory=memory.resident(),
                )
            )

    def _manifest(self, splits: dict[str, dict[str, Any]]) -> Manifest:
        inputs = []
        for entry, tally in zip(self.plan.inputs, self._tallies, strict=True):
            told = asdict(entry) | asdict(tally)
            del told["changed"]
            inputs.append(told)
        request = self.checkpoint.request
        return Manifest(
            request["tokenizer"],
            request["dtype"],
            request["options"],
            inputs,
            splits,
            asdict(self._skipped),
        )
