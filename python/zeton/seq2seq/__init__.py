"""An encoder-decoder that learns to turn texts into texts, on zeton's tokens.

`learn` makes a `Seq2Seq` of pairs of texts, `load` reads one that was saved, `generate` answers.
"""

from zeton.extras import needed
from zeton.seq2seq.errors import MissingTorchError, PairsError, Seq2SeqError

try:
    import safetensors as _safetensors  # noqa: F401 - both are asked for here, once.
    import torch as _torch  # noqa: F401
except ImportError as error:
    _package = "safetensors" if error.name == "safetensors" else "torch"
    raise MissingTorchError(f"zeton.seq2seq {needed(_package)}") from None

from zeton.seq2seq.attention import Additive
from zeton.seq2seq.decoder import Decoder
from zeton.seq2seq.encoder import Encoder
from zeton.seq2seq.ensemble import Ensemble
from zeton.seq2seq.hidden import Hidden, Memory
from zeton.seq2seq.joint import Joint
from zeton.seq2seq.learner import Learner, learn
from zeton.seq2seq.model import Candidate, Seq2Seq, Shape, load
from zeton.seq2seq.options import Options
from zeton.seq2seq.pairs import Pair, Pairs, read_pairs
from zeton.seq2seq.rates import Rates, edits, rates
from zeton.seq2seq.report import Epoch, Now, Report
from zeton.seq2seq.tokens import Tokens

__all__ = [
    "Additive",
    "Candidate",
    "Decoder",
    "Encoder",
    "Ensemble",
    "Epoch",
    "Hidden",
    "Joint",
    "Learner",
    "Memory",
    "MissingTorchError",
    "Now",
    "Options",
    "Pair",
    "Pairs",
    "PairsError",
    "Rates",
    "Report",
    "Seq2Seq",
    "Seq2SeqError",
    "Shape",
    "Tokens",
    "edits",
    "learn",
    "load",
    "rates",
    "read_pairs",
]
