"""Images of cards in the user's cache folder, like those of tokenizers.

An image has the name of what it was made of, and ends with its own checksum.
"""

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from zeton._engine import IMAGE_ENGINE
from zeton.accel.configuration import Configuration
from zeton.accel.tables.image import LAYOUT, image_of, transducer_of
from zeton.work.cache_folder import SUFFIX, _is_own, _open_folder, _tidy, cache_folder

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["folder_for", "kept_image"]

CHECKSUM_BYTES = 32


def kept_image(tokenizer: "Tokenizer", configuration: Configuration) -> bytes:
    """Return the image of a tokenizer, from the folder if it is there; if not, it is kept there."""
    transducer_of(tokenizer)  # Refuses what has no file either.
    path = folder_for("cards")
    folder = _open_folder(path, make=True) if path else None
    if folder is None:
        return image_of(tokenizer, configuration)
    try:
        name = _name(tokenizer, configuration)
        image = _read(folder, name)
        if image is None:
            image = image_of(tokenizer, configuration)
            with suppress(OSError):
                _write(folder, name, image)
        return image
    finally:
        os.close(folder)


def folder_for(what: str) -> Path | None:
    """Return a folder within the user's cache folder; what is there takes no place of its images.

    None where there is none, or what is there is not the user's own.
    """
    path = cache_folder()
    folder = _open_folder(path, make=True) if path else None
    if path is None or folder is None:
        return None
    os.close(folder)
    return path / what


def _name(tokenizer: "Tokenizer", configuration: Configuration) -> str:
    """Name an image by the tokenizer's file, what shapes the tables, their layout, and the engine.

    Classes, transducer and merges are the engine's: another one may have others.
    """
    shape = (configuration.id_bits, configuration.bank_bits, configuration.bridge_bits)
    made_of = repr((tokenizer.digest, LAYOUT, shape)).encode()
    return f"{hashlib.sha256(made_of).hexdigest()}-{IMAGE_ENGINE}{SUFFIX}"


def _read(folder: int, name: str) -> bytes | None:
    """Read an image that is a whole file of the user's own, and no link to one."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with open(os.open(name, flags, dir_fd=folder), "rb") as file:  # noqa: PTH123 - opened above.
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _is_own(status):
                return None
            content = file.read()
            os.utime(file.fileno())  # It is used: others go first.
    except OSError:
        return None
    image, checksum = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    return image if hashlib.sha256(image).digest() == checksum else None


def _write(folder: int, name: str, image: bytes) -> None:
    """Write an image that appears whole or not at all."""
    made = f".{name}.{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(made, flags, 0o600, dir_fd=folder), "wb") as file:  # noqa: PTH123
            file.write(image)
            file.write(hashlib.sha256(image).digest())
        os.rename(made, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(made, dir_fd=folder)
        raise
    _tidy(folder, name)
