"""An array of numpy's, which `numpy.load(…, mmap_mode="r")` maps."""

from zeton.shards.formats.format import Format

__all__ = ["NPY", "npy_header"]

HEADER_BYTES = 128


class Npy(Format):
    """Ids after numpy's header."""

    suffix = ".npy"
    header_bytes = HEADER_BYTES

    def header(self, count: int, dtype: str) -> bytes:
        """Return the header, of one length whatever the count: it is known when all is written."""
        return npy_header(count, dtype)


def npy_header(count: int, dtype: str) -> bytes:
    """Return the 128 bytes before an array of one dimension.

    >>> npy_header(3, "<u2")[10:70]
    b"{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }   "
    """
    said = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({count},), }}"
    size = HEADER_BYTES - 10
    return b"\x93NUMPY\x01\x00" + size.to_bytes(2, "little") + said.ljust(size - 1).encode() + b"\n"


NPY = Npy()
