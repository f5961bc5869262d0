"""Counting in units, on an executor: each unit writes its counts to a file in one folder.

The name of a unit's file is a digest of its inputs: files, sizes, weights, options, version. Files
appear whole or not at all, and any worker writes the same bytes. So two workers may do one unit
without harm, and a finished unit is never repeated.
"""

import hashlib
import json
import platform
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import chdir, closing, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zeton import corpus
from zeton._engine import VERSION
from zeton.errors import JobError
from zeton.training.count import Counting, Counts, weighted_texts
from zeton.training.counted_parts import checksum, load
from zeton.work.executor import run_units
from zeton.work.files import write_whole
from zeton.work.memory import resident
from zeton.work.progress import Clock, Listener, Progress

__all__ = ["UNIT_BYTES", "Files", "count_units"]

UNIT_BYTES = 1 << 26
"""About how much of the files a unit is, unless less is asked for."""

UNIT_MEMORY = 1 << 28
"""The memory of a unit, at most; larger counts go to temporary files."""

MERGE_MAX = 64
"""How many counts files are open at once."""

MERGE_HERE = 512
"""How many are merged without the executor, whose start would take longer."""


@dataclass(frozen=True)
class Files:
    """Files to count, with the facts about each."""

    paths: Sequence[Path]
    sizes: Sequence[int]
    times: Sequence[int]
    """When each was changed."""
    weights: Sequence[int]
    field: str
    on_error: corpus.OnError


@dataclass(frozen=True)
class _Work:
    """A unit as it goes to a worker, with the name of its files and the weights of its texts."""

    name: str
    unit: corpus.Unit
    weights: Sequence[int]


@dataclass
class _Done:
    """The result of a unit; its counts are in files."""

    bytes: int
    texts: int
    skipped: corpus.Skipped
    checksums: dict[str, str]


def count_units(
    counting: Counting,
    files: Files,
    tell: Listener,
    *,
    folder: Path,
    unit_bytes: int,
    executor: str,
    workers: int | None,
) -> tuple[Counts, corpus.Skipped]:
    """Count files unit by unit; return the counts of all, and the skipped records.

    Finished units in the folder are not repeated.
    """
    threads = counting.threads_given or (counting.threads if executor == "local" else 1)
    count = _Count(
        counting.pattern,
        files.field,
        files.on_error,
        counting.validation,
        threads,
        min(counting.memory, UNIT_MEMORY),
        folder.absolute(),
        Path.cwd() if executor != "local" and not _are_absolute(files.paths) else None,
    )
    ahead: deque[_Work] = deque()

    def units() -> Iterator[_Work]:
        plan = corpus.plan(files.paths, files.sizes, unit_bytes, counting.last_safe_cut)
        for unit in plan:
            ahead.append(_named(unit, files, count))
            yield ahead[-1]

    clock, skipped, names = Clock(), corpus.Skipped(), []
    is_plain, whole = corpus.are_plain(files.paths), sum(files.sizes)
    text_bytes = texts = size = 0
    damaged = -1
    with closing(
        run_units(count, units=units(), executor=executor, workers=workers, cores=threads)
    ) as results:
        for _, done in results:
            work = ahead.popleft()
            unit = work.unit
            if unit.start.at and unit.start.file == damaged:
                continue  # A damaged file ends where it is damaged, even if the rest can be read.
            if done.skipped.files and (unit.start.at or unit.end.at):
                damaged = unit.start.file
            names.append(work.name)
            skipped.add(done.skipped)
            text_bytes, texts, size = text_bytes + done.bytes, texts + done.texts, size + unit.size
            tell(
                Progress(
                    "count",
                    clock.seconds(),
                    texts=texts,
                    text_bytes=text_bytes,
                    text_bytes_total=whole if is_plain else text_bytes * whole // max(size, 1),
                    memory=resident(),
                )
            )
    if not names:
        return counting.finish(), skipped
    counts = _merged([count.file(name) for name in names], count, executor, workers)
    if counting.validation:
        validation = [count.file(name, ".validation") for name in names]
        counts.validation = _merged(validation, count, executor, workers)
    return counts, skipped


