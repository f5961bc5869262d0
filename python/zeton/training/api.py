"""Train a tokenizer: count the pieces of a corpus, then learn merges from the counts."""

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, overload

from zeton import corpus, jobs
from zeton._engine import VERSION
from zeton.errors import CorpusError, JobError, TrainError
from zeton.pattern.spec import pattern_text
from zeton.rules import Rules
from zeton.splitting import Split, name_of
from zeton.tokenizer import Tokenizer
from zeton.training.count import Counting, Counts, count_corpus, weighted_texts
from zeton.training.count_distributed import UNIT_BYTES, Files, count_units
from zeton.training.learn import Learning
from zeton.work.checkpoint import STATE, WORK, Held, Journal, is_of_unit
from zeton.work.files import given, write_whole
from zeton.work.memory import parse
from zeton.work.progress import Listener, Shown, shown

__all__ = ["count_files", "train", "train_files"]

PART_BYTES = 1 << 30
"""After how much text the journal keeps what was counted, unless told otherwise."""

FILES_NAMED = 20
"""How many of the files that were skipped are named."""


@overload
def train(texts: Iterable[str | bytes], vocab_size: int, **options: object) -> Tokenizer: ...
@overload
def train(
    texts: Iterable[str | bytes], vocab_size: Sequence[int], **options: object
) -> list[Tokenizer]: ...
def train(  # type: ignore[misc] # The options are named once, here.
    texts: Iterable[str | bytes],
    vocab_size: int | Sequence[int],
    *,
    pattern: str | Rules | None = None,
    rules: Rules | None = None,
    split: Split | None = None,
    specials: Iterable[str] = (),
    initial: Tokenizer | None = None,
    weights: Iterable[int] | None = None,
    min_count: int = 1,
    max_token_bytes: int | None = None,
    held_out: float = 0.0,
    threads: int | None = None,
    memory: int | str | None = None,
    folder: str | PathLike[str] | None = None,
    report: str | PathLike[str] | None = None,
    progress: Shown = False,
    exact_size: bool = False,
) -> Tokenizer | list[Tokenizer]:
    """Train a tokenizer on texts, which are read once, as they come.

    `vocab_size` counts the 256 bytes and the specials, whose ids are the last; several rising
    sizes give several tokenizers. This is `count_corpus`, then `learn`, which say what the other
    options mean. With a `split`, a function, the tokenizer calls it too, and is saved without it.
    """
    text = pattern_text(pattern, rules)
    learning = Learning(
        vocab_size,
        specials=specials,
        initial=initial,
        min_count=min_count,
        max_token_bytes=max_token_bytes,
        memory=memory,
        report=report,
        exact_size=exact_size,
    )
    with shown(progress) as tell:
        return learning.learn(
            count_corpus(
                texts,
                pattern=learning.pattern(text),
                split=learning.split(split, text),
                weights=weights,
                threads=threads,
                memory=memory,
                folder=folder,
                held_out=held_out,
                progress=tell,
            ),
            tell,
        )


@overload
def train_files(
    paths: Iterable[corpus.AnyPath], vocab_size: int, **options: object
) -> Tokenizer: ...
@overload
def train_files(
    paths: Iterable[corpus.AnyPath], vocab_size: Sequence[int], **options: object
) -> list[Tokenizer]: ...
def train_files(  # type: ignore[misc] # As above.
    paths: Iterable[corpus.AnyPath],
    vocab_size: int | Sequence[int],
    *,
    field: str = "text",
    pattern: str | Rules | None = None,
    rules: Rules | None = None,
    split: Split | None = None,
    specials: Iterable[str] = (),
    initial: Tokenizer | None = None,
    weights: Mapping[str, int] | None = None,
    min_count: int = 1,
    max_token_bytes: int | None = None,
    held_out: float = 0.0,
    on_error: corpus.OnError = "raise",
    threads: int | None = None,
    memory: int | str | None = None,
    folder: str | PathLike[str] | None = None,
    journal: str | PathLike[str] | None = None,
    anew: bool = False,
    part: int | str = PART_BYTES,
    engine: str | None = None,
    workers: int | None = None,
    report: str | PathLike[str] | None = None,
    remark: Callable[[str], object] = warnings.warn,
    progress: Shown = False,
    exact_size: bool = False,
) -> Tokenizer | list[Tokenizer]:
    """Train a tokenizer on files and folders: text, JSON lines, `.gz`, `.zst`, `.xz`, Parquet.

    This is `count_files`, then `learn`, which say what the options mean.
    """
    text = pattern_text(pattern, rules)
    learning = Learning(
        vocab_size,
        specials=specials,
        initial=initial,
        min_count=min_count,
        max_token_bytes=max_token_bytes,
        memory=memory,
        report=report,
        exact_size=exact_size,
    )
    with shown(progress) as tell:
        return learning.learn(
            count_files(
                paths,
                field=field,
                pattern=learning.pattern(text),
                split=learning.split(split, text),
                weights=weights,
                on_error=on_error,
                threads=threads,
                memory=memory,
                folder=folder,
                held_out=held_out,
                journal=journal,
                anew=anew,
                part=part,
                engine=engine,
                workers=workers,
                remark=remark,
                progress=tell,
            ),
            tell,
        )


