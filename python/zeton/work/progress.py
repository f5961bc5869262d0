"""Progress of long work: values for a program, a bar on a terminal, or a line a minute."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

__all__ = ["Clock", "Lines", "Listener", "Progress", "Shown", "measured", "shown"]


@dataclass(frozen=True)
class Progress:
    """How far long work is. Fields of other stages are 0, empty or None."""

    stage: Literal["count", "learn", "measure", "shard"]
    seconds: float
    """Since the stage began."""
    texts: int = 0
    text_bytes: int = 0
    """Of text counted so far; where texts are `str`, their characters, which is near enough."""
    text_bytes_total: int | None = None
    pieces: int = 0
    """Distinct pieces in memory; two threads may hold the same piece."""
    memory: int = 0
    """Bytes that the process has."""
    merges: int = 0
    merges_total: int = 0
    token: bytes = b""
    """The latest one that was learned."""
    vocab_size: int = 0
    bytes_per_token: float = 0.0
    """The latest measurement on the validation share, with the first `vocab_size` tokens."""

    @property
    def left(self) -> float | None:
        """The seconds that the stage takes yet, at the pace so far."""
        done, total = self.text_bytes, self.text_bytes_total
        if self.stage == "learn":
            done, total = self.merges, self.merges_total
        return self.seconds * (total - done) / done if done and total else None


Listener: TypeAlias = Callable[[Progress], object]
Shown: TypeAlias = bool | Listener
"""Whether to show a bar, or the function to call."""


@contextmanager
def shown(progress: Shown) -> Iterator[Listener]:
    """Yield the listener: a function that does nothing, the given one, or a bar."""
    if not progress:
        yield lambda _: None
    elif callable(progress):
        yield progress
    else:
        with _Bars() as bars:
            yield bars


def measured(now: Progress) -> str:
    """Return the measurement of a vocabulary on the validation share, in words."""
    return f"held out: {now.bytes_per_token:.3f} bytes a token with {now.vocab_size:,} tokens"


class Lines:
    """A line a minute, for logs: a bar needs a terminal."""

    def __init__(self, say: Callable[[str], object]) -> None:
        """Write lines by `say`. The variable ZETON_PROGRESS_SECONDS changes the minute."""
        self._say = say
        try:
            self._every = float(os.environ.get("ZETON_PROGRESS_SECONDS", "60"))
        except ValueError:
            self._every = 60.0
        self._start = self._last = time.monotonic()

    def __call__(self, now: Progress) -> None:
        """Report the progress of a training or of shards."""
        if now.stage == "measure":
            self._say(measured(now))
        elif self._is_due():
            self._say(line(now))

    def read(self, name: str, done: int, total: int | None) -> None:
        """Report how many bytes of a file were read."""
        if self._is_due():
            self._say(_amount(name, done, total, time.monotonic() - self._start))

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._last < self._every:
            return False
        self._last = now
        return True


def line(now: Progress) -> str:
    """Write progress as a line for people.

    >>> line(Progress("count", 100, texts=5, text_bytes=10**8, text_bytes_total=4 * 10**8))
    'count: 100 of 400 MB, 1 MB/s, 5 texts, 5 min left'
    >>> line(Progress("learn", 1, merges=500, merges_total=2000))
    'learn: 500 of 2,000 merges, 3 s left'
    """
    if now.stage == "learn":
        written = f"learn: {now.merges:,} of {now.merges_total:,} merges"
    else:
        written = _amount(now.stage, now.text_bytes, now.text_bytes_total, now.seconds)
        written += f", {now.texts:,} text{'s' * (now.texts != 1)}"
    if now.left is None:
        return written
    left = f"{now.left:.0f} s" if now.left < 100 else f"{now.left / 60:.0f} min"
    return f"{written}, {left} left"


def _amount(name: str, done: int, total: int | None, seconds: float) -> str:
    of = "" if total is None else f" of {total / 1e6:,.0f}"
    return f"{name}: {done / 1e6:,.0f}{of} MB, {done / 1e6 / max(seconds, 1e-9):,.0f} MB/s"


class _Bars:
    """A bar for each stage."""

    def __init__(self) -> None:
        self._stage = ""
        self._bar: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def __call__(self, now: Progress) -> None:
        from tqdm import tqdm  # noqa: PLC0415 - only where it is shown.

        if now.stage == "measure":
            tqdm.write(measured(now), file=sys.stderr)
            return
        if now.stage != self._stage:
            self.__exit__()
            total = now.merges_total if now.stage == "learn" else now.text_bytes_total
            unit = " merges" if now.stage == "learn" else "B"
            self._bar = tqdm(desc=now.stage, total=total, unit=unit, unit_scale=True)
            self._stage = now.stage
        if now.stage == "learn":
            done, said = now.merges, repr(now.token)[1:]
            if now.vocab_size:
                said += f", held out {now.bytes_per_token:.3f} bytes a token"
        else:
            done, self._bar.total = now.text_bytes, now.text_bytes_total
            pace = now.texts / max(now.seconds, 1e-9)
            pieces = f"{now.pieces:,} pieces, " if now.stage == "count" else ""
            said = f"{now.texts:,} texts, {pace:,.0f}/s, {pieces}{now.memory / 1e6:.0f} MB"
        self._bar.set_postfix_str(said, refresh=False)
        self._bar.update(done - self._bar.n)


class Clock:
    """When a stage began, and when its listener was last told."""

    EVERY = 0.1

    def __init__(self) -> None:
        """Begin now."""
        self.start = time.monotonic()
        self._told = 0.0

    def seconds(self) -> float:
        """Return the seconds since the stage began."""
        return time.monotonic() - self.start

    def is_time(self) -> bool:
        """Return whether it is time to tell again."""
        now = time.monotonic()
        if now - self._told < self.EVERY:
            return False
        self._told = now
        return True
