"""An encoder-decoder that learns to turn texts into texts, on jeton's tokens.

`learn` makes a `Seq2Seq` of pairs of texts, `load` reads one that was saved, `generate` answers.
"""

from jeton.seq2seq.errors import MissingTorchError, PairsError, Seq2SeqError

try:
    import safetensors as _safetensors  # noqa: F401 - both are asked for here, once.
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingTorchError(
        f"jeton.seq2seq needs the package {error.name or error}; install jeton with its extra: "
        "pip install 'jeton[torch]'"
    ) from None

from jeton.seq2seq.attention import Additive
from jeton.seq2seq.decoder import Decoder
from jeton.seq2seq.encoder import Encoder
from jeton.seq2seq.ensemble import Ensemble
from jeton.seq2seq.hidden import Hidden, Memory
from jeton.seq2seq.joint import Joint
from jeton.seq2seq.learner import Learner, learn
from jeton.seq2seq.model import Candidate, Seq2Seq, Shape, load
from jeton.seq2seq.options import Options
from jeton.seq2seq.pairs import Pair, Pairs, read_pairs
from jeton.seq2seq.rates import Rates, edits, rates
from jeton.seq2seq.report import Epoch, Now, Report
from jeton.seq2seq.tokens import Tokens

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
