"""An encoder-decoder that learns to turn texts into texts, on zeton's tokens.

`learn` trains a `Seq2Seq` on pairs of texts, `load` reads a saved one, and its `generate` answers.
"""

from zeton.extras import needed
from zeton.seq2seq.errors import MissingTorchError, PairsError, Seq2SeqError

try:
    import safetensors as _safetensors  # noqa: F401 - the one place that checks for both.
    import torch as _torch  # noqa: F401
except ImportError as error:
    _package = "safetensors" if error.name == "safetensors" else "torch"
    raise MissingTorchError(f"zeton.seq2seq {needed(_package)}") from None

from zeton.seq2seq.attention import AdditiveAttention
from zeton.seq2seq.decoder import Decoder
from zeton.seq2seq.encoder import Encoder
from zeton.seq2seq.ensemble import Ensemble
from zeton.seq2seq.error_rates import ErrorRates, edit_distance, error_rates
from zeton.seq2seq.hidden_state import HiddenState, Memory
from zeton.seq2seq.joint_ngrams import JointNgrams
from zeton.seq2seq.learner import Learner, learn
from zeton.seq2seq.model import Candidate, Seq2Seq, Shape, load
from zeton.seq2seq.options import Options
from zeton.seq2seq.pairs import Pair, Pairs, read_pairs
from zeton.seq2seq.report import Epoch, Report, StepProgress
from zeton.seq2seq.tokens import Tokens

__all__ = [
    "AdditiveAttention",
    "Candidate",
    "Decoder",
    "Encoder",
    "Ensemble",
    "Epoch",
    "ErrorRates",
    "HiddenState",
    "JointNgrams",
    "Learner",
    "Memory",
    "MissingTorchError",
    "Options",
    "Pair",
    "Pairs",
    "PairsError",
    "Report",
    "Seq2Seq",
    "Seq2SeqError",
    "Shape",
    "StepProgress",
    "Tokens",
    "edit_distance",
    "error_rates",
    "learn",
    "load",
    "read_pairs",
]
