"""Paths, folders and globs become the files of a corpus, with size, time and weight of each."""

import glob
import os
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from os import PathLike
from pathlib import Path
from typing import NoReturn, TypeAlias

from zeton.corpus.formats import chunks, format_of, is_plain
from zeton.errors import ArgumentTypeError, CorpusError, FileError, MissingFileError, file_error
from zeton.plural import counted
from zeton.suggest import nearest

AnyPath: TypeAlias = str | PathLike[str]


def standard_library() -> list[Path]:
    """Return the sources of the standard library: real text on every machine."""
    folder = Path(sysconfig.get_path("stdlib"))
    packages = {"site-packages", "dist-packages"}
    return sorted(path for path in folder.rglob("*.py") if not packages & set(path.parts))


def files(paths: Iterable[AnyPath]) -> list[Path]:
    """Return the files that paths stand for, in the order of the paths, each as often as given.

    A folder stands for the files in it, sorted, hidden and binary ones left out; a glob for the
    files and folders that it matches, sorted, each file once. A path that exists is no glob.
    """
    found: list[Path] = []
    for given in [paths] if isinstance(paths, (str, PathLike)) else paths:
        if not os.fspath(given):
            raise FileError("a path is empty; give files or folders of text")
        path = Path(given)
        if path.exists() or not glob.has_magic(str(path)):
            found += _files_of(path)
            continue
        matches = glob.glob(str(path), recursive=True)  # noqa: PTH207 - it may be absolute.
        if not matches:
            raise MissingFileError(f"{path} matches no file; give files or folders of text")
        found += sorted({file for match in matches for file in _files_of(Path(match))})
    return found


def are_plain(files: Iterable[Path]) -> bool:
    """Return whether the bytes of all files are their texts, and nothing else."""
    return all(map(is_plain, files))


def identity(files: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return each file's path as given, size and time of change, which tell if it is the same."""
    found = []
    for path in files:
        try:
            status = path.stat()
        except OSError as error:
            raise file_error(path, "read", error) from None
        found.append((str(path), status.st_size, status.st_mtime_ns))
    return found


def weights_of(files: Sequence[Path], weights: Mapping[str, int]) -> list[int]:
    """Return how often each file counts: the weight of the first pattern that matches it, or 1.

    A pattern is a path, a name, a glob of either, in which `*` goes across folders, or a folder.
    """
    if not isinstance(weights, Mapping):
        raise ArgumentTypeError(
            "weights is a dict from a path, a name or a glob to an int, not "
            f"{type(weights).__name__}; for example {{'code/*': 3}}"
        )
    for pattern, weight in weights.items():
        if not isinstance(weight, int) or isinstance(weight, bool) or not 1 <= weight < 2**32:
            raise CorpusError(
                f"the weight of {pattern!r} is {weight!r}; give an int from 1 to 2^32-1"
            )
    unused = dict.fromkeys(weights)
    hidden_by: dict[str, str] = {}
    found = []
    for path in files:
        matching = [pattern for pattern in weights if _matches(path, pattern)]
        found.append(weights[matching[0]] if matching else 1)
        for pattern in matching[:1]:
            unused.pop(pattern, None)
        hidden_by |= dict.fromkeys(matching[1:], matching[0] if matching else "")
    for pattern in unused:
        if pattern in hidden_by:
            first = hidden_by[pattern]
            raise CorpusError(
                f"the weight of {pattern!r} has no effect, because {first!r} matches its files "
                "first; give it first"
            )
        names = dict.fromkeys(name for path in files for name in (path.name, path.parent.name))
        near = nearest(pattern, names)
        hint = "; give a path, a glob or a folder" if near is None else f"; did you mean {near!r}?"
        raise CorpusError(f"the weight of {pattern!r} is for no file of the corpus{hint}")
    return found


def warn_of_doubles(
    files: Sequence[Path], times: Sequence[int], on_warning: Callable[[str], object]
) -> None:
    """Say which files are listed several times, which may be meant or not."""
    given_as: dict[str, list[int]] = {}
    for at, file in enumerate(files):
        given_as.setdefault(os.path.abspath(file), []).append(at)  # noqa: PTH100 - `..` goes too.
    if doubles := [places for places in given_as.values() if len(places) > 1]:
        first = f"{files[doubles[0][0]]}"
        counts = counted(sum(times[at] for at in doubles[0]), "time")
        if len(doubles) == 1:
            on_warning(f"1 file is listed more than once: {first} counts {counts}")
        else:
            on_warning(
                f"{len(doubles):,} files are listed more than once; the first, {first}, counts "
                f"{counts}"
            )


def _matches(path: Path, pattern: str) -> bool:
    """Tell whether a pattern is a file's name, its path, a glob of either, or a folder it is in."""
    whole = path.absolute()
    return (
        fnmatch(str(path), pattern)
        or fnmatch(path.name, pattern)
        or Path(pattern).absolute() in (whole, *whole.parents)
    )


def _files_of(path: Path) -> list[Path]:
    """Return the file, or the files of the folder, that a path names."""
    if path.is_dir():
        return [file for file in sorted(_inside(path)) if file.is_file() and not _is_binary(file)]
    if path.exists():
        return [path]
    raise MissingFileError(f"{path} is missing; give files or folders of text")


def _inside(folder: Path) -> Iterator[Path]:
    """Yield the entries of a folder that are not hidden, or raise an error."""

    def refuse(error: OSError) -> NoReturn:
        raise file_error(error.filename, "read", error) from None

    for root, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(root, name) for name in names if not name.startswith("."))


def _is_binary(file: Path) -> bool:
    """Tell files that are not text by the zero byte that they begin with, near enough."""
    if format_of(file).holds_many:
        return False
    try:
        return b"\0" in next(chunks(file, 0, 1 << 13), b"")[: 1 << 13]
    except FileError:
        return False  # It is refused, or skipped and counted, when it is read.
