"""Byte pair encoding that prints every step, by `zeton.reference`. It needs the package `regex`."""
# ruff: noqa: T201 - it is here to print.

from pathlib import Path
from typing import TYPE_CHECKING

from zeton.errors import TrainError
from zeton.pattern.spec import plain_pattern
from zeton.reference import Vocab, join, merge_steps, read, split, train
from zeton.tiktoken.registry import get_encoding

if TYPE_CHECKING:
    import tiktoken

    from zeton.tiktoken.core import Encoding

__all__ = [
    "SimpleBytePairEncoding",
    "bpe_encode",
    "bpe_train",
    "train_simple_encoding",
    "visualise_tokens",
]

_COLOURS = [f"\x1b[48;5;{number}m" for number in (167, 179, 185, 77, 80, 68, 134)]
_RESET = "\x1b[0m"

_WORDS_SHOWN = 50
"""The number of words of the training data that are shown."""


class SimpleBytePairEncoding:
    """A tokenizer made of a pattern and ranks.

    `visualise` is "colour", "simple" for a list of the parts, or None to show nothing.

    >>> enc = SimpleBytePairEncoding(pat_str="(?s).+", mergeable_ranks={b"l": 0, b"o": 1, b"lo": 2})
    >>> enc.encode("lol", visualise="simple")
    [b'l', b'o', b'l']
    [b'lo', b'l']
    <BLANKLINE>
    [2, 0]
    >>> enc.decode([2, 0])
    'lol'
    """

    def __init__(self, *, pat_str: str, mergeable_ranks: dict[bytes, int]) -> None:
        """Make a tokenizer of a pattern and tokens with their ranks, which are also their ids."""
        self.pat_str = pat_str
        self.mergeable_ranks = mergeable_ranks
        self._token_of = {rank: token for token, rank in mergeable_ranks.items()}

    def encode(self, text: str, visualise: str | None = "colour") -> list[int]:
        """Split a text, then merge each of its words, and show the steps."""
        words = split(read(text), self.pat_str)
        return [
            token for word in words for token in bpe_encode(self.mergeable_ranks, word, visualise)
        ]

    def decode_bytes(self, tokens: list[int]) -> bytes:
        """Return the bytes of ids, which may end inside a character."""
        return b"".join(self.decode_tokens_bytes(tokens))

    def decode(self, tokens: list[int]) -> str:
        """Decode ids; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(tokens).decode(errors="replace")

    def decode_tokens_bytes(self, tokens: list[int]) -> list[bytes]:
        """Return the bytes of each id."""
        return [self._token_of[token] for token in tokens]

    @staticmethod
    def train(training_data: str, vocab_size: int, pat_str: str) -> "SimpleBytePairEncoding":
        """Train on a text, as `bpe_train` does."""
        ranks = bpe_train(training_data, vocab_size, pat_str)
        return SimpleBytePairEncoding(pat_str=pat_str, mergeable_ranks=ranks)

    @staticmethod
    def from_tiktoken(encoding: "str | Encoding | tiktoken.Encoding") -> "SimpleBytePairEncoding":
        """Copy the pattern and ranks of an encoding: zeton's, tiktoken's, or one given by name."""
        if isinstance(encoding, str):
            encoding = get_encoding(encoding)
        return SimpleBytePairEncoding(
            pat_str=plain_pattern(encoding._pat_str, "SimpleBytePairEncoding"),
            mergeable_ranks=encoding._mergeable_ranks,
        )


def bpe_encode(
    mergeable_ranks: dict[bytes, int],
    input: bytes,  # noqa: A002 - tiktoken's name for it.
    visualise: str | None = "colour",
) -> list[int]:
    """Merge one word, and show its parts at every step.

    Unlike `zeton.reference.merge`, it merges a word that is a token already, step by step.
    """
    for parts in merge_steps(input, mergeable_ranks):
        _show(parts, visualise)
    if visualise:
        print()
    return [mergeable_ranks[part] for part in parts]


def bpe_train(
    data: str, vocab_size: int, pat_str: str, visualise: str | None = "colour"
) -> dict[bytes, int]:
    """Train on a text, and show every merge with its effect on the first words.

    Of pairs with equal counts the smallest ids go first; tiktoken takes the pair it saw first.
    """
    if vocab_size < 256:
        raise TrainError(f"vocab_size is {vocab_size}; it must be at least 256, one per byte")
    ranks = train([data], vocab_size, pat_str)
    if len(ranks) < vocab_size:
        message = f"the text has pairs for {len(ranks)} tokens, not for {vocab_size}"
        raise TrainError(f"{message}; give more text or a smaller size")
    if visualise:
        _show_training(ranks, split(read(data), pat_str)[:_WORDS_SHOWN], visualise)
    return ranks


def visualise_tokens(token_values: list[bytes]) -> None:
    """Print tokens on alternating colours; an incomplete character shows as U+FFFD."""
    line, characters, last = "", 0, None
    for token in token_values:
        colour = characters % len(_COLOURS)
        if colour == last:
            colour = (colour + 1) % len(_COLOURS)
        text = token.decode(errors="replace")
        line += _COLOURS[colour] + text
        characters += len(text)
        last = colour
    print(line + _RESET)


def train_simple_encoding() -> SimpleBytePairEncoding:
    """Train 600 tokens on this source file, then encode "hello world", and show every step."""
    text = Path(__file__).read_text(encoding="utf-8")
    pattern = get_encoding("gpt2").tokenizer.pattern
    enc = SimpleBytePairEncoding.train(text, vocab_size=600, pat_str=pattern)
    print("This is how 'hello world' merges:")
    enc.encode("hello world")
    return enc


def _show(parts: list[bytes], visualise: str | None) -> None:
    if visualise in {"colour", "color"}:
        visualise_tokens(parts)
    elif visualise == "simple":
        print(parts)


def _show_training(ranks: Vocab, words: list[bytes], visualise: str) -> None:
    """Replay the merges on words; merging a token's own bytes ends with the pair that makes it."""
    tokens = list(ranks)
    words_ids = [list(word) for word in words]
    for token in tokens[256:]:
        *_, (left, right), _ = merge_steps(token, ranks)
        pair = ranks[left], ranks[right]
        words_ids = [join(ids, pair, ranks[token]) for ids in words_ids]
        print(f"{left!r} and {right!r} occur most often: {token!r} is token {ranks[token]}.")
        _show([tokens[number] for ids in words_ids for number in ids], visualise)
        print()
