"""Reports of a training run: its progress, each epoch, and the whole run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Epoch", "ProgressOption", "Report", "StepProgress", "progress_reporter"]


@dataclass(frozen=True)
class Epoch:
    """The results of an epoch."""

    epoch: int
    step: int
    loss: float
    """Mean training loss in nats per target id, with label smoothing."""
    validation_loss: float
    """Mean validation loss in nats per target id, without label smoothing."""
    bits_per_byte: float
    """Validation loss in bits per byte of target text, which does not depend on the tokenizer."""
    text_error: float
    """Share of wrong answers among at most a thousand validation texts."""


@dataclass
class Report:
    """The results of a training run."""

    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    """The number of the epoch whose weights the model has."""
    seconds: float = 0.0
    """Training time, summed over resumed runs."""
    losses: list[tuple[int, float]] = field(default_factory=list)
    """Every fiftieth step, with the mean loss of the fifty steps up to it."""


@dataclass(frozen=True)
class StepProgress:
    """The progress of a training run."""

    step: int
    steps: int
    epoch: int
    loss: float
    """Mean loss of this epoch so far."""
    text_error: float | None
    """Share of wrong answers in the last validation, if there was one."""


ProgressOption: TypeAlias = bool | Callable[[StepProgress], object]
"""True for a progress bar, or a function that is called after every step."""


@contextmanager
def progress_reporter(progress: ProgressOption) -> Iterator[Callable[[StepProgress], object]]:
    """Yield the function to call after every step; by default it does nothing."""
    if not progress:
        yield lambda _: None
    elif callable(progress):
        yield progress
    else:
        from tqdm import tqdm  # noqa: PLC0415 - only a bar needs it.

        with tqdm(desc="learn", unit=" steps") as bar:

            def update(now: StepProgress) -> None:
                bar.total = now.steps
                status = f"epoch {now.epoch}, loss {now.loss:.3f}"
                if now.text_error is not None:
                    status += f", wrong {100 * now.text_error:.1f} %"
                bar.set_postfix_str(status, refresh=False)
                bar.update(now.step - bar.n)

            yield update
