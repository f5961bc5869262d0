"""The checkpoint folder: how far long work is, kept so that any end of the process loses little.

Training, counting in units and the writing of shards each keep a folder of this kind:

    state.json   the work (its options, its files) and how far it is
    lock         held by the one process that writes to the folder
    …            the results so far, by names of the work's own

`state.json` appears whole or not at all. A result counts once the state names it, or once it has
appeared whole itself, so a process that dies leaves nothing that is half true.
"""

import json
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from zeton.errors import ShardError, TrainError, file_error
from zeton.work.files import try_lock, write_whole

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "OtherWorkError",
    "differences",
    "discard",
    "holds_results",
    "is_of_unit",
]

STATE = "state.json"
LOCK = "lock"
LOCK_TRIES = 10
"""Attempts to lock a folder that other processes remove at the same time."""


PART = re.compile(r"\d{6}(\.validation)?\.counts")
UNIT = re.compile(r"[0-9a-f]{32}(\.json|(\.validation)?\.counts)")
"""The names of results: parts in order, and units, which may be done in any order."""

OURS = re.compile(rf"{re.escape(STATE)}|{LOCK}|{PART.pattern}|{UNIT.pattern}|\..*\.tmp")
"""The names of all files in a folder of counts."""


class CheckpointError(TrainError, ShardError):
    """A checkpoint is in use, or its folder holds other files."""


class OtherWorkError(CheckpointError):
    """A checkpoint is of other work."""


class Checkpoint:
    """A folder that one process at a time writes, for one work."""

    def __init__(self, folder: Path, is_ours: Callable[[str], object] = OURS.fullmatch) -> None:
        """Make the folder if need be, and lock it; one with other files is an error."""
        self.folder = folder
        self.is_ours = is_ours
        self.damaged = False
        """Whether there is a state that cannot be read."""
        self._lock: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            names = sorted(file.name for file in folder.iterdir())
            foreign = [name for name in names if not is_ours(name)]
            if foreign:
                raise CheckpointError(
                    f"{folder} has {foreign[0]!r}, which is no part of a checkpoint; "
                    "name another folder"
                )
            self._lock = _lock_in(folder)
        except OSError as error:
            raise file_error(folder, "written", error) from None

    def resume(
        self, work: Callable[[dict[str, Any]], Mapping[str, Any]], *, restart: bool
    ) -> dict[str, Any]:
        """Return the state that was kept, or nothing if there is none.

        `work` returns the work that a state must be of. A state of other work is an error that
        names the difference, unless nothing was done. `restart` removes all results.
        """
        if restart:
            self.remove()
            return {}
        try:
            kept = json.loads((self.folder / STATE).read_bytes())
            state = dict(kept["state"])
            what = differences(kept["work"], work(state))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self.damaged = True
            return {}
        if what and holds_results(self.folder):
            raise self.other(what)
        if what:
            self.remove()
            return {}
        return state

    def keep(self, work: Mapping[str, Any], state: Mapping[str, Any]) -> None:
        """Keep how far the work is; `state["done"]` is 0 as long as nothing would be lost."""
        content = json.dumps({"work": work, "state": state}, indent=1)
        write_whole(self.folder / STATE, content.encode())

    def remove(self, keep: Callable[[str], object] = lambda _: False) -> None:
        """Remove all files but the lock and the names that are to stay."""
        _remove(self.folder, self.is_ours, lambda name: name == LOCK or keep(name))

    def other(self, what: str) -> OtherWorkError:
        """Return the error for results of other work."""
        return OtherWorkError(
            f"{self.folder} holds the progress of other work, which differs in {what}; run the "
            "call that began it, name another folder, or start over (restart=True, --restart)"
        )

    def close(self, *, discard: bool = False) -> None:
        """Unlock the folder; `discard` removes it."""
        if self._lock is None:
            return
        if discard:
            _discard(self.folder, self.is_ours)
        os.close(self._lock)
        self._lock = None


def _lock_in(folder: Path) -> int:
    """Return the locked file of a folder; another process's lock is an error.

    The end of a process unlocks it, however it comes. Windows has no such lock: there, two
    processes must not share a folder.
    """
    for _ in range(LOCK_TRIES):
        folder.mkdir(parents=True, exist_ok=True)
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        if not try_lock(lock):
            os.close(lock)
            break
        try:
            if os.path.samestat(os.fstat(lock), (folder / LOCK).stat()):
                return lock
        except FileNotFoundError:
            pass
        os.close(lock)  # Another process removed the folder between the two calls.
    raise CheckpointError(f"{folder} is in use: another process writes there")


def differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """Name the entries in which two works differ, and in brackets the entries of such an entry.

    >>> differences({"eos": 1, "options": {"a": 1}}, {"eos": 2, "options": {"a": 2}})
    'eos, options (a)'
    """
    plain = json.loads(json.dumps(wanted))
    names = []
    for name in {**plain, **found}:
        one, other = found.get(name), plain.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            inner = sorted(key for key in one | other if one.get(key) != other.get(key))
            names += [f"{name} ({', '.join(inner)})"] * bool(inner)
        elif one != other:
            names.append(name)
    return ", ".join(names)


def is_of_unit(name: str) -> bool:
    """Return whether a name is of the results of a unit."""
    return UNIT.fullmatch(name) is not None


def holds_results(folder: Path) -> bool:
    """Return whether a folder holds results to resume from."""
    if any(is_of_unit(file.name) for file in folder.glob("*.json")):
        return True
    try:
        return bool(json.loads((folder / STATE).read_bytes())["state"]["done"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def discard(folder: Path) -> None:
    """Remove a checkpoint of counts, if there is one."""
    if folder.is_dir():
        _discard(folder, OURS.fullmatch)


def _discard(folder: Path, is_ours: Callable[[str], object]) -> None:
    _remove(folder, is_ours, lambda _: False)
    with suppress(OSError):  # Somebody else's files may have come.
        folder.rmdir()


def _remove(folder: Path, is_ours: Callable[[str], object], keep: Callable[[str], object]) -> None:
    """Remove files; first the state and the notes of units, without which no result counts."""
    ours = [file for file in folder.iterdir() if is_ours(file.name) and not keep(file.name)]
    for file in sorted(ours, key=lambda file: file.suffix != ".json"):
        file.unlink(missing_ok=True)
