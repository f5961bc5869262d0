"""The options of training, each written once: their types, their defaults, their meaning.

`train`, `train_files`, `count_corpus`, `count_files` and `learn` take them as keywords. Editors
complete the names and mypy checks them, because the functions take `**options: Unpack[...]`.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from zeton.suggest import did_you_mean

if TYPE_CHECKING:
    from zeton.corpus import OnError
    from zeton.rules import Rules
    from zeton.split_tokenizer import SplitTokenizer
    from zeton.splitting import Split
    from zeton.tokenizer import Tokenizer
    from zeton.work.progress import Shown

__all__ = [
    "CountFilesOptions",
    "CountOptions",
    "LearnOptions",
    "TrainFilesOptions",
    "TrainOptions",
    "check_names",
    "only",
]

Known = TypeVar("Known")


class _SplitOptions(TypedDict, total=False):
    pattern: "str | Rules | None"
    """The regular expression that splits a text into pieces. Default: `DEFAULT_PATTERN`."""
    rules: "Rules | None"
    """Rules in place of a pattern."""
    validation: float
    """A share of the texts that is counted apart, to measure vocabularies on. Default: 0."""
    threads: int | None
    """Threads that count. Default: one a core."""
    temp_dir: str | PathLike[str] | None
    """The folder of temporary files. Default: that of the system."""


class _FunctionOptions(TypedDict, total=False):
    split: "Split | None"
    """A Python function from a text to its pieces, in place of a pattern."""


class _TextOptions(_SplitOptions, total=False):
    weights: Iterable[int] | None
    """How many times each text counts, one integer a text."""


class _FileOptions(_SplitOptions, total=False):
    weights: Mapping[str, int] | None
    """How many times the texts of a file count, by path or glob."""
    field: str
    """The field of JSON lines, or column of Parquet, that holds the text. Default: "text"."""
    on_error: "OnError"
    """ "raise", or "skip": leave out unreadable files and lines, and name them in a warning."""
    checkpoint_dir: str | PathLike[str] | None
    """Save progress there. The same call resumes from it, after any end of the process."""
    checkpoint_every: int | str
    """Bytes of text from one checkpoint to the next, as in "1GB", which is the default."""
    restart: bool
    """Discard the checkpoint. Default: False."""
    executor: str | None
    """ "local" or "ray": count unit by unit, on this machine or on many. Default: neither."""
    workers: int | None
    """Units that the executor counts at once."""
    on_warning: Callable[[str], object]
    """Receives each warning, a line. Default: `warnings.warn`."""


class _LearnOptions(TypedDict, total=False):
    specials: Iterable[str]
    """Names of specials to create. Their ids are the last."""
    initial: "Tokenizer | SplitTokenizer | None"
    """A tokenizer to extend: its ids stay, new ones follow."""
    min_count: int
    """Leave out pieces with fewer occurrences; a warning says how many. Default: 1."""
    max_token_bytes: int | None
    """Length of the longest token in bytes."""
    report: str | PathLike[str] | None
    """An HTML file to write, with charts of the vocabulary."""
    exact_size: bool
    """Raise an error if the corpus has too few pairs for `vocab_size`. Default: warn."""


class _WorkOptions(TypedDict, total=False):
    memory: int | str | None
    """Bytes of memory to use, as in "2GB". Default: half of the free memory."""
    progress: "Shown"
    """True for a progress bar, or a function that receives each `Progress`."""


class CountOptions(_TextOptions, _FunctionOptions, _WorkOptions, total=False):
    """Options of `count_corpus`."""


class CountFilesOptions(_FileOptions, _FunctionOptions, _WorkOptions, total=False):
    """Options of `count_files`."""


class LearnOptions(_LearnOptions, _WorkOptions, total=False):
    """Options of `learn`."""


class TrainOptions(_TextOptions, _LearnOptions, _WorkOptions, total=False):
    """Options of `train`: the options of `count_corpus` and of `learn`.

    `split` is a parameter of its own, because it decides the type of the result.
    """


class TrainFilesOptions(_FileOptions, _LearnOptions, _WorkOptions, total=False):
    """Options of `train_files`: the options of `count_files` and of `learn`.

    `split` is a parameter of its own, because it decides the type of the result.
    """


_SPLIT_DEFAULTS: _SplitOptions = {
    "pattern": None,
    "rules": None,
    "validation": 0.0,
    "threads": None,
    "temp_dir": None,
}
_WORK_DEFAULTS: _WorkOptions = {"memory": None, "progress": False}

COUNT_DEFAULTS: CountOptions = {"weights": None, "split": None, **_SPLIT_DEFAULTS, **_WORK_DEFAULTS}
COUNT_FILES_DEFAULTS: CountFilesOptions = {
    "weights": None,
    "split": None,
    "field": "text",
    "on_error": "raise",
    "checkpoint_dir": None,
    "checkpoint_every": "1GB",
    "restart": False,
    "executor": None,
    "workers": None,
    "on_warning": warnings.warn,
    **_SPLIT_DEFAULTS,
    **_WORK_DEFAULTS,
}
LEARN_DEFAULTS: LearnOptions = {
    "specials": (),
    "initial": None,
    "min_count": 1,
    "max_token_bytes": None,
    "report": None,
    "exact_size": False,
    **_WORK_DEFAULTS,
}


def check_names(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise a TypeError for an option that a function does not have, as Python does.

    >>> check_names("train", ["special"], TrainOptions.__annotations__)
    Traceback (most recent call last):
    TypeError: train() got an unexpected keyword argument 'special'; did you mean 'specials'?
    """
    names = list(known)
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names)
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{hint}")


def only(known: type[Known], options: Mapping[str, Any]) -> Known:
    """Return the options that one of the TypedDicts here has.

    >>> only(LearnOptions, {"min_count": 2, "threads": 4})
    {'min_count': 2}
    """
    return cast(
        "Known", {name: value for name, value in options.items() if name in known.__annotations__}
    )