def _named(unit: corpus.Unit, files: Files, count: "_Count") -> _Work:
    """Name a unit by all that its counts depend on."""
    weights = files.weights[unit.files]
    inputs = [
        *(VERSION, count.pattern, count.field, count.on_error, count.validation),
        *(list(map(str, unit.paths)), unit.sizes, list(files.times[unit.files]), list(weights)),
        *(unit.start.at, unit.end.at),
    ]
    name = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:32]
    return _Work(name, unit, tuple(weights))


@dataclass(frozen=True)
class _Count:
    """The function that counts a unit, on any machine."""

    pattern: str
    field: str
    on_error: corpus.OnError
    validation: float
    threads: int
    memory: int
    folder: Path
    base: Path | None
    """The folder of relative paths, if there are any."""

    def __call__(self, work: _Work) -> _Done:
        """Count a unit and write its files, if they are not there; the last one says so."""
        if not self.folder.is_dir():
            message = f"{self.folder} is no folder on {platform.node()}"
            raise JobError(
                f"{message}; give a checkpoint_dir or a temp_dir that all machines share"
            )
        if done := self._done(work):
            return done
        with nullcontext() if self.base is None else _within(self.base):
            counting = Counting(
                self.pattern, self.threads, self.memory, self.folder, self.validation
            )
            reader = work.unit.reader(
                self.field, cut=counting.last_safe_cut, on_error=self.on_error
            )
            for _ in counting.add(weighted_texts(reader, work.weights), lambda _: None):
                pass
        texts, counts = counting.texts, counting.finish()
        written = {"": counts}
        if counts.validation is not None:
            written[".validation"] = counts.validation
        for kind, some in written.items():
            some.write(self.file(work.name, kind))
        checksums = {kind: checksum(self.file(work.name, kind)) for kind in written}
        done = _Done(counting.bytes, texts, reader.skipped, checksums)
        write_whole(self._note(work), json.dumps(asdict(done)).encode())
        return done

    def _done(self, work: _Work) -> _Done | None:
        """Return the result of a finished unit, if its files are whole."""
        try:
            said: dict[str, Any] = json.loads(self._note(work).read_bytes())
            done = _Done(**said | {"skipped": corpus.Skipped(**said["skipped"])})
            if all(
                checksum(self.file(work.name, kind)) == done.checksums[kind]
                for kind in done.checksums
            ):
                return done
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def file(self, name: str, kind: str = "") -> Path:
        """Return where the counts of a unit are, or of its share that is held out."""
        return self.folder / f"{name}{kind}.counts"

    def _note(self, work: _Work) -> Path:
        return self.folder / f"{work.name}.json"

    def merge(self, paths: Sequence[Path]) -> Path:
        """Merge counts files into one, if that is not there; return where it is."""
        names = " ".join(path.name for path in paths)
        target = self.file(hashlib.sha256(names.encode()).hexdigest()[:32])
        if not target.exists():
            load(paths, self.folder).write(target)
        return target


def _merged(paths: Sequence[Path], count: _Count, executor: str, workers: int | None) -> Counts:
    """Merge counts files, many to one as long as there are many; on the executor if very many."""
    for path in paths:
        if not path.exists():
            message = f"{path} was written by a worker and is not here"
            raise JobError(f"{message}; name a folder that all machines share")
    while len(paths) > MERGE_MAX:
        groups = [paths[at : at + MERGE_MAX] for at in range(0, len(paths), MERGE_MAX)]
        where = executor if len(paths) > MERGE_HERE else "local"
        paths = [
            path
            for _, path in run_units(count.merge, units=groups, executor=where, workers=workers)
        ]
    return load(paths, count.folder)


def _are_absolute(paths: Sequence[Path]) -> bool:
    return all(path.is_absolute() for path in paths)


def _within(base: Path) -> chdir[Path]:
    """Go to the folder that paths are relative to: refusals name them as they were given."""
    if not base.is_dir():
        raise JobError(
            f"{base} is no folder on {platform.node()}; all machines need the same files"
        )
    return chdir(base)
