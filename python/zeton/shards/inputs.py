"""The files of a corpus as shards know them, and the plan of the work on them."""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from zeton import corpus
from zeton.corpus.formats import JSON_LINES, format_of
from zeton.errors import ShardError, file_error
from zeton.work.files import is_inside

__all__ = ["Input", "Plan", "plan"]

UNIT_BYTES = 1 << 23
"""About how much of the corpus is one unit."""

LOOK_BYTES = 1 << 16
"""How much a fingerprint reads of every `UNIT_BYTES`."""


@dataclass(frozen=True)
class Input:
    """A file of the corpus."""

    path: str
    source: str
    """The argument that named it."""
    size: int
    fingerprint: str
    changed: int
    """Time of the last change, in nanoseconds. The manifest leaves it out."""


@dataclass(frozen=True)
class Plan:
    """All files, and all units in order."""

    inputs: list[Input]
    units: list[corpus.Unit]


def plan(
    paths: Iterable[corpus.AnyPath],
    cut: Callable[[bytes], int],
    leave_out: Path,
    *,
    are_chats: bool = False,
) -> Plan:
    """Plan the work on files, folders and globs, without the files in `leave_out`."""
    inputs: list[Input] = []
    for named in [paths] if isinstance(paths, (str, os.PathLike)) else paths:
        given = os.path.normpath(named) if os.fspath(named) else named  # `./a/` is `a`.
        if leave_out.is_dir() and Path(given).resolve() == leave_out.resolve():
            raise ShardError(f"{given} is both the corpus and the folder for shards; name another")
        for path in corpus.files([given]):
            if is_inside(path, leave_out):
                continue
            format_of(path).check(path)
            if are_chats and format_of(path) is not JSON_LINES:
                raise ShardError(
                    f"{path} is {format_of(path).name}; chats are {JSON_LINES.name}, "
                    f"in files named *{JSON_LINES.suffixes[0]}"
                )
            [(name, size, changed)] = corpus.identity([path])
            inputs.append(Input(name, os.fspath(given), size, fingerprint(path, size), changed))
    if not inputs:
        raise ShardError("there are no files to make shards of; give files or folders of text")
    files, sizes = [Path(entry.path) for entry in inputs], [entry.size for entry in inputs]
    return Plan(inputs, list(corpus.plan(files, sizes, UNIT_BYTES, cut)))


def fingerprint(path: Path, size: int) -> str:
    """Hash a file's size, its end, and 64 KiB at each 8 MiB, which tells most files apart."""
    digest = hashlib.blake2b(size.to_bytes(8, "little"), digest_size=16)
    try:
        with path.open("rb", buffering=0) as file:
            for at in [*range(0, size, UNIT_BYTES), max(size - LOOK_BYTES, 0)]:
                digest.update(os.pread(file.fileno(), LOOK_BYTES, at))
    except OSError as error:
        raise file_error(path, "read", error) from None
    return digest.hexdigest()
