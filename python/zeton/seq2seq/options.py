"""How a model learns."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from zeton.seq2seq.errors import Seq2SeqError

__all__ = ["BEST", "Best", "Options"]

Best: TypeAlias = Literal["loss", "errors"]
BEST = ("loss", "errors")


@dataclass(frozen=True)
class Options:
    """How a model learns."""

    epochs: int = 20
    batch: int = 128
    """Pairs a step."""
    rate: float = 0.002
    """Adam's rate at its highest: it rises first, then falls to nothing as a cosine does."""
    warmup: float = 0.05
    """The share of the steps in which the rate rises."""
    clip: float = 1.0
    """The norm that a step's gradients have at most."""
    smoothing: float = 0.0
    """The share of each target's weight that goes to all ids alike."""
    forcing: float = 1.0
    """How many of the ids that steps are told are the target's in the last epoch: all in the first,
    fewer in each. The others are the model's own guesses."""
    hiding: float = 0.0
    """The share of the ids that steps are told which are hidden from them: the begin stands there,
    so that a step has to look at the text rather than at what was written."""
    average: float = 0.0
    """How much of the weights' running average stays at a step; the model has that average. At 0 it
    has the weights themselves."""
    best_by: Best = "loss"
    """What the best epoch has least of: validation loss, or wrong texts, and of equally many the
    lower loss."""
    patience: int = 5
    """After so many epochs without a better one, learning stops."""
    keep: int = 1000
    """Steps from one checkpoint to the next; there is one after each epoch as well."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no learning can do."""
        if self.best_by not in BEST:
            raise Seq2SeqError(f"best_by is {self.best_by!r}; it is one of {', '.join(BEST)}")
        whole = min(self.epochs, self.batch, self.patience, self.keep) >= 1
        shares = (self.warmup, self.smoothing, self.forcing, self.hiding)
        are_shares = all(0 <= each <= 1 for each in shares)
        if not (whole and are_shares and 0 <= self.average < 1 and self.rate > 0 and self.clip > 0):
            raise Seq2SeqError(
                f"{self} cannot be done; counts are 1 or more, shares from 0 to 1, rates above 0"
            )
