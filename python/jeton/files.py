"""Files read and written whole: bounded on the way in, all or nothing on the way out."""

import os
from collections.abc import Callable
from pathlib import Path

from jeton.errors import Error, FileError, file_error

__all__ = ["given", "read_whole", "write_whole", "write_whole_by"]


def given(path: str | os.PathLike[str]) -> Path:
    """Return a path that is not empty: an empty one would be the current folder."""
    if not os.fspath(path):
        raise FileError("the path is empty; give a file or a folder")
    return Path(path)


def read_whole(path: Path, bytes_max: int) -> bytes:
    """Read a file, and refuse one with more than so many bytes before it fills the memory."""
    try:
        with path.open("rb") as file:
            content = file.read(bytes_max + 1)
    except (OSError, ValueError) as error:
        raise file_error(path, "read", error) from None
    if len(content) > bytes_max:
        raise FileError(f"{path} is larger than {bytes_max} bytes, as no tokenizer is")
    return content


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""

    def write(name: Path) -> None:
        with name.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    write_whole_by(path, write)


def write_whole_by(path: Path, write: Callable[[Path], None]) -> None:
    """Let a file appear whole or not at all: `write` writes it under another name, and to the disk.

    A link stays, and the file that it leads to is written.
    """
    try:
        path = path.resolve()
        name = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
        try:
            write(name)
            name.replace(path)
        except BaseException:
            name.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except (OSError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise file_error(path, "written", error) from None


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
