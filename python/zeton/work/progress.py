"""Progress of long work: reported to a function, or shown as a bar."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Self, TypeAlias

__all__ = ["Clock", "Listener", "Progress", "Shown", "measured", "shown"]


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
