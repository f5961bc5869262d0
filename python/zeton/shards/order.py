"""An order of texts by a seed: the same everywhere and always, with any version of NumPy."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["permutation"]

STEP = 0x9E3779B97F4A7C15
BITS = 2**64 - 1


def permutation(count: int, seed: int, stream: int = 0) -> NDArray[np.int64]:
    """Return the numbers below `count`, sorted by SplitMix64's output for each; ties by number.

    >>> permutation(6, seed=1).tolist(), permutation(6, seed=2).tolist()
    ([0, 4, 3, 2, 1, 5], [1, 2, 3, 5, 0, 4])
    """
    start = _mix_one(seed ^ _mix_one(stream))
    keys = np.arange(1, count + 1, dtype=np.uint64)
    keys *= np.uint64(STEP)
    keys += np.uint64(start)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    return np.argsort(keys, kind="stable").astype(np.int64, copy=False)


def _mix_one(value: int) -> int:
    """Return SplitMix64's output for one state, in Python's own integers."""
    value = (value + STEP) & BITS
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & BITS
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & BITS
    return value ^ (value >> 31)