def count_files(
    paths: Iterable[corpus.AnyPath],
    *,
    field: str = "text",
    pattern: str | Rules | None = None,
    rules: Rules | None = None,
    split: Split | None = None,
    weights: Mapping[str, int] | None = None,
    on_error: corpus.OnError = "raise",
    threads: int | None = None,
    memory: int | str | None = None,
    folder: str | PathLike[str] | None = None,
    held_out: float = 0.0,
    journal: str | PathLike[str] | None = None,
    anew: bool = False,
    part: int | str = PART_BYTES,
    engine: str | None = None,
    workers: int | None = None,
    remark: Callable[[str], object] = warnings.warn,
    progress: Shown = False,
) -> Counts:
    """Count the pieces of files and folders, as `count_corpus` does those of texts.

    A plain file is one text, of any size; JSON lines and Parquet hold a text a row, in `field`.
    `weights` maps paths or globs to how many times their texts count. What cannot be read is an
    error, or with `on_error="skip"` is left out, counted, and named in a remark.

    `journal` is a folder that keeps what was counted after every `part` bytes of text: after any
    end, the same call goes on from there. A call that would count something else is refused, or
    with `anew` removes what is kept. Remove the folder when its counts are of use no more.

    With an `engine`, "local" or "ray", the files are counted unit by unit, of at most `part` bytes
    and about 64 MB, on up to `workers` at once: `jobs.run` says where. Each unit uses `threads` (on
    Ray, 1). The counts are the same. `journal`, or else `folder`, is one that all machines share.
    """
    if split is not None and (engine is not None or journal is not None):
        what = "an engine" if engine is not None else "a journal"
        raise TrainError(
            f"the split {name_of(split)} is a Python function, which {what} does not know; "
            "count without, or give a pattern or rules"
        )
    if engine is not None:
        jobs.check(engine, workers)
    elif workers is not None:
        raise JobError("workers is for an engine; without one, threads says how many cores to use")
    text = pattern_text(pattern, rules)
    counting = Counting(text, threads, memory, folder, held_out, split=split)
    files = [path for path in corpus.files(paths) if journal is None or not _is_in(path, journal)]
    times = corpus.weights_of(files, weights or {})
    known = corpus.identity(files)
    identity = {
        "version": VERSION,
        "pattern": counting.pattern,
        "field": field,
        "held_out": held_out,
    }
    reader = corpus.Reader(files, field, cut=counting.last_safe_cut, on_error=on_error)
    part_bytes = parse(part, "part")
    corpus.remark_doubles(files, times, remark)
    if engine is not None:
        sizes, changed = [size for _, size, _ in known], [when for _, _, when in known]
        described = Files(files, sizes, changed, times, field, on_error)
        unit_bytes = min(part_bytes, UNIT_BYTES)
        work = identity | {"on_error": on_error, "unit_bytes": unit_bytes}
        folder_of_units = _unit_folder(counting, journal, work, remark, anew=anew)
        with folder_of_units as place, shown(progress) as tell:
            counted = count_units(
                counting,
                described,
                tell,
                folder=place,
                unit_bytes=unit_bytes,
                engine=engine,
                workers=workers,
            )
        return _checked(*counted, files, remark)
    kept = (
        None
        if journal is None
        else Journal(given(journal), identity, list(zip(known, times, strict=True)), anew=anew)
    )
    sizes = [size for _, size, _ in known]
    try:
        with shown(progress) as tell:
            return _Files(counting, reader, times, sizes, kept, part_bytes, remark).count(tell)
    finally:
        if kept is not None:
            kept.close()


def _is_in(path: Path, folder: corpus.AnyPath) -> bool:
    return Path(folder).absolute() in path.absolute().parents


