"""Train your own BPE tokenizer and run it: exact, fast, for any vocabulary and pattern.

>>> import zeton
>>> tok = zeton.pretrained("cl100k_base")
>>> tok.encode("Hello world")
[9906, 1917]
>>> tok.decode([9906, 1917])
'Hello world'

The functions that most programs need:

    zeton.pretrained("cl100k_base")            a published tokenizer
    zeton.train(texts, vocab_size=n)           a tokenizer of your own texts
    zeton.train_files(paths, vocab_size=n)     the same, of files and folders
    zeton.load(path), tok.save(path)           a tokenizer and its file

`help(zeton.Tokenizer)` lists all that a tokenizer does. Modules have more: `zeton.chat`,
`zeton.search`, `zeton.shards`, `zeton.rules`, and the surfaces of other libraries,
`zeton.tiktoken`, `zeton.rustbpe` and `zeton.nanochat`.
"""

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
    from zeton.split_tokenizer import SplitTokenizer
    from zeton.text_encoder import TextEncoder
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
    "SplitTokenizer",
    "TextEncoder",
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
    "SplitTokenizer": "zeton.split_tokenizer",
    "TextEncoder": "zeton.text_encoder",
    "Transducer": "zeton.pattern.grammar",
    "count_corpus": "zeton.training.count",
    "count_files": "zeton.training.api",
    "learn": "zeton.training.learn",
    "train": "zeton.training.api",
    "train_files": "zeton.training.api",
}
_MODULES = {"accel", "chat", "nanochat", "rules", "rustbpe", "search", "shards", "tiktoken"}
_NEED_REGEX = {"reference", "reference_rules"}


def __dir__() -> list[str]:
    """Return the public names, also of modules that are not imported yet."""
    return __all__


def __getattr__(name: str) -> object:
    """Import a module at its first use, because few programs need it."""
    if name in _NEED_REGEX:
        from zeton.extras import import_extra  # noqa: PLC0415

        return import_extra("regex", f"zeton.{name}", module=f"zeton.{name}")
    if name in _MODULES:
        return import_module(f"zeton.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'zeton' has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
