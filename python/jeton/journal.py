"""What a training on files has counted so far: stopped at any moment, it goes on from there."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

from jeton.counting import Counts
from jeton.errors import FormatError, TrainError, file_error
from jeton.files import write_whole

try:
    import fcntl
except ImportError:  # There is none on Windows; there, two trainings must not share a journal.
    fcntl = None  # type: ignore[assignment]

__all__ = ["Journal"]

STATE = "state.json"


class Journal:
    """A folder of counts files, and how much of the corpus they are of.

    The folder appears with the first part that is kept. A part is there once the state names it;
    whatever else lies in the folder was being written when the end came, and is removed.
    """

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        """Open the folder, if it is there and of the same work."""
        self.folder = folder
        self.identity = json.loads(json.dumps(identity))
        self.parts: list[dict[str, str]] = []
        self.end: Any = None
        """Where the corpus goes on."""
        self.bytes = 0
        """Of text that the parts are of, about."""
        self.skipped: Any = None
        """What the corpus left out so far."""
        self._lock: int | None = None
        self.is_of_another = False
        """Whether there was a journal of another corpus or pattern, which is not used."""
        if folder.exists():
            self._open()

    def _open(self) -> None:
        self._hold()
        try:
            state = json.loads((self.folder / STATE).read_bytes())
            known = state["identity"] == self.identity
            parts = [{name: str(file) for name, file in part.items()} for part in state["parts"]]
            files = {self.folder / file for part in parts for file in part.values()}
            known = known and all(file.is_file() for file in files)
            end, size, skipped = state["end"], int(state["bytes"]), state["skipped"]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            known = False
        if not known:
            self.is_of_another = (self.folder / STATE).exists()
            self.clear(keep_folder=True)
            return
        self.parts, self.end, self.bytes, self.skipped = parts, end, size, skipped
        for file in self.folder.iterdir():
            if file not in files and file.name not in (STATE, "lock"):
                file.unlink()

    def keep(self, counts: Counts, end: object, *, size: int, skipped: object) -> None:
        """Keep the counts of a part, after which the corpus goes on at `end`."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._hold()
        part = {"corpus": f"{len(self.parts):06}.counts"}
        counts.save(self.folder / part["corpus"])
        if counts.held_out is not None:
            part["held_out"] = f"{len(self.parts):06}.held_out.counts"
            counts.held_out.save(self.folder / part["held_out"])
        self.parts.append(part)
        self.end, self.bytes, self.skipped = end, size, skipped
        state = {
            "identity": self.identity,
            "parts": self.parts,
            "end": end,
            "bytes": size,
            "skipped": skipped,
        }
        write_whole(self.folder / STATE, json.dumps(state, indent=1).encode())

    def counts(self) -> Counts:
        """Return the counts of all parts together."""

        def load(name: str) -> Counts | None:
            files = [self.folder / part[name] for part in self.parts if name in part]
            try:
                return Counts.load(*files, folder=self.folder) if files else None
            except FormatError as error:
                raise TrainError(f"{error}; remove {self.folder} to start anew") from None

        corpus = load("corpus")
        if corpus is None:
            raise TrainError("the journal has no parts")
        corpus.held_out = load("held_out")
        return corpus

    def clear(self, *, keep_folder: bool = False) -> None:
        """Remove the journal: what it was for is done, or it is of no use."""
        if not self.folder.exists():
            return
        # The state first: without it nothing else in the folder counts.
        (self.folder / STATE).unlink(missing_ok=True)
        for file in self.folder.iterdir():
            if file.name != "lock":
                file.unlink()
        self.parts, self.end = [], None
        if not keep_folder:
            self.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _hold(self) -> None:
        """Refuse a journal that another process writes; its end lets go, however it comes."""
        if fcntl is None or self._lock is not None:
            return
        try:
            self._lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise TrainError(f"{self.folder} is in use: another training writes there") from None
        except OSError as error:
            raise file_error(self.folder, "written", error) from None

    def close(self) -> None:
        """Let go of the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
