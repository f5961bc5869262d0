"""How a model learns."""

from dataclasses import dataclass

from jeton.seq2seq.errors import Seq2SeqError

__all__ = ["Options"]


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
    average: float = 0.0
    """How much of the weights' running average stays at a step; the model has that average. At 0 it
    has the weights themselves."""
    patience: int = 5
    """After so many epochs without a lower validation loss, learning stops."""
    keep: int = 1000
    """Steps from one checkpoint to the next; there is one after each epoch as well."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what no learning can do."""
        whole = min(self.epochs, self.batch, self.patience, self.keep) >= 1
        shares = all(0 <= each <= 1 for each in (self.warmup, self.smoothing, self.forcing))
        if not (whole and shares and 0 <= self.average < 1 and self.rate > 0 and self.clip > 0):
            raise Seq2SeqError(
                f"{self} cannot be done; counts are 1 or more, shares from 0 to 1, rates above 0"
            )
