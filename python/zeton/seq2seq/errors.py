"""What the encoder-decoder refuses, beside the tree of `zeton.errors`."""

from zeton.errors import Error

__all__ = ["MissingTorchError", "PairsError", "Seq2SeqError"]


class Seq2SeqError(Error, ValueError):
    """A model cannot be made, taught or asked as it was told to."""


class PairsError(Seq2SeqError):
    """A file has no pairs to learn from."""


class MissingTorchError(Seq2SeqError, ImportError):
    """The packages of the extra `torch` are not installed."""
