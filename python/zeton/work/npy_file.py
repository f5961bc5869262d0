"""Files of numbers as NumPy has them: the header of `.npy`, and the type that ids are stored in."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from zeton.errors import FormatError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["HEADER_BYTES", "Dtype", "dtype_of", "header", "read_header"]

Dtype: TypeAlias = Literal["uint16", "uint32"]

HEADER_BYTES = 128
"""The length of every header that is written, for any count."""


def dtype_of(vocab_size: int) -> Dtype:
    """Return the type that ids are stored in: uint16 if every id fits.

    >>> dtype_of(65536), dtype_of(65537)
    ('uint16', 'uint32')
    """
    return "uint16" if vocab_size <= 1 << 16 else "uint32"


def header(count: int, dtype: str) -> bytes:
    """Return the 128 bytes before an array of one dimension.

    >>> header(3, "<u2")[10:70]
    b"{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }   "
    """
    text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}"
    size = HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + text.ljust(size - 1).encode() + b"\n"


def read_header(path: Path) -> "tuple[np.dtype[Any], int, int]":
    """Return the type and number of the ids in a `.npy` file, and the byte at which they start."""
    from numpy.lib import format as npy  # noqa: PLC0415 - numpy waits until it is needed.

    with path.open("rb") as file:
        try:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(file)
        except ValueError as error:
            raise FormatError(f"{path} is no NumPy array: {error}") from None
        start = file.tell()
    if len(shape) != 1 or dtype.kind not in "ui":
        raise FormatError(f"{path} holds {dtype} of shape {shape}; ids are a row of whole numbers")
    there = (path.stat().st_size - start) / dtype.itemsize
    if there != shape[0]:
        raise FormatError(f"{path} has {there:g} ids where it says {shape[0]}; it is damaged")
    return dtype, shape[0], start
