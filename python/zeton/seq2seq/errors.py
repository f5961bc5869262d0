"""Errors of the encoder-decoder; each is a `zeton.Error` too."""

from zeton.errors import Error

__all__ = ["MissingTorchError", "PairsError", "Seq2SeqError"]


class Seq2SeqError(Error, ValueError):
    """A model cannot be made, trained or run with the given arguments."""


class PairsError(Seq2SeqError):
    """A file has no pairs to train on."""


class MissingTorchError(Seq2SeqError, ImportError):
    """The packages of the extra `torch` are not installed."""
