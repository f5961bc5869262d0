"""Files read and written whole: bounded on the way in, all or nothing on the way out."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from zeton.errors import ArgumentTypeError, Error, FileError, file_error

try:
    import fcntl
except ImportError:  # There is none on Windows; there, remains of a killed process stay.
    fcntl = None  # type: ignore[assignment]

__all__ = ["is_inside", "read_whole", "require_path", "try_lock", "write_whole", "write_whole_by"]


AT_ONCE = 1 << 20
"""Bytes that are read at once where a file does not say how many it has."""


def require_path(path: str | os.PathLike[str]) -> Path:
    """Return a path that is not empty: an empty one would be the current folder."""
    if not isinstance(path, (str, os.PathLike)):
        raise ArgumentTypeError(f"a path is a str or a Path, not {type(path).__name__}")
    if not os.fspath(path):
        raise FileError("the path is empty; give a file or a folder")
    return Path(path)


def is_inside(path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> bool:
    """Return whether a path lies in a folder; `..` and links are followed.

    >>> is_inside("a/../b/c", "b"), is_inside("b", "b"), is_inside("bc", "b")
    (True, False, False)
    """
    return Path(folder).resolve() in Path(path).resolve().parents


def read_whole(path: Path, bytes_max: int) -> bytes:
    """Read a file, and refuse one with more than so many bytes before it fills the memory."""
    try:
        with path.open("rb") as file:
            # `read` allocates its argument: first the size of the file, then the rest of
            # a pipe, or of a file that has grown.
            parts = [file.read(min(os.fstat(file.fileno()).st_size, bytes_max) + 1)]
            room = bytes_max + 1 - len(parts[0])
            while room and (more := file.read(min(room, AT_ONCE))):
                parts.append(more)
                room -= len(more)
            content = b"".join(parts)
    except (OSError, ValueError) as error:
        raise file_error(path, "read", error) from None
    if len(content) > bytes_max:
        raise FileError(f"{path} is larger than {bytes_max} bytes, as none of its kind is")
    return content


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that appears whole or not at all."""

    def write(name: Path) -> None:
        with name.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    write_whole_by(path, write)


def write_whole_by(path: Path, write: Callable[[Path], None]) -> None:
    """Let a file appear whole or not at all: `write` writes it under another name, and to the disk.

    A link stays, and its target is written. Temporary files of killed writers are removed.
    """
    try:
        path = path.resolve()
        _remove_stale(path)
        with _temporary(path) as name:
            write(name)
            name.replace(path)
        _sync_folder(path.parent)
    except (OSError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise file_error(path, "written", error) from None


def try_lock(handle: int) -> bool:
    """Lock a file until it is closed or the process ends; return False if another one has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """Make an empty file beside a path, held while it is in use, and removed if it is there yet."""
    name = path.with_name(f".{path.name}.{os.urandom(8).hex()}.tmp")
    handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    if fcntl is None:
        os.close(handle)  # An open file cannot be renamed.
    else:
        try_lock(handle)  # Where the system has no locks, nothing is taken for stale either.
    try:
        yield name
    finally:
        name.unlink(missing_ok=True)
        if fcntl is not None:
            os.close(handle)


def _remove_stale(path: Path) -> None:
    """Remove unlocked temporary files of this very file: their writers were killed."""
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}\.tmp")
    if fcntl is None:
        return
    with suppress(OSError):  # A file that stays does no harm.
        for file in [file for file in path.parent.iterdir() if ours.fullmatch(file.name)]:
            handle = os.open(file, os.O_RDWR)
            try:
                if try_lock(handle):
                    file.unlink(missing_ok=True)
            finally:
                os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
