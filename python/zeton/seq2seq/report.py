"""What a learning says of itself: while it runs, after each epoch, and in the end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Epoch", "Now", "Report", "Shown", "shown"]


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to."""

    epoch: int
    step: int
    loss: float
    """In nats for each target id, over the epoch, with smoothing."""
    validation_loss: float
    """In nats for each target id, without smoothing."""
    bits_per_byte: float
    """Of the validation share's targets: the same loss, whatever their tokens are."""
    text_error: float
    """The share of the texts asked, a thousand at most, whose answer is none of those listed."""


@dataclass
class Report:
    """What a learning came to."""

    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0
    """The epoch whose weights the model has."""
    seconds: float = 0.0
    """Spent learning, over all runs that went on from each other."""
    losses: list[tuple[int, float]] = field(default_factory=list)
    """Steps and the mean loss of the fifty before each."""


@dataclass(frozen=True)
class Now:
    """How far a learning is."""

    step: int
    steps: int
    epoch: int
    loss: float
    """Of the last steps, about."""
    text_error: float | None
    """Of the last validation."""


Shown: TypeAlias = bool | Callable[[Now], object]
"""Whether to show a bar, or whom to tell."""


@contextmanager
def shown(progress: Shown) -> Iterator[Callable[[Now], object]]:
    """Yield whom to tell: nobody, the function given, or a bar on the terminal."""
    if not progress:
        yield lambda _: None
    elif callable(progress):
        yield progress
    else:
        from tqdm import tqdm  # noqa: PLC0415 - few ask for a bar.

        with tqdm(desc="learn", unit=" steps") as bar:

            def tell(now: Now) -> None:
                bar.total = now.steps
                said = f"epoch {now.epoch}, loss {now.loss:.3f}"
                if now.text_error is not None:
                    said += f", wrong {100 * now.text_error:.1f} %"
                bar.set_postfix_str(said, refresh=False)
                bar.update(now.step - bar.n)

            yield tell
