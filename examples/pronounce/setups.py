"""The models that the example makes, each by its name."""

from dataclasses import dataclass

from jeton.seq2seq import Options, Shape

__all__ = ["COMPARED", "MODELS", "Setup"]


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


LEARNING = Options(epochs=12, batch=128, rate=0.003)

MODELS = {
    "attention": Setup(Shape(attention="additive", size=256, dropout=0.1), LEARNING),
    "plain": Setup(Shape(attention=None, size=320, dropout=0.1), LEARNING),
}

SHORT = Options(epochs=4, batch=64, rate=0.003)
COMPARED = {
    f"letters-{size}": Setup(MODELS["attention"].shape, SHORT, source_vocab=size, share=0.1)
    for size in (258, 512, 1024)
}
"""Bytes and subwords of letters, by vocabulary size: a tenth of the words, few epochs."""
