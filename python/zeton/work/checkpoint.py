"""What a training on files has counted so far: stopped at any moment, it goes on from there."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from zeton.errors import FormatError, TrainError, file_error
from zeton.training.count import Counts
from zeton.work.files import hold, write_whole

__all__ = [
    "Checkpoint",
    "Held",
    "OtherWorkError",
    "checksum",
    "discard",
    "is_of_unit",
    "keeps_anything",
]

STATE = "state.json"
WORK = "work.json"
"""What the units of a folder were counted with."""

LOCK = "lock"
UNIT = re.compile(r"[0-9a-f]{32}(\.json|(\.validation)?\.counts)")
"""The names of what a unit writes, on an engine."""

OURS = re.compile(
    rf"state\.json|work\.json|lock|\d{{6}}(\.validation)?\.counts|\..*\.tmp|{UNIT.pattern}"
)
"""The names of all that a checkpoint writes."""

CHECKSUM_BYTES = 32
"""A counts file ends with its checksum."""


class OtherWorkError(TrainError):
    """A checkpoint is of another work."""


class Held:
    """A folder that one training at a time writes, with nothing in it but what is ours."""

    def __init__(self, folder: Path) -> None:
        """Make the folder if need be, and hold it."""
        self.folder = folder
        self._lock: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            foreign = sorted(
                file.name for file in folder.iterdir() if not OURS.fullmatch(file.name)
            )
        except OSError as error:
            raise file_error(folder, "written", error) from None
        if foreign:
            raise TrainError(
                f"{folder} has {foreign[0]!r}, which is no part of a checkpoint; name another"
            )
        self._hold()

    def is_of_use(self) -> bool:
        """Tell whether the folder holds anything to go on from."""
        return keeps_anything(self.folder)

    def remove(self, keep: Callable[[str], bool]) -> None:
        """Remove what is ours, but the lock and the names that are to stay."""
        _remove(self.folder, lambda name: name == LOCK or keep(name))

    def close(self) -> None:
        """Let go of the folder; if it is of no use, it goes."""
        if not self.is_of_use():
            discard(self.folder)
        self._let_go()

    def refuse(self, what: str) -> NoReturn:
        """Let go of the folder, and refuse to remove what it keeps."""
        self._let_go()
        raise OtherWorkError(
            f"{self.folder} {what}; repeat that call, name another checkpoint_dir, or discard the "
            "checkpoint with restart=True (--restart)"
        )

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _hold(self) -> None:
        """Refuse a checkpoint that another process writes; its end lets go, however it comes.

        Windows does not tell: there, two trainings must not share a checkpoint.
        """
        try:
            lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise file_error(self.folder, "written", error) from None
        if not hold(lock):
            os.close(lock)
            raise TrainError(f"{self.folder} is in use: another training writes there")
        self._lock = lock


class Checkpoint(Held):
    """A folder of counts files, and how much of the corpus they are of.

    A part is there once the state names it, with its checksum; whatever else of ours lies in the
    folder was being written when the end came, and is removed. Without parts, so is the folder.
    """

    def __init__(
        self,
        folder: Path,
        identity: dict[str, Any],
        files: Sequence[Any],
        *,
        restart: bool = False,
    ) -> None:
        """Open the folder; what is there of another work is refused, or with `restart` removed.

        `files` says of each file what it is. Those after the last part may change.
        """
        self.identity = json.loads(json.dumps(identity))
        self.files = files
        self.parts: list[dict[str, str]] = []
        """The checksums of the files of each part, by their names."""
        self.end: Any = None
        """Where the corpus goes on: a file and a place in it."""
        self.bytes = 0
        """Of text that the parts are of, about."""
        self.skipped: dict[str, Any] = {}
        """What the corpus left out so far."""
        self.damaged = False
        """Whether a checkpoint was there that cannot be read."""
        super().__init__(folder)
        if not restart and (folder / STATE).exists():
            self.damaged = not self._read_state()
        elif not restart and keeps_anything(folder):
            self.refuse("holds units that were counted with an executor")
        names = {name for part in self.parts for name in part}
        self.remove(lambda name: name in names or (name == STATE and bool(names)))

    def _read_state(self) -> bool:
        """Read the state, if it is of the same work; return whether it and its files are whole."""
        try:
            state = json.loads((self.folder / STATE).read_bytes())
            end = [int(state["end"]["file"]), int(state["end"]["at"])]
            size, skipped = int(state["bytes"]), dict(state["skipped"])
            for part in state["parts"]:
                if any(checksum(self.folder / name) != part[name] for name in part):
                    return False
            named, digest = state["identity"].items(), state["files"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        other = [name for name, value in named if self.identity.get(name) != value]
        if digest != self._digest(end[0]):
            other.append("files")
        if other:
            self.refuse(
                f"has counted {size / 1e6:.1f} MB of a work that differs in {', '.join(other)}"
            )
        self.parts, self.end, self.bytes, self.skipped = state["parts"], end, size, skipped
        return True

    def _digest(self, end: int) -> str:
        """Return what tells the files up to one, which may be half done, from others."""
        return hashlib.sha256(json.dumps(list(self.files[: end + 1])).encode()).hexdigest()

    def keep(
        self, counts: Counts, end: tuple[int, int], size: int, skipped: dict[str, Any]
    ) -> None:
        """Keep the counts of a part, after which the corpus goes on at `end`."""
        number = f"{len(self.parts):06}"
        files = {f"{number}.counts": counts}
        if counts.validation is not None:
            files[f"{number}.validation.counts"] = counts.validation
        for name, some in files.items():
            some.write(self.folder / name)
        self.parts.append({name: checksum(self.folder / name) for name in files})
        self.end, self.bytes, self.skipped = list(end), size, skipped
        state = {
            "identity": self.identity,
            "files": self._digest(end[0]),
            "parts": self.parts,
            "end": {"file": end[0], "at": end[1]},
            "bytes": size,
            "skipped": skipped,
        }
        write_whole(self.folder / STATE, json.dumps(state, indent=1).encode())

    def counts(self) -> Counts:
        """Return the counts of all parts together."""
        names = [name for part in self.parts for name in part]
        corpus = self._load([name for name in names if "validation" not in name])
        if validation := [name for name in names if "validation" in name]:
            corpus.validation = self._load(validation)
        return corpus

    def _load(self, names: list[str]) -> Counts:
        try:
            return Counts.load(*(self.folder / name for name in names), temp_dir=self.folder)
        except FormatError as error:
            raise TrainError(f"{error}; remove {self.folder} to start over") from None

    def is_of_use(self) -> bool:
        """Tell whether there are parts."""
        return bool(self.parts)


def is_of_unit(name: str) -> bool:
    """Tell whether a name is of what a unit writes."""
    return UNIT.fullmatch(name) is not None


def keeps_anything(folder: Path) -> bool:
    """Tell whether a folder holds parts or units to go on from."""
    return any(file.name != WORK for file in folder.glob("*.json"))


def discard(folder: Path) -> None:
    """Remove a checkpoint, if there is one: what it was for is done."""
    if folder.is_dir():
        _remove(folder, lambda _: False)
        with suppress(OSError):  # Somebody else's files may have come.
            folder.rmdir()


def _remove(folder: Path, keep: Callable[[str], bool]) -> None:
    """Remove what is ours; first what says that others are whole, without which none counts."""
    ours = [file for file in folder.iterdir() if OURS.fullmatch(file.name)]
    for file in sorted(ours, key=lambda file: file.suffix != ".json"):
        if not keep(file.name):
            file.unlink(missing_ok=True)


def checksum(path: Path) -> str:
    """Return the checksum that a counts file ends with."""
    with path.open("rb") as file:
        file.seek(-CHECKSUM_BYTES, os.SEEK_END)
        return file.read().hex()
