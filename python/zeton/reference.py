"""Byte pair encoding, in the order the data flows. This file is the specification.

    text   --split-->  pieces  --merge-->  ids  --decode-->  text
    corpus --count-->  counts  --learn-->  vocabulary

It is slow on purpose: every faster engine is tested against it, and it imports none of them.
It needs `regex==2025.7.34`, which has the character classes of Unicode 16.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise, zip_longest
from typing import TypeAlias

import regex

Vocab: TypeAlias = dict[bytes, int]
"""Token bytes -> id, which is also the rank: the lower, the earlier it merges."""

PATTERN = (  # nanochat's: contractions, words, numbers, punctuation, white space.
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]++[\r\n]*"
    r"|\s*[\r\n]|\s+(?!\S)|\s+"
)


def encode(
    text: str | bytes, vocab: Vocab, pattern: str = PATTERN, specials: dict[str, int] | None = None
) -> list[int]:
    """Encode text: cut the allowed specials out, split the rest, merge each piece on its own."""
    ids: list[int] = []
    for segment, special in cut_specials(read(text), specials or {}):
        for piece in split(segment, pattern):
            ids += merge(piece, vocab)
        ids += special
    return ids


def cut_specials(text: str, specials: dict[str, int]) -> Iterator[tuple[str, list[int]]]:
    """Yield each segment between specials, with the id of the special after it, if there is one.

    >>> list(cut_specials("a<|end|>b", {"<|end|>": 300}))
    [('a', [300]), ('b', [])]
    """
    longest_first = "|".join(map(regex.escape, sorted(specials, key=len, reverse=True)))
    parts = regex.split(f"({longest_first})", text) if specials else [text]
    for segment, name in zip_longest(parts[::2], parts[1::2]):
        yield segment, [] if name is None else [specials[name]]


def read(text: str | bytes) -> str:
    r"""Read text as characters, losing nothing: a byte that is not UTF-8 is a character too.

    The byte becomes a lone surrogate, by Python's surrogateescape. Surrogates that a str already
    has are read as tiktoken reads them: pairs join, the rest becomes U+FFFD.

    >>> read(b"caf\xc3\xa9 \xff")
    'café \udcff'
    """
    if isinstance(text, bytes):
        return text.decode("utf-8", "surrogateescape")
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def split(text: str, pattern: str = PATTERN) -> list[bytes]:
    """Cut text into pieces that no merge may cross. Joined, the pieces are the text.

    >>> split("I'm 42, right?")
    [b'I', b"'m", b' ', b'42', b',', b' right', b'?']
    """
    shown = regex.sub("[\udc80-\udcff]", "\ufffd", text)  # A byte that is not UTF-8: punctuation.
    spans = [match.span() for match in regex.finditer(pattern, shown) if match.group()]
    if [0, *(end for _, end in spans)] != [*(start for start, _ in spans), len(text)]:
        raise ValueError(f"pattern {pattern!r} drops part of the text; a pattern must cover all")
    return [text[start:end].encode("utf-8", "surrogateescape") for start, end in spans]


def merge(piece: bytes, vocab: Vocab) -> list[int]:
    """Join the lowest-ranked adjacent pair, leftmost first, until no pair is a token.

    A piece that is a token is taken whole: some vocabularies hold tokens that no merge reaches.
    """
    parts = [piece] if piece in vocab else deque(merge_steps(piece, vocab), maxlen=1).pop()
    return [vocab[part] for part in parts]


def merge_steps(piece: bytes, vocab: Vocab) -> Iterator[list[bytes]]:
    """Yield the parts of a piece: its bytes at first, then the parts after each join.

    >>> list(merge_steps(b"lolo", {b"l": 0, b"o": 1, b"lo": 2}))
    [[b'l', b'o', b'l', b'o'], [b'lo', b'l', b'o'], [b'lo', b'lo']]
    """
    parts = [bytes([byte]) for byte in piece]
    while True:
        yield parts
        ranks = [(vocab[a + b], i) for i, (a, b) in enumerate(pairwise(parts)) if a + b in vocab]
        if not ranks:
            return
        _, i = min(ranks)
        parts = [*parts[:i], parts[i] + parts[i + 1], *parts[i + 2 :]]


def decode(ids: Iterable[int], vocab: Vocab, specials: dict[str, int] | None = None) -> bytes:
    """Join the bytes of each id. The bytes are UTF-8 if the text was and no id is missing."""
    token_of = {token_id: name.encode() for name, token_id in (specials or {}).items()}
    token_of |= {token_id: token for token, token_id in vocab.items()}
    return b"".join(token_of[token_id] for token_id in ids)


def train(corpus: Iterable[str | bytes], vocab_size: int, pattern: str = PATTERN) -> Vocab:
    """Train: count the pieces of the corpus, then learn merges from the counts."""
    return learn(count(corpus, pattern), vocab_size)


def count(corpus: Iterable[str | bytes], pattern: str = PATTERN) -> Counter[bytes]:
    """Count every distinct piece. After this, training never looks at the corpus again."""
    return Counter(piece for text in corpus for piece in split(read(text), pattern))


def learn(counts: Mapping[bytes, int], vocab_size: int) -> Vocab:
    """Make the most frequent adjacent pair a token, over and over, until the size is reached.

    Of equal counts the smallest pair of ids goes first, so the order of texts does not matter.
    """
    vocab: Vocab = {bytes([byte]): byte for byte in range(256)}
    words = {piece: list(piece) for piece in counts}  # A piece as ids, at first its bytes.
    token_of = list(vocab)
    while len(vocab) < vocab_size:
        pairs: Counter[tuple[int, int]] = Counter()
        for piece, ids in words.items():
            for pair in pairwise(ids):
                pairs[pair] += counts[piece]
        if not pairs:  # Every piece is one token.
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        token_of.append(token_of[best[0]] + token_of[best[1]])
        vocab[token_of[-1]] = len(vocab)
        words = {piece: join(ids, best, len(vocab) - 1) for piece, ids in words.items()}
    return vocab


def join(ids: list[int], pair: tuple[int, int], joined: int) -> list[int]:
    """Replace every occurrence of a pair by the id `joined`, left to right.

    >>> join([1, 1, 1, 2], (1, 1), 9)
    [9, 1, 2]
    """
    result = ids[:1]
    for token_id in ids[1:]:
        result[-1:] = [joined] if (result[-1], token_id) == pair else [result[-1], token_id]
    return result
