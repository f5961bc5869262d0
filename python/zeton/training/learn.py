"""Counts become vocabularies: join the most frequent pair, over and over."""

import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, Unpack, overload

from zeton._engine import DEFAULT_PATTERN, VERSION, RawMerges, from_merges, from_ranks
from zeton.encoder_core import EncoderCore
from zeton.errors import ArgumentTypeError, FileError, TrainError
from zeton.plural import counted
from zeton.split_tokenizer import SplitTokenizer
from zeton.splitting import Split, checked
from zeton.tokenizer import Tokenizer
from zeton.training.count import Counts
from zeton.training.options import LEARN_DEFAULTS, LearnOptions, check_names
from zeton.work import memory as memories
from zeton.work.files import require_path, write_whole
from zeton.work.progress import Clock, Listener, Progress, shown

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["AnyTokenizer", "Learning", "learn"]

AnyTokenizer: TypeAlias = Tokenizer | SplitTokenizer

VOCAB_SIZE_MAX = 1 << 24
"""More tokens than that no vocabulary has."""

CURVE_STEPS = 8
"""A vocabulary is measured at so many even steps, and below the first wherever it has doubled."""


@overload
def learn(counts: Counts, *, vocab_size: int, **options: Unpack[LearnOptions]) -> Tokenizer: ...
@overload
def learn(
    counts: Counts, *, vocab_size: Sequence[int], **options: Unpack[LearnOptions]
) -> list[Tokenizer]: ...
def learn(
    counts: Counts, *, vocab_size: int | Sequence[int], **options: Unpack[LearnOptions]
) -> AnyTokenizer | Sequence[AnyTokenizer]:
    """Learn a vocabulary from counts, or several of rising sizes, each a prefix of the next.

    `vocab_size` includes the 256 bytes and the specials, whose ids are the last. With `initial`, a
    tokenizer to extend, all its ids stay and new ones follow. If the corpus has too few pairs, the
    vocabulary is smaller and a warning says so, or with `exact_size` an error.
    `zeton.training.options` explains every option.
    """
    check_names("learn", options, LearnOptions.__annotations__)
    learning = Learning(vocab_size, options)
    if not isinstance(counts, Counts):
        raise TypeError(
            f"counts is zeton.Counts, not {type(counts).__name__}; Counts.load reads it"
        )
    learning.pattern(counts.pattern)  # Refuses another one.
    learning.split(counts.split, None if counts.split else counts.pattern)
    with shown(options.get("progress", False)) as tell:
        return learning.learn(counts, tell)


