"""Train your own BPE tokenizer and run it: exact, fast, for any vocabulary and pattern."""

from importlib import import_module
from typing import TYPE_CHECKING

from jeton import errors
from jeton._engine import VERSION
from jeton.errors import Error
from jeton.pretrained import pretrained, pretrained_names
from jeton.tokenizer import DEFAULT_PATTERN, Tokenizer, load

if TYPE_CHECKING:
    from jeton import accel, chat, nanochat, rules, rustbpe, search, shards, tiktoken
    from jeton.counting import Counts, count_corpus
    from jeton.grammar import Grammar, Transducer
    from jeton.info import Info
    from jeton.learning import learn
    from jeton.progress import Progress
    from jeton.rules import Rules
    from jeton.training import count_files, train, train_files

__version__ = VERSION

__all__ = [
    "DEFAULT_PATTERN",
    "Counts",
    "Error",
    "Grammar",
    "Info",
    "Progress",
    "Rules",
    "Tokenizer",
    "Transducer",
    "__version__",
    "accel",
    "chat",
    "count_corpus",
    "count_files",
    "errors",
    "learn",
    "load",
    "nanochat",
    "pretrained",
    "pretrained_names",
    "rules",
    "rustbpe",
    "search",
    "shards",
    "tiktoken",
    "train",
    "train_files",
]

_LATER = {
    "Counts": "jeton.counting",
    "Progress": "jeton.progress",
    "Grammar": "jeton.grammar",
    "Info": "jeton.info",
    "Rules": "jeton.rules",
    "Transducer": "jeton.grammar",
    "count_corpus": "jeton.counting",
    "count_files": "jeton.training",
    "learn": "jeton.learning",
    "train": "jeton.training",
    "train_files": "jeton.training",
}
_MODULES = {"accel", "chat", "nanochat", "rules", "rustbpe", "search", "shards", "tiktoken"}


def __dir__() -> list[str]:
    """Name what is public, also what is not imported yet."""
    return __all__


def __getattr__(name: str) -> object:
    """Import what not every program needs when it is first asked for."""
    if name in _MODULES:
        return import_module(f"jeton.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'jeton' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
