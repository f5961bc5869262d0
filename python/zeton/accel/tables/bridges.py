"""The table of bridges: one bit for each hashed border between two characters.

A bit is 1 if some token spans the border; for example, the token `né` spans the border between `n`
and `é`. No merge crosses a border with a 0 bit, so a piece is cut there into parts that merge
alone; the proof is in `crates/zeton/src/merge/char_bridges.rs`. A hash collision sets a bit
needlessly, which makes a part longer and never changes ids.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from zeton.accel.tables.hashes import OF_BYTES, OF_CHARACTERS, hash_many

__all__ = ["POINT_BITS", "make_bridges", "read_character"]

POINT_BITS = 21


def make_bridges(tokens: Iterable[bytes], bits: int) -> NDArray[np.uint8]:
    """Return 2**bits bits, with a 1 for each border inside a token."""
    whole, partial = set[int](), set[int]()
    for token in tokens:
        if token.isascii():
            continue
        try:
            points = [*map(ord, token.decode())]
        except UnicodeDecodeError:
            for at in _borders(token):
                left, right = _character_before(token, at), read_character(token, at)
                if left is None or right is None:
                    partial.add(token[at - 1] << 8 | token[at])
                else:
                    whole.add(left << POINT_BITS | right[0])
        else:
            whole.update(
                left << POINT_BITS | right
                for left, right in pairwise(points)
                if left | right >= 0x80
            )
    table = np.zeros(1 << bits, dtype=np.uint8)
    for function, keys, key_bits in (
        (OF_CHARACTERS, whole, 2 * POINT_BITS),
        (OF_BYTES, partial, 16),
    ):
        values = np.array(sorted(keys), dtype=np.uint64)
        table[hash_many(function, bits, values, key_bits)] = 1
    return table


def read_character(text: bytes, at: int) -> tuple[int, int] | None:
    r"""Return the code point that begins at a byte and its length, or None if it is invalid.

    >>> read_character(b"a\xc3\xa9", 1)
    (233, 2)
    >>> read_character(b"\xed\xa0\x80", 0) is None
    True
    """
    first = text[at]
    length = 1 if first < 0x80 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        return ord(text[at : at + length].decode()), length
    except UnicodeDecodeError:
        return None


def _borders(token: bytes) -> Iterator[int]:
    """Yield the character borders inside a token that have a byte beyond ASCII beside them."""
    for at in range(1, len(token)):
        if token[at] >= 0xC0 or (token[at] < 0x80 <= token[at - 1]):
            yield at


def _character_before(token: bytes, at: int) -> int | None:
    """Return the character that ends before a byte, or None if it is incomplete."""
    for start in range(at - 1, max(at - 5, -1), -1):
        if token[start] & 0xC0 != 0x80:
            read = read_character(token, start)
            return read[0] if read is not None and start + read[1] == at else None
    return None
