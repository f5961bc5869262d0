"""Train your own BPE tokenizer and run it: exact, fast, for any vocabulary and pattern."""

from jeton import errors
from jeton._engine import VERSION
from jeton.errors import Error
from jeton.grammar import Grammar, Transducer
from jeton.pretrained import pretrained, pretrained_names
from jeton.tokenizer import DEFAULT_PATTERN, Tokenizer, load
from jeton.training import train, train_files

__version__ = VERSION

__all__ = [
    "DEFAULT_PATTERN",
    "Error",
    "Grammar",
    "Tokenizer",
    "Transducer",
    "__version__",
    "errors",
    "load",
    "pretrained",
    "pretrained_names",
    "train",
    "train_files",
]
