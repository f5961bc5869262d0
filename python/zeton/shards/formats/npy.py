"""An array of numpy's, which `numpy.load(…, mmap_mode="r")` maps."""

from zeton.shards.formats.format import Format
from zeton.work.npy_file import HEADER_BYTES, header

__all__ = ["NPY"]


class Npy(Format):
    """Ids after numpy's header."""

    suffix = ".npy"
    header_bytes = HEADER_BYTES

    def header(self, count: int, dtype: str) -> bytes:
        """Return the header, of one length for any count, because the count is known last."""
        return header(count, dtype)


NPY = Npy()
