"""The linear hash functions of the card's tables, identical to `rtl/hash.sv`.

Bit i of function h is the parity of the input AND `row(h, i)`. Functions 0 to 3 serve the banks of
pairs. Functions 8 and 9 serve bridges: 8 hashes two characters, 9 two bytes.
"""

from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["OF_BYTES", "OF_CHARACTERS", "hash_many", "hash_one", "row"]

OF_CHARACTERS, OF_BYTES = 8, 9

_MASK = (1 << 64) - 1


@cache
def row(function: int, bit: int) -> int:
    """Return a row of 64 pseudo-random bits; an input of n bits uses the n lowest.

    >>> hex(row(0, 0))
    '0x64f0eeb9026e6076'
    """
    x = 0x9E3779B97F4A7C15 * (256 * function + bit + 1) & _MASK
    for _ in range(2):
        x ^= x << 13 & _MASK
        x ^= x >> 7
        x ^= x << 17 & _MASK
    return x


@lru_cache(maxsize=1 << 18)
def hash_one(function: int, bits: int, value: int) -> int:
    """Return the lowest `bits` bits of a hash function of one value."""
    return sum(((value & row(function, bit)).bit_count() & 1) << bit for bit in range(bits))


def hash_many(
    function: int, bits: int, values: NDArray[np.uint64], value_bits: int
) -> NDArray[np.uint64]:
    """Return `hash_one` of many values, each of `value_bits` bits.

    >>> hash_many(8, 16, np.array([5, 7], np.uint64), 3).tolist() == [
    ...     hash_one(8, 16, 5), hash_one(8, 16, 7)
    ... ]
    True
    """
    hashed = np.zeros_like(values)
    for at in range(value_bits):
        column = sum((row(function, bit) >> at & 1) << bit for bit in range(bits))
        hashed ^= (values >> np.uint64(at) & np.uint64(1)) * np.uint64(column)
    return hashed
