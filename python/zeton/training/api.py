"""Train a tokenizer: count the pieces of a corpus, then learn merges from the counts."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack, overload

from zeton import corpus
from zeton._engine import VERSION
from zeton.errors import CorpusError, JobError, TrainError
from zeton.pattern.spec import pattern_text
from zeton.plural import counted
from zeton.split_tokenizer import SplitTokenizer
from zeton.splitting import Split, name_of
from zeton.tokenizer import Tokenizer
from zeton.training.count import Counting, Counts, count_corpus, weighted_texts
from zeton.training.count_distributed import UNIT_BYTES, Files, count_units
from zeton.training.counted_parts import CountedParts
from zeton.training.learn import AnyTokenizer, Learning
from zeton.training.options import (
    COUNT_FILES_DEFAULTS,
    CountFilesOptions,
    CountOptions,
    LearnOptions,
    TrainFilesOptions,
    TrainOptions,
    check_names,
    only,
)
from zeton.work.checkpoint import Checkpoint, holds_results, is_of_unit
from zeton.work.executor import check_executor
from zeton.work.files import is_inside, require_path
from zeton.work.memory import parse
from zeton.work.progress import Listener, shown

__all__ = ["count_files", "train", "train_files"]

FILES_NAMED = 20
"""How many of the files that were skipped are named."""


@overload
def train(
    texts: Iterable[str | bytes],
    *,
    vocab_size: int,
    split: None = None,
    **options: Unpack[TrainOptions],
) -> Tokenizer: ...
@overload
def train(
    texts: Iterable[str | bytes],
    *,
    vocab_size: Sequence[int],
    split: None = None,
    **options: Unpack[TrainOptions],
) -> list[Tokenizer]: ...
@overload
def train(
    texts: Iterable[str | bytes],
    *,
    vocab_size: int,
    split: Split,
    **options: Unpack[TrainOptions],
) -> SplitTokenizer: ...
@overload
def train(
    texts: Iterable[str | bytes],
    *,
    vocab_size: Sequence[int],
    split: Split,
    **options: Unpack[TrainOptions],
) -> list[SplitTokenizer]: ...
def train(
    texts: Iterable[str | bytes],
    *,
    vocab_size: int | Sequence[int],
    split: Split | None = None,
    **options: Unpack[TrainOptions],
) -> AnyTokenizer | Sequence[AnyTokenizer]:
    """Train a tokenizer on texts, which are read once, as they come.

    `vocab_size` includes the 256 bytes and the specials, whose ids are the last. Several rising
    sizes give several tokenizers. `train` is `count_corpus` and then `learn`; the options are
    those of both; `zeton.training.options` explains each.

    >>> tok = train(["low lower lowest"] * 2, vocab_size=259, specials=["<|end|>"])
    >>> tok.encode("lowest", append="<|end|>")
    [257, 101, 115, 116, 258]
    """
    check_names("train", options, TrainOptions.__annotations__)

    def count(**counting: Any) -> Counts:  # noqa: ANN401 - options of counting.
        counts = count_corpus(texts, **counting)
        if not _has_text(counts):
            number = counted(counts.texts, "text")
            raise CorpusError(
                f"there is no text in the corpus of {number}; give texts to learn from"
            )
        return counts

    return _trained(vocab_size, split, options, count, CountOptions)


@overload
def train_files(
    paths: Iterable[corpus.AnyPath],
    *,
    vocab_size: int,
    split: None = None,
    **options: Unpack[TrainFilesOptions],
) -> Tokenizer: ...
@overload
def train_files(
    paths: Iterable[corpus.AnyPath],
    *,
    vocab_size: Sequence[int],
    split: None = None,
    **options: Unpack[TrainFilesOptions],
) -> list[Tokenizer]: ...
@overload
def train_files(
    paths: Iterable[corpus.AnyPath],
    *,
    vocab_size: int,
    split: Split,
    **options: Unpack[TrainFilesOptions],
) -> SplitTokenizer: ...
@overload
def train_files(
    paths: Iterable[corpus.AnyPath],
    *,
    vocab_size: Sequence[int],
    split: Split,
    **options: Unpack[TrainFilesOptions],
) -> list[SplitTokenizer]: ...
def train_files(
    paths: Iterable[corpus.AnyPath],
    *,
    vocab_size: int | Sequence[int],
    split: Split | None = None,
    **options: Unpack[TrainFilesOptions],
) -> AnyTokenizer | Sequence[AnyTokenizer]:
    """Train a tokenizer on files and folders: text, JSON lines, `.gz`, `.zst`, `.xz`, Parquet.

    `train_files` is `count_files` and then `learn`; the options are those of both, and
    `zeton.training.options` explains each.
    """
    check_names("train_files", options, TrainFilesOptions.__annotations__)
    return _trained(vocab_size, split, options, partial(count_files, paths), CountFilesOptions)


def _trained(
    vocab_size: int | Sequence[int],
    split: Split | None,
    options: Mapping[str, Any],
    count: Callable[..., Counts],
    counting: type,
) -> AnyTokenizer | Sequence[AnyTokenizer]:
    """Count with the options of `counting`, then learn; all options are checked before the work."""
    text = pattern_text(options.get("pattern"), options.get("rules"))
    learning = Learning(vocab_size, only(LearnOptions, options))
    with shown(options.get("progress", False)) as tell:
        chosen: dict[str, Any] = only(counting, options) | {
            "pattern": learning.pattern(text),
            "rules": None,
            "split": learning.split(split, text),
            "progress": tell,
        }
        return learning.learn(count(**chosen), tell)


def count_files(paths: Iterable[corpus.AnyPath], **options: Unpack[CountFilesOptions]) -> Counts:
    """Count the pieces of files and folders.

    A plain file is one text, of any size. JSON lines and Parquet hold a text a row, in `field`.

    With a `checkpoint_dir`, progress is saved there after every `checkpoint_every` bytes of text.
    If the process dies, the same call resumes from the last checkpoint and produces the same
    bytes. If pattern, field or files have changed, the call raises a `TrainError` that names the
    difference; `restart=True` discards the checkpoint. Remove the folder once it is not needed.

    With an `executor`, "local" or "ray", the files are counted in units of about 64 MB, on up to
    `workers` at once, each with `threads` (on Ray, 1). The counts are the same. `checkpoint_dir`,
    or else `temp_dir`, is a folder that all machines share.
    """
    check_names("count_files", options, CountFilesOptions.__annotations__)
    chosen = COUNT_FILES_DEFAULTS | options
    split, checkpoint_dir = chosen["split"], chosen["checkpoint_dir"]
    executor, workers = chosen["executor"], chosen["workers"]
    field, on_error, on_warning = chosen["field"], chosen["on_error"], chosen["on_warning"]
    if split is not None and (executor is not None or checkpoint_dir is not None):
        store = "an executor" if executor is not None else "a checkpoint"
        raise TrainError(
            f"the split {name_of(split)} is a Python function, which {store} cannot store; "
            f"count without {store}, or give a pattern or rules"
        )
    if executor is not None:
        check_executor(executor, workers)
    elif workers is not None:
        raise JobError("workers is for an executor; without one, threads sets the cores to use")
    text = pattern_text(chosen["pattern"], chosen["rules"])
    counting = Counting(
        text,
        chosen["threads"],
        chosen["memory"],
        chosen["temp_dir"],
        chosen["validation"],
        split=split,
    )
    files = [
        path
        for path in corpus.files(paths)
        if checkpoint_dir is None or not is_inside(path, checkpoint_dir)
    ]
    times = corpus.weights_of(files, chosen["weights"] or {})
    known = corpus.identity(files)
    identity = {
        "version": VERSION,
        "pattern": counting.pattern,
        "field": field,
        "validation": counting.validation,
    }
    reader = corpus.Reader(files, field, cut=counting.last_safe_cut, on_error=on_error)
    part_bytes = parse(chosen["checkpoint_every"], "checkpoint_every")
    corpus.warn_of_doubles(files, times, on_warning)
    corpus.warn_of_encodings(files, on_warning)
    progress, restart = chosen["progress"], chosen["restart"]
    if executor is not None:
        sizes, changed = [size for _, size, _ in known], [when for _, _, when in known]
        described = Files(files, sizes, changed, times, field, on_error)
        unit_bytes = min(part_bytes, UNIT_BYTES)
        work = {"executor": True, "on_error": on_error, "unit_bytes": unit_bytes, **identity}
        unit_dir = _unit_dir(counting, checkpoint_dir, work, on_warning, restart=restart)
        with unit_dir as folder, shown(progress) as tell:
            found = count_units(
                counting,
                described,
                tell,
                folder=folder,
                unit_bytes=unit_bytes,
                executor=executor,
                workers=workers,
            )
        return _checked(*found, files, on_warning)
    checkpoint = (
        None
        if checkpoint_dir is None
        else CountedParts(
            require_path(checkpoint_dir),
            {"executor": False, **identity},
            list(zip(known, times, strict=True)),
            restart=restart,
        )
    )
    sizes = [size for _, size, _ in known]
    try:
        with shown(progress) as tell:
            counted_files = _Files(
                counting, reader, times, sizes, checkpoint, part_bytes, on_warning
            )
            return counted_files.count(tell)
    finally:
        if checkpoint is not None:
            checkpoint.close()


@contextmanager
def _unit_dir(
    counting: Counting,
    checkpoint_dir: corpus.AnyPath | None,
    work: Mapping[str, Any],
    on_warning: Callable[[str], object],
    *,
    restart: bool,
) -> Iterator[Path]:
    """Yield the folder of the units: the checkpoint, or a temporary one."""
    if checkpoint_dir is None:
        # A worker that is being ended may still write there.
        ours = TemporaryDirectory(prefix="zeton-", dir=counting.folder, ignore_cleanup_errors=True)
        with ours as name:
            yield Path(name)
        return
    checkpoint = Checkpoint(require_path(checkpoint_dir))
    kept = checkpoint.folder
    try:
        checkpoint.resume(lambda _: work, restart=restart)
        checkpoint.remove(keep=lambda name: is_of_unit(name) and not restart)
        if units := sum(file.suffix == ".json" for file in kept.iterdir()):
            on_warning(f"resuming from {kept}, which holds {counted(units, 'unit')}")
        checkpoint.keep(work, {"done": 0})
        yield kept
    finally:
        checkpoint.close(discard=not holds_results(kept))


def _checked(
    counts: Counts,
    skipped: corpus.Skipped,
    files: Sequence[Path],
    on_warning: Callable[[str], object],
) -> Counts:
    """Warn of skipped files and lines; raise an error if there is no text."""
    if skipped:
        counts.skipped = str(skipped)
        on_warning(counts.skipped)
        for name, reason in skipped.files[:FILES_NAMED]:
            on_warning(f"skipped {name}: {reason}")
    if not _has_text(counts):
        where = counted(len(files), "file")
        raise CorpusError(f"there is no text in {where}; give files or folders of text")
    return counts


def _has_text(counts: Counts) -> bool:
    return bool(counts.corpus_bytes or (counts.validation and counts.validation.corpus_bytes))


@dataclass
class _Files:
    """Files that are being counted, with a checkpoint if there is one."""

    counting: Counting
    reader: corpus.Reader
    weights: list[int]
    sizes: list[int]
    """Of the files, in bytes."""
    checkpoint: CountedParts | None
    part_bytes: int
    on_warning: Callable[[str], object]

    def count(self, tell: Listener) -> Counts:
        """Count the rest of the files; return the counts of all."""
        if self.checkpoint is not None:
            self._resume(self.checkpoint)
        since, texts = 0, weighted_texts(self.reader, self.weights)
        for batch in self.counting.add(texts, tell, self._total(), self.part_bytes):
            since += batch.bytes
            if batch.texts and since >= self.part_bytes and self.checkpoint is not None:
                end, skipped = batch.end
                self._keep(self.checkpoint, end, skipped)
                since = 0
        return _checked(self._finish(), self.reader.skipped, self.reader.files, self.on_warning)

    def _resume(self, checkpoint: CountedParts) -> None:
        """Start where the checkpoint ends."""
        if checkpoint.parts:
            self.counting.bytes = checkpoint.bytes
            self.reader.start = checkpoint.end
            self.reader.skipped = checkpoint.skipped
            megabytes = checkpoint.bytes / 1e6
            self.on_warning(
                f"resuming from {checkpoint.folder}, which has counted {megabytes:.1f} MB"
            )
        elif checkpoint.is_damaged:
            self.on_warning(f"{checkpoint.folder} is damaged; starting over")

    def _total(self) -> Callable[[Any], int | None]:
        """Return a function that estimates how much text there is to count.

        Where only reading tells, as in packed files, it is taken from the files that are done.
        """
        before = 0 if self.checkpoint is None else self.checkpoint.bytes
        if corpus.are_plain(self.reader.files):
            return lambda _: sum(self.sizes) - before

        def total(end: Any) -> int | None:  # noqa: ANN401 - as `Weighted` has it.
            done = sum(self.sizes[: end[0].file]) if end else 0
            return self.counting.bytes * sum(self.sizes) // done - before if done else None

        return total

    def _keep(
        self, checkpoint: CountedParts, end: corpus.Position, skipped: corpus.Skipped
    ) -> None:
        checkpoint.keep(self.counting.take(), end, self.counting.bytes, skipped)

    def _finish(self) -> Counts:
        if self.checkpoint is None or not self.checkpoint.parts:
            return self.counting.finish()
        end = corpus.Position(len(self.reader.files), 0)
        if self.checkpoint.end != end:
            self._keep(self.checkpoint, end, self.reader.skipped)
        return self.checkpoint.counts()
