"""Search for phrases in arrays of ids, without decoding them.

A phrase is found however its text was tokenized, also where a token crosses its ends: `cat` is
found inside the token ` concat`.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from zeton._engine import PhraseFinder, spell_phrase
from zeton.errors import SearchError
from zeton.text.fit import readable
from zeton.tokenizer import Tokenizer, require_tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from zeton.shards.reader import Tokens

__all__ = ["Occurrence", "Phrase", "Phrases", "phrase", "phrases"]

Ids: TypeAlias = "NDArray[Any] | Sequence[int] | Tokens"
"""Arrays and lists of ids; `shards.open(…).tokens` are read block by block."""

Sequences: TypeAlias = tuple[tuple[int, ...], ...]

BLOCK_IDS = 1 << 20
"""Ids that are searched in one call of the engine."""

SAMPLES, SAMPLE_IDS = 32, 512
"""The number of samples, and ids in each, for the frequencies of ids."""

SEQUENCES_MAX = 1 << 16
"""The largest number of sequences of a phrase."""

SHOWN = 3
"""Phrases that a repr shows."""


def phrase(text: str | bytes, *, tokenizer: "Tokenizer") -> "Phrase":
    """Return a search for a phrase in the ids of texts.

    >>> import zeton
    >>> tok = zeton.pretrained("cl100k_base")
    >>> ids = tok.encode("concatenate the cat")
    >>> [tuple(each) for each in phrase("cat", tokenizer=tok).find_all(ids)]
    [(0, 1, 3, 0), (3, 4, 1, 0)]
    """
    return Phrase(_check_tokenizer(tokenizer), _check_text(text))


def phrases(texts: Iterable[str | bytes], *, tokenizer: "Tokenizer") -> "Phrases":
    """Return a search for many phrases in one pass over the ids of texts."""
    if isinstance(texts, (str, bytes)):
        raise TypeError(f"texts must be a list, not one {_kind(texts)}")
    return Phrases(_check_tokenizer(tokenizer), tuple(map(_check_text, texts)))


class Occurrence(NamedTuple):
    """A range of ids that contains a phrase."""

    first: int
    """The index of the first id with bytes of the phrase."""
    end: int
    """The index after the last id with bytes of the phrase."""
    offset: int
    """The bytes of the first token before the phrase."""
    phrase: int = 0
    """The index of the phrase among several."""


@dataclass(frozen=True)
class Phrase:
    """A phrase as bytes, and the tokenizer of the ids."""

    tokenizer: "Tokenizer" = field(repr=False)
    text: bytes

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields, without the tables of the search."""
        return Phrase, (self.tokenizer, self.text)

    @cached_property
    def starts(self) -> Sequences:
        """The sequences before the core; the first id of each may begin before the phrase."""
        return self._spelled[0]

    @cached_property
    def core(self) -> tuple[int, ...]:
        """The ids that are equal in every text; empty for a short phrase."""
        return self._spelled[1]

    @cached_property
    def ends(self) -> Sequences:
        """The sequences after the core; the last id of each may end after the phrase."""
        return self._spelled[2]

    @cached_property
    def sequences(self) -> Sequences:
        """All sequences of ids that can spell the phrase in a longer text: starts, core and ends.

        Every text that contains the phrase has one of them there, special tokens aside. Some
        sequences may occur in no text.
        """
        count = len(self.starts) * len(self.ends)
        if count > SEQUENCES_MAX:
            raise SearchError(
                f"{self.text[:40]!r} has {count} sequences of ids; at most {SEQUENCES_MAX} are "
                "listed; use starts, core and ends, or search with find_all"
            )
        return tuple(
            sorted(start + self.core + end for start, end in product(self.starts, self.ends))
        )

    def find_all(self, ids: Ids) -> list[Occurrence]:
        """Return all occurrences of the phrase in ids, overlapping ones included.

        An occurrence is a range of ids whose bytes contain the phrase. Special tokens and numbers
        that are no ids have no bytes.
        """
        return list(self.iterate(ids))

    def iterate(self, ids: Ids) -> Iterator[Occurrence]:
        """Yield the occurrences of `find_all` one by one, in bounded memory."""
        return self._phrases.iterate(ids)

    def count(self, ids: Ids) -> int:
        """Return the number of occurrences of the phrase in ids."""
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
    """Many phrases, searched in one pass over ids."""

    tokenizer: "Tokenizer"
    texts: tuple[bytes, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields, without the tables of the search."""
        return Phrases, (self.tokenizer, self.texts)

    def __repr__(self) -> str:
        """Write the first phrases."""
        shown = ", ".join(map(repr, self.texts[:SHOWN]))
        more = f", … {len(self.texts)} in all" if len(self.texts) > SHOWN else ""
        return f"Phrases([{shown}{more}])"

    def find_all(self, ids: Ids) -> list[Occurrence]:
        """Return all occurrences of the phrases in ids, sorted by position."""
        return list(self.iterate(ids))

    def iterate(self, ids: Ids) -> Iterator[Occurrence]:
        """Yield the occurrences of `find_all` one by one, in bounded memory."""
        pending: list[Occurrence] = []
        finder = self._finder_for(ids)
        for low, some, start, stop in self._blocks(ids):
            found = finder.find(some, start, stop)
            pending += [Occurrence(low + first, low + end, *rest) for first, end, *rest in found]
            pending.sort(key=_position)
            # Later occurrences begin here or later, because a token has at least one byte.
            settled = bisect_left(pending, low + stop - self._longest, key=lambda each: each.first)
            yield from pending[:settled]
            del pending[:settled]
        yield from pending

    def count(self, ids: Ids) -> list[int]:
        """Return the number of occurrences of each phrase in ids."""
        counts = [0] * len(self.texts)
        finder = self._finder_for(ids)
        for _, some, start, stop in self._blocks(ids):
            found = finder.count(some, start, stop)
            counts = [one + more for one, more in zip(counts, found, strict=True)]
        return counts

    def _finder_for(self, ids: Ids) -> PhraseFinder:
        """Return the engine's finder; the first long array of ids tells it which ids are rare."""
        if isinstance(ids, (str, bytes)) or not hasattr(ids, "__len__") or hasattr(ids, "tokens"):
            other = "give its tokens" if hasattr(ids, "tokens") else "encode a text first"
            raise TypeError(f"ids must be an array or a list, not {_kind(ids)}; {other}")
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
        """Yield blocks of ids: the index of the first, the ids, and the range to search in them."""
        for start in range(0, len(ids), BLOCK_IDS):
            low, stop = max(start - self._longest, 0), min(start + BLOCK_IDS, len(ids))
            yield low, _plain(ids[low : stop + self._longest]), start - low, stop - low


def _plain(ids: Ids) -> Any:  # noqa: ANN401 - an array or a list.
    """Return an array without the mark of its byte order, if the order is this machine's."""
    dtype: Any = getattr(ids, "dtype", None)
    is_native = getattr(dtype, "isnative", False)  # Only NumPy's dtypes have it.
    return ids.view(dtype.newbyteorder("=")) if is_native else ids  # type: ignore[union-attr]


def _position(each: Occurrence) -> tuple[int, int, int, int]:
    return each.first, each.offset, each.end, each.phrase


def _check_tokenizer(tokenizer: "Tokenizer") -> "Tokenizer":
    return require_tokenizer(tokenizer, "a search in ids")


def _kind(value: object) -> str:
    return type(value).__name__


def _check_text(text: str | bytes) -> bytes:
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"a text must be str or bytes, not {_kind(text)}")
    found = readable(text).encode() if isinstance(text, str) else bytes(text)
    if not found:
        raise SearchError("a needle is empty; give at least one character, byte or id")
    return found
