"""rustbpe's API on zeton's engine: change `import rustbpe` to `import zeton.rustbpe as rustbpe`.

Merges, ids and names equal rustbpe 0.1.0; docs/rustbpe.md lists the differences.
"""

from collections.abc import Iterable

from zeton._compat import check_buffer_size, str_of, strs_of
from zeton.errors import IdError
from zeton.tokenizer import Tokenizer as _Tokenizer
from zeton.training.count import count_corpus
from zeton.training.learn import learn

__all__ = ["Tokenizer"]

_PATTERN = (  # rustbpe's default: numbers by three digits.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)


class Tokenizer:
    """A tokenizer that is trained in place. Before training its tokens are the 256 bytes.

    >>> tok = Tokenizer()
    >>> tok.train_from_iterator(["low lower lowest"], vocab_size=258)
    >>> tok.encode("low"), tok.decode([257])
    ([257], 'low')
    """

    def __init__(self) -> None:
        """Make a tokenizer without merges."""
        self.tokenizer = _Tokenizer({bytes([byte]): byte for byte in range(256)})
        self._pattern = ""

    def train_from_iterator(
        self,
        iterator: Iterable[str],
        vocab_size: int,
        buffer_size: int = 8192,
        pattern: str | None = None,
    ) -> None:
        """Train on an iterator of texts, until there are `vocab_size` tokens."""
        check_buffer_size(buffer_size)
        chosen = _PATTERN if pattern is None else pattern
        counts = count_corpus(strs_of(iterator), pattern=chosen)
        self.tokenizer = learn(counts, vocab_size=vocab_size)
        self._pattern = chosen

    def encode(self, text: str) -> list[int]:
        """Encode a text."""
        return self.tokenizer.encode(str_of(text))

    def batch_encode(self, texts: list[str]) -> list[list[int]]:
        """Encode many texts, on all cores."""
        return self.tokenizer.encode_batch(strs_of(texts))

    def decode(self, ids: list[int]) -> str:
        """Decode ids; bytes that are not UTF-8 raise a UnicodeDecodeError."""
        numbers = list(ids)
        try:
            return self.tokenizer.decode(numbers, errors="strict")
        except IdError:
            unknown = next(number for number in numbers if not 0 <= number < self.vocab_size)
            raise IdError(f"Unknown token id: {unknown}") from None

    @property
    def vocab_size(self) -> int:
        """The number of tokens: the 256 bytes and the merges."""
        return self.tokenizer.vocab_size

    def get_pattern(self) -> str:
        """Return the pattern of the last training, or an empty string before the first."""
        return self._pattern

    def get_mergeable_ranks(self) -> list[tuple[bytes, int]]:
        """Return every token with its rank, sorted by rank."""
        return list(self.tokenizer.ranks().items())
