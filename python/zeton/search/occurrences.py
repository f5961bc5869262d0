"""A phrase in arrays of ids, found without decoding them, whatever was merged across its ends."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from zeton._engine import PhraseFinder, spell_phrase
from zeton.errors import SearchError
from zeton.text.fit import readable
from zeton.tokenizer import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zeton.shards.reader import Tokens

__all__ = ["Occurrence", "Phrase", "Phrases", "phrase", "phrases"]

Ids: TypeAlias = "NDArray[Any] | Sequence[int] | Tokens"
"""Those of `shards.open(…).tokens` are read as they are looked at."""

Sequences: TypeAlias = tuple[tuple[int, ...], ...]

BLOCK_IDS = 1 << 20
"""How many ids are looked through at a time: so much is found before it is handed on."""

SAMPLES, SAMPLE_IDS = 32, 512
"""How many stretches, of how many ids, tell which ids are rare."""

SEQUENCES_MAX = 1 << 16

SHOWN = 3


def phrase(text: str | bytes, *, tokenizer: "Tokenizer") -> "Phrase":
    """Return a phrase that can be found in the ids of texts.

    >>> import zeton
    >>> tok = zeton.pretrained("cl100k_base")
    >>> ids = tok.encode("concatenate the cat")
    >>> [tuple(each) for each in phrase("cat", tokenizer=tok).find_all(ids)]
    [(0, 1, 3, 0), (3, 4, 1, 0)]
    """
    return Phrase(_known(tokenizer), _checked(text))


def phrases(texts: Iterable[str | bytes], *, tokenizer: "Tokenizer") -> "Phrases":
    """Return phrases that can be found in one pass over the ids of texts."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts are many, not one {_kind(texts)}; give a list")
    return Phrases(_known(tokenizer), tuple(map(_checked, texts)))


class Occurrence(NamedTuple):
    """Where a phrase is among ids."""

    first: int
    """The number of the first id that has some of it."""
    end: int
    """The number after the last one."""
    offset: int
    """The bytes of the first id's token that stand before it."""
    phrase: int = 0
    """Which of several phrases it is."""


