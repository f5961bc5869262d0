"""The models that the example makes, each by its name."""

from dataclasses import dataclass, replace

from zeton.seq2seq import Options, Shape

__all__ = ["COMPARED", "MODELS", "TOGETHER", "Setup"]


@dataclass(frozen=True)
class Setup:
    """What a model is made of, how it learns, and from how much."""

    shape: Shape
    options: Options
    source_vocab: int = 258
    """The least: letters are bytes."""
    target_vocab: int = 323
    """As many as there are pairs to merge for: every phoneme is one token, with and without the
    blank before it."""
    share: float = 1.0
    """Of the words to learn from."""


LEARNING = Options(epochs=10, batch=128, rate=0.003, smoothing=0.05, average=0.999)
ATTENTION = Shape(cell="lstm", size=384, layers=2, decoder_layers=1, dropout=0.25)

MODELS = {
    "attention": Setup(ATTENTION, LEARNING),
    "backward": Setup(replace(ATTENTION, backward=True), replace(LEARNING, best_by="errors")),
    "plain": Setup(Shape(cell="lstm", size=512, attention=None, dropout=0.2), LEARNING),
}

TOGETHER = {"counted": ["attention"], "together": ["attention", "backward"]}
"""Models that answer together, with the counts of the pairs that they learned from."""

SHORT = Options(epochs=4, batch=64, rate=0.003)
COMPARED = {
    f"letters-{size}": Setup(Shape(dropout=0.1), SHORT, source_vocab=size, share=0.1)
    for size in (258, 512, 1024)
}
"""Bytes and subwords of letters, by vocabulary size: a tenth of the words, few epochs."""