@contextmanager
def _unit_folder(
    counting: Counting,
    journal: corpus.AnyPath | None,
    work: dict[str, Any],
    remark: Callable[[str], object],
    *,
    anew: bool,
) -> Iterator[Path]:
    """Yield where units go: the journal, or a folder that goes when they are counted."""
    if journal is None:
        # A worker that is being ended may still write there.
        ours = TemporaryDirectory(prefix="zeton-", dir=counting.folder, ignore_cleanup_errors=True)
        with ours as folder:
            yield Path(folder)
        return
    held = Held(given(journal))
    try:
        if not anew and (held.folder / STATE).exists():
            held.refuse("keeps what was counted without an engine")
        if not anew and (other := _other_work(held.folder / WORK, work)):
            held.refuse(f"keeps units of a work that differs in {', '.join(other)}")
        held.remove(keep=lambda name: is_of_unit(name) and not anew)
        if units := sum(file.suffix == ".json" for file in held.folder.iterdir()):
            remark(f"going on from {held.folder}, which holds {units} units")
        write_whole(held.folder / WORK, json.dumps(work).encode())
        yield held.folder
    finally:
        held.close()


def _other_work(file: Path, work: dict[str, Any]) -> list[str]:
    """Return in what the units of a folder differ from those of a work, if it has any."""
    try:
        kept = json.loads(file.read_bytes())
        return [name for name in work if kept[name] != work[name]]
    except (OSError, ValueError, KeyError, TypeError):
        return []  # There are none, or they are not known: those that fit are used.


def _checked(
    counts: Counts,
    skipped: corpus.Skipped,
    files: Sequence[Path],
    remark: Callable[[str], object],
) -> Counts:
    """Say what was skipped; refuse counts of nothing."""
    if skipped:
        counts.skipped = str(skipped)
        remark(counts.skipped)
        for name, reason in skipped.files[:FILES_NAMED]:
            remark(f"skipped {name}: {reason}")
    if not counts.corpus_bytes and not (counts.held_out and counts.held_out.corpus_bytes):
        raise CorpusError(f"there is no text in {len(files)} files; give files or folders of text")
    return counts


@dataclass
class _Files:
    """Files that are being counted, with a journal if there is one."""

    counting: Counting
    reader: corpus.Reader
    weights: list[int]
    sizes: list[int]
    """Of the files, in bytes."""
    journal: Journal | None
    part_bytes: int
    remark: Callable[[str], object]

    def count(self, tell: Listener) -> Counts:
        """Count what is left to count; return the counts of all."""
        if self.journal is not None:
            self._go_on(self.journal)
        since, texts = 0, weighted_texts(self.reader, self.weights)
        for batch in self.counting.add(texts, tell, self._total(), self.part_bytes):
            since += batch.bytes
            if batch.texts and since >= self.part_bytes and self.journal is not None:
                self._keep(self.journal, *batch.end)
                since = 0
        return _checked(self._finish(), self.reader.skipped, self.reader.files, self.remark)

    def _go_on(self, journal: Journal) -> None:
        """Begin where the journal ends."""
        if journal.parts:
            self.counting.bytes = journal.bytes
            self.reader.start = corpus.Position(*journal.end)
            self.reader.skipped = corpus.Skipped(**journal.skipped)
            megabytes = journal.bytes / 1e6
            self.remark(f"going on from {journal.folder}, which has counted {megabytes:.1f} MB")
        elif journal.damaged:
            self.remark(f"{journal.folder} is damaged; starting anew")

    def _total(self) -> Callable[[Any], int | None]:
        """Return what says how much text there is to count.

        Where only reading tells, as in packed files, it is taken from the files that are done.
        """
        before = 0 if self.journal is None else self.journal.bytes
        if corpus.are_plain(self.reader.files):
            return lambda _: sum(self.sizes) - before

        def total(end: Any) -> int | None:  # noqa: ANN401 - as `Weighted` has it.
            done = sum(self.sizes[: end[0].file]) if end else 0
            return self.counting.bytes * sum(self.sizes) // done - before if done else None

        return total

    def _keep(self, journal: Journal, end: corpus.Position, skipped: dict[str, Any]) -> None:
        journal.keep(self.counting.take(), (end.file, end.at), self.counting.bytes, skipped)

    def _finish(self) -> Counts:
        if self.journal is None or not self.journal.parts:
            return self.counting.finish()
        end = corpus.Position(len(self.reader.files), 0)
        if self.journal.end != [end.file, end.at]:
            self._keep(self.journal, end, asdict(self.reader.skipped))
        return self.journal.counts()