@dataclass(frozen=True)
class Phrase:
    """A phrase, as bytes, and the tokenizer whose ids may spell it."""

    tokenizer: "Tokenizer" = field(repr=False)
    text: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what was made ready."""
        return Phrase, (self.tokenizer, self.text)

    @cached_property
    def starts(self) -> Sequences:
        """What can stand before the core; the first id of each may begin before the phrase."""
        return self._spelled[0]

    @cached_property
    def core(self) -> tuple[int, ...]:
        """The ids that are the same in every text; none if the phrase is short."""
        return self._spelled[1]

    @cached_property
    def ends(self) -> Sequences:
        """What can stand after the core; the last id of each may end after the phrase."""
        return self._spelled[2]

    @cached_property
    def sequences(self) -> Sequences:
        """All sequences of ids that can spell the phrase in a longer text: starts, core and ends.

        In every text that holds the phrase, specials aside, one of them is at that place. Some of
        them may be met in no text.
        """
        count = len(self.starts) * len(self.ends)
        if count > SEQUENCES_MAX:
            raise SearchError(
                f"{count} sequences of ids can spell {self.text[:40]!r}, too many; "
                "take starts, core and ends, or find_all, which needs none"
            )
        return tuple(
            sorted(start + self.core + end for start, end in product(self.starts, self.ends))
        )

    def find_all(self, ids: Ids) -> list[Occurrence]:
        """Return where the phrase is in ids, overlapping occurrences too.

        It is there wherever the bytes of neighbouring ids spell it. A special stands for no text,
        nor does a number that is no id.
        """
        return list(self.iterate(ids))

    def iterate(self, ids: Ids) -> Iterator[Occurrence]:
        """Yield the same as they are found, in bounded memory."""
        return self._phrases.iterate(ids)

    def count(self, ids: Ids) -> int:
        """Return how often the phrase is in ids."""
        return self._phrases.count(ids)[0]

    @cached_property
    def _phrases(self) -> "Phrases":
        return Phrases(self.tokenizer, (self.text,))

    @cached_property
    def _spelled(self) -> tuple[Sequences, tuple[int, ...], Sequences]:
        starts, core, ends = spell_phrase(self.tokenizer, self.text)
        return tuple(map(tuple, starts)), tuple(core), tuple(map(tuple, ends))


@dataclass(frozen=True, repr=False)
class Phrases:
    """Many phrases, which are found in one pass over ids."""

    tokenizer: "Tokenizer"
    texts: tuple[bytes, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without what was made ready."""
        return Phrases, (self.tokenizer, self.texts)

    def __repr__(self) -> str:
        """Show the first few."""
        shown = ", ".join(map(repr, self.texts[:SHOWN]))
        more = f", … {len(self.texts)} in all" if len(self.texts) > SHOWN else ""
        return f"Phrases([{shown}{more}])"

    def find_all(self, ids: Ids) -> list[Occurrence]:
        """Return where phrases are in ids, by their places."""
        return list(self.iterate(ids))

    def iterate(self, ids: Ids) -> Iterator[Occurrence]:
        """Yield the same as they are found, in bounded memory."""
        held: list[Occurrence] = []
        finder = self._finder_for(ids)
        for low, some, start, stop in self._blocks(ids):
            found = finder.find(some, start, stop)
            held += [Occurrence(low + first, low + end, *rest) for first, end, *rest in found]
            held.sort(key=_place)
            # What is yet to be found begins no further back: a token has a byte at least.
            settled = bisect_left(held, low + stop - self._longest, key=lambda each: each.first)
            yield from held[:settled]
            del held[:settled]
        yield from held

    def count(self, ids: Ids) -> list[int]:
        """Return how often each phrase is in ids."""
        counts = [0] * len(self.texts)
        finder = self._finder_for(ids)
        for _, some, start, stop in self._blocks(ids):
            found = finder.count(some, start, stop)
            counts = [one + more for one, more in zip(counts, found, strict=True)]
        return counts

    def _finder_for(self, ids: Ids) -> PhraseFinder:
        """Return what finds them, made by a sample of the first ids that are many."""
        if isinstance(ids, (str, bytes)) or not hasattr(ids, "__len__") or hasattr(ids, "tokens"):
            other = "give its tokens" if hasattr(ids, "tokens") else "encode a text first"
            raise TypeError(f"ids are an array or a list, not {_kind(ids)}; {other}")
        known = self._finders
        wanted = SAMPLES * SAMPLE_IDS
        if not known or (len(ids) > BLOCK_IDS and wanted > known[-1][0]):
            starts = range(0, len(ids), max(len(ids) // SAMPLES, SAMPLE_IDS))
            sample = [int(each) for at in starts for each in ids[at : at + SAMPLE_IDS]]
            numbers = [each for each in sample if 0 <= each < self.tokenizer.vocab_size]
            known.append((len(sample), PhraseFinder(self.tokenizer, self.texts, numbers)))
        return known[-1][1]

    @cached_property
    def _finders(self) -> list[tuple[int, PhraseFinder]]:
        return []

    @cached_property
    def _longest(self) -> int:
        return max(map(len, self.texts), default=0)

    def _blocks(self, ids: Ids) -> Iterator[tuple[int, Any, int, int]]:
        """Yield where a stretch of ids begins, the ids, and what of them is to be looked at."""
        for start in range(0, len(ids), BLOCK_IDS):
            low, stop = max(start - self._longest, 0), min(start + BLOCK_IDS, len(ids))
            yield low, _plain(ids[low : stop + self._longest]), start - low, stop - low


def _plain(ids: Ids) -> Any:  # noqa: ANN401 - an array, or what was given.
    """Return an array whose numbers are this machine's without words about their order."""
    dtype: Any = getattr(ids, "dtype", None)
    is_native = getattr(dtype, "isnative", False)  # Of numpy's; torch's say nothing.
    return ids.view(dtype.newbyteorder("=")) if is_native else ids  # type: ignore[union-attr]


def _place(each: Occurrence) -> tuple[int, int, int, int]:
    return each.first, each.offset, each.end, each.phrase


def _known(tokenizer: "Tokenizer") -> "Tokenizer":
    if not isinstance(tokenizer, Tokenizer):
        raise TypeError(f"tokenizer is a Tokenizer, not {_kind(tokenizer)}; zeton.load reads one")
    return tokenizer


def _kind(value: object) -> str:
    return type(value).__name__


def _checked(text: str | bytes) -> bytes:
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"a text is str or bytes, not {_kind(text)}")
    found = readable(text).encode() if isinstance(text, str) else bytes(text)
    if not found:
        raise SearchError("a needle is empty; give at least one character, byte or id")
    return found
