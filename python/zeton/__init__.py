"""Train your own BPE tokenizer and run it: exact, fast, for any vocabulary and pattern."""

from importlib import import_module
from typing import TYPE_CHECKING

from zeton import errors
from zeton._engine import VERSION
from zeton.errors import Error
from zeton.pretrained import pretrained, pretrained_names
from zeton.tokenizer import DEFAULT_PATTERN, Tokenizer, load

if TYPE_CHECKING:
    from zeton import accel, chat, nanochat, rules, rustbpe, search, shards, tiktoken
    from zeton.pattern.engine_info import Info
    from zeton.pattern.grammar import Grammar, Transducer
    from zeton.rules import Rules
    from zeton.training.api import count_files, train, train_files
    from zeton.training.count import Counts, count_corpus
    from zeton.training.learn import learn
    from zeton.work.progress import Progress

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
    "Counts": "zeton.training.count",
    "Progress": "zeton.work.progress",
    "Grammar": "zeton.pattern.grammar",
    "Info": "zeton.pattern.engine_info",
    "Rules": "zeton.rules",
    "Transducer": "zeton.pattern.grammar",
    "count_corpus": "zeton.training.count",
    "count_files": "zeton.training.api",
    "learn": "zeton.training.learn",
    "train": "zeton.training.api",
    "train_files": "zeton.training.api",
}
_MODULES = {"accel", "chat", "nanochat", "rules", "rustbpe", "search", "shards", "tiktoken"}


def __dir__() -> list[str]:
    """Name what is public, also what is not imported yet."""
    return __all__


def __getattr__(name: str) -> object:
    """Import what not every program needs when it is first asked for."""
    if name in _MODULES:
        return import_module(f"zeton.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'zeton' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
