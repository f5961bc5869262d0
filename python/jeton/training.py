"""A corpus becomes a tokenizer: count its pieces, then learn merges from the counts."""

import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from operator import length_hint
from typing import TYPE_CHECKING, Any

from jeton import corpus
from jeton._engine import DEFAULT_PATTERN, VERSION, Counter, from_merges
from jeton.errors import CorpusError, TrainError
from jeton.tokenizer import Tokenizer

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["train", "train_files"]

BATCH_BYTES = 1 << 24
"""About how much text is counted at once: enough to share among threads."""

VOCAB_SIZE_MAX = 1 << 24
"""More tokens than that no vocabulary has."""


def train(
    texts: Iterable[str | bytes],
    vocab_size: int,
    *,
    pattern: str | None = None,
    specials: Iterable[str] = (),
    threads: int | None = None,
    memory: int | None = None,
    progress: bool = False,
    exact_size: bool = False,
) -> Tokenizer:
    """Train a tokenizer on texts, which are read once, as they come.

    `vocab_size` counts the 256 bytes and the specials, whose ids are the last. `memory` bounds the
    bytes that the distinct pieces take. With fewer pairs in the corpus than asked for, the
    vocabulary is smaller and a warning says so, or with `exact_size` an error.
    """
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts is many texts, not one; give a list")
    job = _Job(vocab_size, pattern, specials, threads, memory, progress=progress)
    job.count(texts)
    return job.learn(exact_size=exact_size)


def train_files(
    paths: Iterable[corpus.AnyPath],
    vocab_size: int,
    *,
    field: str = "text",
    pattern: str | None = None,
    specials: Iterable[str] = (),
    threads: int | None = None,
    memory: int | None = None,
    progress: bool = False,
    exact_size: bool = False,
) -> Tokenizer:
    """Train a tokenizer on files and folders: text, JSON lines, `.gz`, `.zst`, `.xz`, Parquet.

    A plain file is one text, of any size; JSON lines and Parquet hold a text a row, in `field`.
    The other options are those of `train`.
    """
    job = _Job(vocab_size, pattern, specials, threads, memory, progress=progress)
    files = corpus.files(paths)
    texts = corpus.parts(files, field, cut=job.counter.last_safe_cut)
    if not job.count(texts, total=corpus.size(files) if progress else None):
        raise CorpusError(f"there is no text in {len(files)} files; give files or folders of text")
    return job.learn(exact_size=exact_size)


class _Job:
    """One training: its options, checked, and its counter."""

    def __init__(
        self,
        vocab_size: int,
        pattern: str | None,
        specials: Iterable[str],
        threads: int | None,
        memory: int | None,
        *,
        progress: bool,
    ) -> None:
        if isinstance(specials, Mapping):
            raise TypeError("specials are names; training gives them their ids")
        for name, value in (("vocab_size", vocab_size), ("threads", threads), ("memory", memory)):
            if not isinstance(value, int) and (value is not None or name == "vocab_size"):
                raise TypeError(f"{name} is an int, not {type(value).__name__}")
        self.specials = [specials] if isinstance(specials, str) else list(specials)
        self.vocab_size = vocab_size
        self.merges_max = vocab_size - 256 - len(self.specials)
        if self.merges_max < 0:
            least = 256 + len(self.specials)
            parts = f"256 bytes and {len(self.specials)} specials"
            raise TrainError(f"vocab_size is {vocab_size}; it must be at least {least}: {parts}")
        if vocab_size > VOCAB_SIZE_MAX:
            raise TrainError(f"vocab_size is {vocab_size}; it must be at most {VOCAB_SIZE_MAX}")
        for name, value in (("threads", threads), ("memory", memory)):
            if value is not None and not 1 <= value < 2**63:
                raise TrainError(f"{name} is {value}; it must be at least 1 and fit 63 bits")
        self.pattern = DEFAULT_PATTERN if pattern is None else pattern
        self.counter = Counter(self.pattern, threads or os.cpu_count() or 1, memory)
        self.progress = progress
        # A doubled or empty special is refused now, not after the work.
        from_merges([], self.pattern, self._named(256), {})

    def _named(self, first: int) -> list[tuple[str, int]]:
        return [(name, first + at) for at, name in enumerate(self.specials)]

    @contextmanager
    def bar(self, name: str, **options: Any) -> Iterator[Callable[[int], object]]:  # noqa: ANN401
        """Show a progress bar, if asked to; yields what advances it."""
        if not self.progress:
            yield lambda _: None
            return
        from tqdm import tqdm  # noqa: PLC0415 - only where it is shown.

        with tqdm(desc=name, **options) as bar:
            yield bar.update

    def count(self, texts: Iterable[str | bytes], total: int | None = None) -> int:
        """Count all texts; return their size, about."""
        whole = 0
        with self.bar("count", unit="B", unit_scale=True, total=total) as advance:
            for batch, size in _batches(texts):
                self.counter.add(batch)
                advance(size)
                whole += size
        return whole

    def learn(self, *, exact_size: bool) -> Tokenizer:
        """Learn merges from the counts and make a tokenizer of them."""
        with self.bar("learn", unit=" merges", total=self.merges_max) as advance:
            pieces, digest = self.counter.finish()
            shown = 0

            def report(done: int) -> None:
                nonlocal shown
                advance(done - shown)
                shown = done

            merges = self.counter.learn(self.merges_max, report)
        if len(merges) < self.merges_max:
            reached = 256 + len(merges) + len(self.specials)
            message = (
                f"the corpus is too small for {self.vocab_size} tokens: it has pairs for {reached}"
            )
            if exact_size:
                raise TrainError(f"{message}; give more text or a smaller size")
            warnings.warn(f"{message}, which is the size reached", stacklevel=_frames_of_ours())
        notes = {
            "version": VERSION,
            "training.vocab_size": str(self.vocab_size),
            "training.distinct_pieces": str(pieces),
            "training.counts_sha256": digest.hex(),
        }
        named = self._named(256 + len(merges))
        return Tokenizer._of(  # noqa: SLF001 - our own constructor.
            from_merges(merges, self.pattern, named, notes)
        )


def _frames_of_ours() -> int:
    """Count the frames up to the program that called us, whichever surface it called."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the one way to the callers.
    count = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("jeton."):
        frame, count = frame.f_back, count + 1
    return count


def _batches(texts: Iterable[str | bytes]) -> Iterator[tuple[list[str | bytes], int]]:
    """Gather texts into batches, with their size: bytes, or characters, which are near enough."""
    batch: list[str | bytes] = []
    size = 0
    for text in texts:
        batch.append(text)
        size += length_hint(text)
        if size + len(batch) >= BATCH_BYTES:  # Empty texts count too: a batch of them must end.
            yield batch, size
            batch, size = [], 0
    yield batch, size
