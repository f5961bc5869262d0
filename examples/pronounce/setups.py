"""The setups of the example's models, by name."""

from dataclasses import dataclass, replace

from zeton.seq2seq import Options, Shape

__all__ = ["COMPARED", "MODELS", "TOGETHER", "Setup"]


@dataclass(frozen=True)
class Setup:
    """The shape, options and training data of a model."""

    shape: Shape
    options: Options
    source_vocab: int = 258
    """The smallest size, so each letter is one byte."""
    target_vocab: int = 323
    """The largest size that the pairs give: each phoneme is a token, with and without a blank."""
    share: float = 1.0
    """Share of the training words that is used."""


LEARNING = Options(epochs=10, batch=128, learning_rate=0.003, label_smoothing=0.05, ema_decay=0.999)
ATTENTION = Shape(cell="lstm", size=384, layers=2, decoder_layers=1, dropout=0.25)

MODELS = {
    "attention": Setup(ATTENTION, LEARNING),
    "backward": Setup(replace(ATTENTION, backward=True), replace(LEARNING, best_by="errors")),
    "plain": Setup(Shape(cell="lstm", size=512, attention=None, dropout=0.2), LEARNING),
}

TOGETHER = {"counted": ["attention"], "together": ["attention", "backward"]}
"""Ensembles: models that answer together, with n-gram counts of their training pairs."""

SHORT = Options(epochs=4, batch=64, learning_rate=0.003)
COMPARED = {
    f"letters-{size}": Setup(Shape(dropout=0.1), SHORT, source_vocab=size, share=0.1)
    for size in (258, 512, 1024)
}
"""Short runs that compare source vocabularies: a tenth of the words, few epochs."""
