"""Images of tokenizers in the user's cache folder: one load makes an image, the next one maps it.

An image is derived from a `.zeton` file and holds the tables that the engine makes of its tokens.
Its name is the file's checksum and the engine's name, so it is never out of date. A missing or
damaged image, or another user's, is made again. If none can be written, loading is silent.
"""

import os
import re
import stat
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from zeton._engine import IMAGE_ENGINE, TokenizerCore, from_file, from_image, write_image

__all__ = ["PrivateFolder", "cache_folder", "from_content"]

CONTENT_BYTES_MIN = 1 << 17
"""Smaller files are read about as fast without an image."""

CONTENT_BYTES_MAX = 1 << 25
"""Larger files have images that would fill the folder."""

IMAGES_MAX = 16
IMAGES_BYTES_MAX = 1 << 29
"""Images that the folder holds at most, and their bytes: beyond, the oldest go."""

OTHERS_DAYS_MAX = 7
"""Days that images of other engines stay: two versions in use do not push each other out."""

LEFT_OVER_SECONDS = 3600
"""An image that has been in the making for so long was left by a process that was killed."""

SUFFIX = ".image"
_DAY = 24 * 3600

# Files with other names are never removed, in any folder.
_IMAGE = re.compile(r"[0-9a-f]{64}-.+\.image")
_IN_THE_MAKING = re.compile(r"\.[0-9a-f]{64}-.+\.image\.[0-9a-f]{16}\.tmp")
_POSIX = hasattr(os, "geteuid") and os.open in os.supports_dir_fd


def cache_folder() -> Path | None:
    """Return the folder of images, which ZETON_CACHE names, or None where there is none."""
    named = os.environ.get("ZETON_CACHE")
    if named in ("", "0", "off") or not _POSIX:
        return None
    if named is not None:
        return Path(os.path.expanduser(named))  # noqa: PTH111 - a user without a home stays.
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):  # noqa: PTH117 - a str; others are to be ignored.
        return Path(base, "zeton")
    home = os.path.expanduser("~")  # noqa: PTH111 - Path.home() raises where there is none.
    if not os.path.isabs(home) or not _is_ours(home):  # noqa: PTH117
        return None
    return Path(home, "Library/Caches" if sys.platform == "darwin" else ".cache", "zeton")


def _is_ours(folder: str) -> bool:
    """Tell whether a folder is this user's: in another's home, as under sudo, nothing is made."""
    try:
        return os.stat(folder).st_uid == os.geteuid()  # noqa: PTH116
    except (OSError, ValueError):
        return False


def from_content(content: bytes, *, keep: bool = True) -> TokenizerCore:
    """Read a `.zeton` file's content, from its image if there is one; if not, `keep` makes one."""
    sized = CONTENT_BYTES_MIN <= len(content) <= CONTENT_BYTES_MAX
    folder = PrivateFolder.open(cache_folder(), make=keep) if sized else None
    if folder is None:
        return from_file(content)
    with folder:
        name = f"{content[-32:].hex()}-{IMAGE_ENGINE}{SUFFIX}"
        if (image := folder.open_file(name)) is not None:
            try:
                if (engine := from_image(content, image)) is not None:
                    return engine
            finally:
                os.close(image)
        engine = from_file(content)
        if keep:
            with suppress(OSError):
                folder.write(name, lambda image: write_image(engine, content, image))
        return engine


class PrivateFolder:
    """A folder of images that belongs to the user, and to which no other user can write.

    The cards' images and the models of `zeton.accel` lie in folders of this class too.
    """

    def __init__(self, handle: int) -> None:
        """Take an open folder; `open` checks it first."""
        self._handle = handle

    @classmethod
    def open(cls, path: Path | None, *, make: bool) -> Self | None:
        """Open a folder, or return None if it is missing or another user can write to it."""
        if path is None:
            return None
        try:
            if make:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.mkdir(mode=0o700, exist_ok=True)
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except (OSError, ValueError):
            return None
        if _is_own(os.fstat(handle)):
            return cls(handle)
        os.close(handle)
        return None

    def __enter__(self) -> Self:
        """Use the folder until the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the folder."""
        os.close(self._handle)

    def open_file(self, name: str) -> int | None:
        """Open a file for reading, or return None: a link and another user's file do not count."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            file = os.open(name, flags, dir_fd=self._handle)
        except OSError:
            return None
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and _is_own(status):
            return file
        os.close(file)
        return None

    def write(self, name: str, write: Callable[[int], object]) -> None:
        """Let a file appear whole or not at all; `write` receives its descriptor.

        The file is not synced: its reader must find damage that a crash has done. Old files of
        the folder may be removed.
        """
        made = f".{name}.{os.urandom(8).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(made, flags, 0o600, dir_fd=self._handle)
        try:
            try:
                write(file)
            finally:
                os.close(file)
            os.rename(made, name, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except BaseException:
            with suppress(OSError):
                os.unlink(made, dir_fd=self._handle)
            raise
        self._tidy(name)

    def _tidy(self, new: str) -> None:
        """Remove remains of killed processes, images of other engines, and the oldest of too many.

        A process that has an image mapped keeps it.
        """
        now = time.time()
        images = []
        for name in os.listdir(self._handle):  # noqa: PTH208 - a descriptor has no path.
            try:
                status = os.stat(name, dir_fd=self._handle, follow_symlinks=False)
            except OSError:
                continue
            age = now - status.st_mtime
            if _IMAGE.fullmatch(name):
                # The new one first, for any state of the clocks.
                images.append((name != new, age, status.st_size, name))
            elif _IN_THE_MAKING.fullmatch(name) and age > LEFT_OVER_SECONDS:
                self._remove(name)
        size = 0
        for count, (old, age, image_bytes, name) in enumerate(sorted(images), 1):
            size += image_bytes
            ours = name.endswith(f"-{IMAGE_ENGINE}{SUFFIX}")
            many = count > IMAGES_MAX or size > IMAGES_BYTES_MAX
            if old and (many or (not ours and age > OTHERS_DAYS_MAX * _DAY)):
                self._remove(name)

    def _remove(self, name: str) -> None:
        with suppress(OSError):
            os.unlink(name, dir_fd=self._handle)


def _is_own(status: os.stat_result) -> bool:
    """Tell whether something belongs to the user and only the user can write to it."""
    others = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.geteuid() and not status.st_mode & others