class Learning:
    """The options of learning, checked before any work."""

    def __init__(self, vocab_size: int | Sequence[int], options: LearnOptions) -> None:
        """Check the options."""
        chosen = LEARN_DEFAULTS | options
        specials, initial = chosen["specials"], chosen["initial"]
        if isinstance(specials, Mapping) or not isinstance(specials, Iterable):
            raise ArgumentTypeError(
                f"specials is a list of names, not {type(specials).__name__}; training gives them "
                "their ids"
            )
        self.specials = [specials] if isinstance(specials, str) else list(specials)
        for name in self.specials:
            if not isinstance(name, str):
                raise ArgumentTypeError(
                    f"the name of a special token is a str, not {type(name).__name__}: {name!r:.40}"
                )
        self.initial = initial
        if not isinstance(vocab_size, (int, Sequence)) or isinstance(vocab_size, (str, bool)):
            raise TypeError(f"vocab_size is an int, or several, not {type(vocab_size).__name__}")
        self.several = not isinstance(vocab_size, int)
        self.sizes = [vocab_size] if isinstance(vocab_size, int) else list(vocab_size)
        if initial is not None and not isinstance(initial, EncoderCore):
            raise TypeError(f"initial is a Tokenizer, not {type(initial).__name__}")
        self.min_count = _check("min_count", chosen["min_count"], 1)
        longest, report = chosen["max_token_bytes"], chosen["report"]
        self.max_token_bytes = None if longest is None else _check("max_token_bytes", longest, 2)
        self.memory = memories.given_or_free(chosen["memory"])
        self.report = None if report is None else _report_file(report)
        self.exact_size = chosen["exact_size"]
        self._since = Clock()
        self.base = 256 if initial is None else initial.vocab_size
        """Tokens there are before the first merge."""
        self.first_new = 256
        if initial is not None:
            self.first_new = 1 + max(*initial.ranks().values(), *initial.specials.values())
        self._check_sizes()
        for name in self.specials:
            if initial is not None and name in initial.specials:
                raise TrainError(f"the initial tokenizer has the special {name!r}; leave it out")
        # A doubled or empty special is refused now, not after the work.
        self._tokenizer(RawMerges(), self.sizes[0], DEFAULT_PATTERN, {})

    def _check_sizes(self) -> None:
        least = self.base + len(self.specials)
        for size in self.sizes:
            if not isinstance(size, int) or isinstance(size, bool):
                raise TypeError(f"vocab_size is an int, not {type(size).__name__}")
            if size < least:
                base = "256 bytes" if self.initial is None else f"{self.base} initial tokens"
                parts = f"{base} and {len(self.specials)} specials"
                raise TrainError(f"vocab_size is {size}; it must be at least {least}: {parts}")
            if size > VOCAB_SIZE_MAX:
                raise TrainError(f"vocab_size is {size}; it must be at most {VOCAB_SIZE_MAX}")
        if not self.sizes or any(a >= b for a, b in zip(self.sizes, self.sizes[1:], strict=False)):
            raise TrainError(f"vocab_size is {self.sizes}; several sizes must rise")

    def pattern(self, pattern: str | None) -> str | None:
        """Return the pattern to count with; `initial` allows its own pattern only."""
        if self.initial is None or pattern == self.initial.pattern:
            return pattern
        if pattern is None:
            return self.initial.pattern
        raise TrainError(
            f"the pattern is {_short(pattern)} and that of the initial tokenizer "
            f"{_short(self.initial.pattern)}; they must be the same"
        )

    def split(self, split: Split | None, pattern: str | None) -> Split | None:
        """Return the function to split with, if there is one: no other than the initial one's."""
        initial = self.initial.function if isinstance(self.initial, SplitTokenizer) else None
        if split is None and pattern is None:
            return initial
        if split is not None and pattern is not None:
            raise TrainError("there are a split and a pattern, or rules; give one of them")
        if self.initial is not None and split != initial:
            raise TrainError("the initial tokenizer splits in another way; give the same or none")
        return None if split is None else checked(split)

    def learn(self, counts: Counts, tell: Listener) -> AnyTokenizer | Sequence[AnyTokenizer]:
        """Learn from counts; return a tokenizer, or one for each size."""
        seconds_counting = self._since.seconds()
        if counts.validation is not None and not len(counts.validation):
            warnings.warn(
                "the corpus is too small for a validation share; give more texts or a larger share",
                stacklevel=_frames_of_ours(),
            )
            counts.validation = None
        learned = self._learned(counts, tell)
        notes = {
            "training.distinct_pieces": str(len(counts)),
            "training.corpus_bytes": str(counts.corpus_bytes),
        }
        if counts.validation is not None:
            bytes_per_token = learned.validation[max(learned.validation)]
            notes["training.validation_bytes_per_token"] = f"{bytes_per_token:.4f}"
        pattern, split = counts.pattern, counts.split
        measured = counts if self.report is not None else None
        del counts  # Unless the caller holds them, their memory is free for the tokenizers.
        made = [
            self._tokenizer(
                learned.merges, size, pattern, notes | {"training.vocab_size": str(size)}, split
            )
            for size in self.sizes
        ]
        if self.report is not None and measured is not None:
            self._write_report(self.report, measured, made, learned, seconds_counting)
        return made if self.several else made[0]

    def _learned(self, counts: Counts, tell: Listener) -> "_Learned":
        wanted = self.sizes[-1] - self.base - len(self.specials)
        clock = Clock()
        validation: dict[int, float] = {}
        validation_bytes = 0 if counts.validation is None else counts.validation.corpus_bytes

        def report(done: int, token: bytes, measured: Sequence[tuple[int, int]]) -> None:
            seconds, size, ratio = clock.seconds(), 0, 0.0
            for count, tokens in measured:
                size, ratio = self.base + count, validation_bytes / max(tokens, 1)
                if size not in validation:
                    validation[size] = ratio
                    tell(Progress("measure", seconds, vocab_size=size, bytes_per_token=ratio))
            tell(
                Progress(
                    "learn",
                    seconds,
                    merges=done,
                    merges_total=wanted,
                    token=token,
                    vocab_size=size,
                    bytes_per_token=ratio,
                )
            )

        start = None if self.initial is None else (self.initial, self.first_new)
        measure = (
            None if counts.validation is None else (counts.validation.raw, self._steps(wanted))
        )
        merges, ties, (left_out, occurrences) = counts.raw.learn(
            wanted, self.min_count, self.max_token_bytes, self.memory, start, measure, report
        )
        if left_out:
            warnings.warn(
                f"left out {counted(left_out, 'piece')} with fewer than {self.min_count} "
                f"occurrences: {counted(occurrences, 'occurrence')} in all",
                stacklevel=_frames_of_ours(),
            )
        if len(merges) < wanted:
            reached = self.base + len(merges) + len(self.specials)
            size = self.sizes[-1]
            if self.exact_size:
                raise TrainError(
                    f"the corpus has pairs for {reached} tokens, not for {size}; give more text, "
                    "or a smaller vocab_size"
                )
            warnings.warn(
                f"the vocabulary has {reached} tokens, not {size}: no pair occurs any more; give "
                "more text for a larger one",
                stacklevel=_frames_of_ours(),
            )
        return _Learned(merges, ties, (left_out, occurrences), clock.seconds(), validation)

    def _steps(self, merges: int) -> list[int]:
        """Return after how many merges a vocabulary is measured: few, and where they tell most."""
        most = self.base + merges
        even = {merges * step // CURVE_STEPS for step in range(CURVE_STEPS + 1)}
        doubled = {self.base * 2**power for power in range(most.bit_length())}
        asked = {size - self.base - len(self.specials) for size in self.sizes}
        first = min(even - {0}, default=0)
        small = {size - self.base for size in doubled if size - self.base < first}
        return sorted(step for step in even | small | asked if step <= merges)

    def _tokenizer(
        self,
        merges: RawMerges,
        size: int,
        pattern: str,
        notes: dict[str, str],
        split: Split | None = None,
    ) -> AnyTokenizer:
        """Make the tokenizer of so many tokens, or of fewer if there are fewer merges."""
        count = min(len(merges), size - self.base - len(self.specials))
        notes = {"version": VERSION, **notes}
        after = self.first_new + count
        named = [(name, after + at) for at, name in enumerate(self.specials)]
        by_function = split is not None
        if self.initial is None:
            engine = from_merges(merges, count, pattern, named, notes, by_function)
        else:
            ranks = {token: rank for rank, token in self.tokens(merges.first(count)).items()}
            named = [*self.initial.specials.items(), *named]
            engine = from_ranks(ranks, pattern, named, notes, by_function)
        # Our own constructors.
        return Tokenizer._of(engine) if split is None else SplitTokenizer._by(engine, split)  # noqa: SLF001

    def tokens(self, merges: Iterable[tuple[int, int, int]]) -> dict[int, bytes]:
        """Return the bytes of all ids, merges included."""
        tokens = {byte: bytes([byte]) for byte in range(256)}
        if self.initial is not None:
            tokens = {rank: token for token, rank in self.initial.ranks().items()}
        for rank, (left, right, _) in enumerate(merges, self.first_new):
            tokens[rank] = tokens[left] + tokens[right]
        return tokens

    def _curve(self, counts: Counts, learned: "_Learned") -> list[tuple[int, float, float | None]]:
        """Measure growing vocabularies: their size, and the bytes of a token on both shares."""
        made = len(learned.merges)
        sizes = sorted(learned.validation) or [self.base + step for step in self._steps(made)]
        curve = []
        for size in sizes:
            whole = size + len(self.specials)
            tok = self._tokenizer(learned.merges, whole, counts.pattern, {}, counts.split)
            curve.append((size, _bytes_per_token(counts, tok), learned.validation.get(size)))
        return curve

    def _made(
        self, curve: Sequence[tuple[int, float, float | None]], made: Sequence[AnyTokenizer]
    ) -> list[tuple[int, float, float | None]]:
        """Return the point of the curve for each tokenizer."""
        rows, last = (
            {size: (corpus, validation) for size, corpus, validation in curve},
            curve[-1][0],
        )
        sizes = [min(size - len(self.specials), last) for size in self.sizes]
        return [(tok.vocab_size, *rows[size]) for tok, size in zip(made, sizes, strict=True)]

    def _write_report(
        self,
        path: Path,
        counts: Counts,
        made: Sequence[AnyTokenizer],
        learned: "_Learned",
        seconds_counting: float,
    ) -> None:
        from zeton.training.report.page import Facts, html  # noqa: PLC0415 - only where one is asked for.

        merges = learned.merges.first(len(learned.merges))
        tokens = dict(sorted(self.tokens(merges).items()))
        curve = self._curve(counts, learned)
        facts = Facts(
            name=path.stem,
            pattern=counts.pattern,
            texts=counts.texts,
            corpus_bytes=counts.corpus_bytes,
            pieces=len(counts),
            left_out=learned.left_out,
            skipped=counts.skipped,
            seconds=(seconds_counting, learned.seconds),
            tokens=tokens,
            merges=merges,
            first_new=self.first_new,
            ties=learned.ties,
            curve=curve,
            made=self._made(curve, made),
            specials=list(made[-1].specials),
        )
        try:
            write_whole(path, html(facts).encode())
        except FileError as error:  # The vocabulary must not be lost by it.
            warnings.warn(f"there is no report: {error}", stacklevel=_frames_of_ours())


@dataclass(frozen=True)
class _Learned:
    """The merges, and the facts about learning them."""

    merges: RawMerges
    ties: int
    left_out: tuple[int, int]
    seconds: float
    validation: dict[int, float]
    """The bytes per token on the validation share, by the size without the new specials."""


def _report_file(path: str | PathLike[str]) -> Path:
    """Return where the report goes; refused now, not after the work."""
    file = require_path(path)
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise FileError(f"{file} cannot be written; give a file in a folder that exists")
    return file


def _short(pattern: str) -> str:
    return repr(pattern if len(pattern) <= 60 else pattern[:59] + "…")


def _bytes_per_token(counts: Counts, tok: AnyTokenizer) -> float:
    return counts.corpus_bytes / max(counts.raw.tokens(tok), 1)


def _check(name: str, value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is an int, not {type(value).__name__}")
    if not least <= value < 2**63:
        raise TrainError(f"{name} is {value}; it must be at least {least} and fit 63 bits")
    return value


def _frames_of_ours() -> int:
    """Count the frames up to the program that called us, whichever surface it called."""
    frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the one way to the callers.
    count = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith("zeton."):
        frame, count = frame.f_back, count + 1
    return count
