"""The options of training a model."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from zeton.seq2seq.errors import Seq2SeqError

__all__ = ["BEST", "Best", "Options"]

Best: TypeAlias = Literal["loss", "errors"]
BEST = ("loss", "errors")


@dataclass(frozen=True)
class Options:
    """How a model is trained."""

    epochs: int = 20
    batch: int = 128
    """Pairs per step."""
    learning_rate: float = 0.002
    """Adam's highest learning rate: it rises linearly first, then falls to zero as a cosine."""
    warmup: float = 0.05
    """Share of the steps in which the learning rate rises."""
    clip: float = 1.0
    """Largest norm of a step's gradients (gradient clipping)."""
    label_smoothing: float = 0.0
    """Share of each target's probability that is spread evenly over all ids."""
    teacher_forcing: float = 1.0
    """Teacher-forcing ratio in the last epoch: the share of decoder inputs taken from the target.

    It is 1.0 in the first epoch and falls linearly. The other inputs are the model's own guesses.
    """
    token_dropout: float = 0.0
    """Share of decoder inputs that are replaced by the begin token.

    A step without its previous id has to use the source text.
    """
    ema_decay: float = 0.0
    """Decay of the exponential moving average (EMA) of the weights, for example 0.999.

    The model gets the averaged weights. At 0 they are the weights of the last step.
    """
    best_by: Best = "loss"
    """The best epoch has the lowest validation loss, or the fewest wrong texts (`"errors"`).

    Of epochs with equally many wrong texts the one with the lower loss is the best.
    """
    patience: int = 5
    """Epochs without improvement after which training stops."""
    checkpoint_every: int = 1000
    """Steps between checkpoints; each epoch also ends with one."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse options outside their ranges."""
        if self.best_by not in BEST:
            raise Seq2SeqError(f"best_by is {self.best_by!r}; it is one of {', '.join(BEST)}")
        for name in ("epochs", "batch", "patience", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise Seq2SeqError(f"{name} is {getattr(self, name)}; it must be 1 or more")
        for name in ("warmup", "label_smoothing", "teacher_forcing", "token_dropout"):
            if not 0 <= getattr(self, name) <= 1:
                raise Seq2SeqError(f"{name} is {getattr(self, name)}; it must be from 0 to 1")
        if not 0 <= self.ema_decay < 1:
            raise Seq2SeqError(f"ema_decay is {self.ema_decay}; it must be from 0 to below 1")
        for name in ("learning_rate", "clip"):
            if not getattr(self, name) > 0:
                raise Seq2SeqError(f"{name} is {getattr(self, name)}; it must be above 0")
