"""Files of text become files of ids, and files of ids become text, a few megabytes at a time.

A file of ids is a `.npy` array, or bare little-endian numbers of 16 or 32 bits.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from zeton.corpus.formats import chunks
from zeton.errors import ArgumentError, FileError, FormatError, file_error
from zeton.suggest import did_you_mean
from zeton.text.fit import AllowedSpecial
from zeton.work.files import require_path, write_whole_by
from zeton.work.npy_file import Dtype, dtype_of, header, read_header

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zeton.text_encoder import TextEncoder
    from zeton.tokenizer import Tokenizer

__all__ = ["decode_file", "encode_file", "read_ids", "write_ids"]

READ_BYTES = 1 << 23
"""Bytes of text that are read at a time."""

READ_IDS = 1 << 20
"""Ids that are read at a time."""


def encode_file(
    tokenizer: "Tokenizer",
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    dtype: Dtype | None,
    allowed_special: AllowedSpecial,
    threads: int | None,
) -> int:
    """Encode a file, compressed or not, into a file of ids; return the number of ids."""
    _refuse_same(require_path(source), require_path(target))
    ids = _ids_of(tokenizer, require_path(source), allowed_special, threads)
    return write_ids(tokenizer, ids, target, dtype=dtype)


def write_ids(
    tokenizer: "TextEncoder",
    ids: "Iterable[NDArray[np.uint32]]",
    target: str | os.PathLike[str],
    *,
    dtype: Dtype | None,
) -> int:
    """Write arrays of ids into one file, `.npy` or bare; return how many ids there are."""
    numbers = _checked(tokenizer, dtype)
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        for each in ids:
            file.write(each.astype(numbers, copy=False).data)
            count += len(each)

    _write(require_path(target), write, lambda: header(count, numbers.str))
    return count


def decode_file(
    tokenizer: "TextEncoder",
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    *,
    dtype: Dtype | None,
) -> int:
    """Decode a file of ids into a file of text; return the number of bytes."""
    _refuse_same(require_path(source), require_path(target))
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        for ids in read_ids(tokenizer, source, dtype=dtype):
            text = tokenizer.decode_bytes(ids)
            file.write(text)
            count += len(text)

    _write(require_path(target), write, None)
    return count


def _ids_of(
    tokenizer: "Tokenizer",
    source: Path,
    allowed_special: AllowedSpecial,
    threads: int | None,
) -> "Iterator[NDArray[np.uint32]]":
    import numpy as np  # noqa: PLC0415 - numpy waits until it is needed.

    encoder = tokenizer.encoder(allowed_special=allowed_special)
    for chunk in chunks(source, 0, READ_BYTES):
        yield encoder.push_array(chunk, threads)
    yield np.array(encoder.finish(), dtype=np.uint32)


def read_ids(
    tokenizer: "TextEncoder", source: str | os.PathLike[str], *, dtype: Dtype | None
) -> "Iterator[NDArray[Any]]":
    """Read a file of ids, `.npy` or bare, a few megabytes at a time."""
    return _ids_in(require_path(source), _checked(tokenizer, dtype))


def _ids_in(source: Path, dtype: "np.dtype[Any]") -> "Iterator[NDArray[Any]]":
    """Yield the ids of a file: a `.npy` array names its type, any other file is bare numbers."""
    import numpy as np  # noqa: PLC0415

    try:
        start = 0
        if source.suffix == ".npy":
            dtype, _, start = read_header(source)
        with source.open("rb") as file:
            file.seek(start)
            while content := file.read(READ_IDS * dtype.itemsize):
                if len(content) % dtype.itemsize:
                    raise FormatError(
                        f"{source} ends inside a number of type {dtype}; it is cut off, or its "
                        "numbers have another dtype"
                    )
                yield np.frombuffer(content, dtype=dtype)
    except OSError as error:
        raise file_error(source, "read", error) from None


def _checked(tokenizer: "TextEncoder", dtype: Dtype | None) -> "np.dtype[Any]":
    """Return the type of the numbers in a file, little-endian, with room for every id."""
    import numpy as np  # noqa: PLC0415

    smallest = dtype_of(tokenizer.vocab_size)
    if dtype not in (None, "uint16", "uint32"):
        hint = did_you_mean(dtype, ("uint16", "uint32"))
        raise ArgumentError(f"dtype={dtype!r} is unknown{hint}")
    if (dtype or smallest) == "uint16" and smallest != "uint16":
        raise ArgumentError(
            f"ids up to {tokenizer.vocab_size - 1} do not fit uint16; give dtype='uint32'"
        )
    return np.dtype(dtype or smallest).newbyteorder("<")


def _refuse_same(source: Path, target: Path) -> None:
    if target.exists() and source.exists() and target.samefile(source):
        raise FileError(f"{source} is both source and target; give another target")


def _write(
    target: Path, write: Callable[[BinaryIO], None], head: Callable[[], bytes] | None
) -> None:
    """Write a file that appears whole or not at all; its header is written last."""
    has_header = head is not None and target.suffix == ".npy"

    def write_to(name: Path) -> None:
        with name.open("wb") as file:
            if has_header and head is not None:
                file.write(head())
            write(file)
            if has_header and head is not None:
                file.seek(0)
                file.write(head())
            file.flush()
            os.fsync(file.fileno())

    write_whole_by(target, write_to)
