"""What a training on files has counted so far: stopped at any moment, it goes on from there."""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jeton.counting import Counts
from jeton.errors import FormatError, TrainError, file_error
from jeton.files import hold, write_whole

__all__ = ["Journal", "OtherWorkError"]

STATE = "state.json"
LOCK = "lock"
OURS = re.compile(r"state\.json|lock|\d{6}(\.held_out)?\.counts|\..*\.tmp")
"""The names of all that a journal writes."""

CHECKSUM_BYTES = 32
"""A counts file ends with its checksum."""


class OtherWorkError(TrainError):
    """A journal keeps what was counted of another work."""


class Journal:
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
        anew: bool = False,
    ) -> None:
        """Open the folder; what is there of another work is refused, or with `anew` removed.

        `files` says of each file what it is. Those after the last part may change.
        """
        self.folder = folder
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
        """Whether a journal was there that cannot be read."""
        self._lock: int | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            foreign = sorted(
                file.name for file in folder.iterdir() if not OURS.fullmatch(file.name)
            )
        except OSError as error:
            raise file_error(folder, "written", error) from None
        if foreign:
            raise TrainError(f"{folder} has {foreign[0]!r}, which is no journal's; name another")
        self._hold()
        if (folder / STATE).exists() and not anew:
            try:
                self.damaged = not self._read_state()
            except OtherWorkError:
                self._let_go()
                raise
        names = {name for part in self.parts for name in part}
        _remove(folder, keep=names | {LOCK, STATE} if names else {LOCK})

    def _read_state(self) -> bool:
        """Read the state, if it is of the same work; return whether it and its files are whole."""
        try:
            state = json.loads((self.folder / STATE).read_bytes())
            end = [int(state["end"]["file"]), int(state["end"]["at"])]
            size, skipped = int(state["bytes"]), dict(state["skipped"])
            for part in state["parts"]:
                if any(_checksum(self.folder / name) != part[name] for name in part):
                    return False
            named, digest = state["identity"].items(), state["files"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return False
        other = [name for name, value in named if self.identity.get(name) != value]
        if digest != self._digest(end[0]):
            other.append("files")
        if other:
            raise OtherWorkError(
                f"{self.folder} has counted {size / 1e6:.1f} MB of a work that differs in "
                f"{', '.join(other)}; go on with that, name another journal, or give anew=True "
                "(--anew) to remove it"
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
        if counts.held_out is not None:
            files[f"{number}.held_out.counts"] = counts.held_out
        for name, some in files.items():
            some.write(self.folder / name)
        self.parts.append({name: _checksum(self.folder / name) for name in files})
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
        corpus = self._load([name for name in names if "held_out" not in name])
        if held_out := [name for name in names if "held_out" in name]:
            corpus.held_out = self._load(held_out)
        return corpus

    def _load(self, names: list[str]) -> Counts:
        try:
            return Counts.load(*(self.folder / name for name in names), folder=self.folder)
        except FormatError as error:
            raise TrainError(f"{error}; remove {self.folder} to start anew") from None

    @staticmethod
    def discard(folder: Path) -> None:
        """Remove a journal, if there is one: what it was for is done."""
        if folder.is_dir():
            _remove(folder, keep=set())
            with suppress(OSError):  # Somebody else's files may have come.
                folder.rmdir()

    def close(self) -> None:
        """Let go of the folder; without parts it is of no use and goes."""
        if not self.parts:
            self.discard(self.folder)
        self._let_go()

    def _let_go(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _hold(self) -> None:
        """Refuse a journal that another process writes; its end lets go, however it comes.

        Windows does not tell: there, two trainings must not share a journal.
        """
        try:
            lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise file_error(self.folder, "written", error) from None
        if not hold(lock):
            os.close(lock)
            raise TrainError(f"{self.folder} is in use: another training writes there")
        self._lock = lock


def _remove(folder: Path, keep: set[str]) -> None:
    """Remove what is ours; the state first, without which nothing else counts."""
    ours = [file for file in folder.iterdir() if OURS.fullmatch(file.name)]
    for file in sorted(ours, key=lambda file: file.name != STATE):
        if file.name not in keep:
            file.unlink(missing_ok=True)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(-CHECKSUM_BYTES, os.SEEK_END)
        return file.read().hex()
