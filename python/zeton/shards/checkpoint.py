"""How far a writing of shards is: stopped at any moment, the same call goes on from there."""

import json
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from zeton.errors import ShardError, file_error
from zeton.shards.formats import FORMATS
from zeton.shards.manifest import MANIFEST, Manifest, is_manifest
from zeton.work.files import write_whole

try:
    import fcntl
except ImportError:  # There is none on Windows; there, two must not write to one folder.
    fcntl = None  # type: ignore[assignment]

__all__ = ["FOLDER", "ShardCheckpoint"]

FOLDER = ".checkpoint"
STATE = "state.json"
INPUT = ("path", "source", "size", "fingerprint")
LOCK = "lock"
SUFFIXES = "|".join(map(re.escape, sorted({".idx", *(each.suffix for each in FORMATS.values())})))
WRITTEN = (
    r"manifest\.json|(train|val)_(index|lengths)\.npy"
    rf"|(train|val)_\d{{6,}}(\.mask)?({SUFFIXES})"
)
HALF_WRITTEN = re.compile(rf"\.({WRITTEN})\.[0-9a-f]{{16}}\.tmp")
"""The names of what was being written into a folder when the end came."""
OURS = re.compile(rf"{WRITTEN}|\.checkpoint|{HALF_WRITTEN.pattern}")
"""The names of all that is written into a folder of shards."""
HOW = "name another folder, or start over (restart=True, --restart)"


class ShardCheckpoint:
    """The folder of shards while they are written: one process holds it, and its state is kept."""

    def __init__(self, out: Path, request: dict[str, Any], *, restart: bool) -> None:
        """Open the folder; one that holds anything else, or another work, is refused."""
        self.out = out
        self.folder = out / FOLDER
        self.request = json.loads(json.dumps(request))
        self.state: dict[str, Any] = {}
        """What was kept, if this work has begun before."""
        self._lock: int | None = None
        try:
            out.mkdir(parents=True, exist_ok=True)
            foreign = sorted(file.name for file in out.iterdir() if not OURS.fullmatch(file.name))
            if foreign:
                raise ShardError(f"{out} has {foreign[0]!r}, which is no shard's; name another")
            self.folder.mkdir(exist_ok=True)
            self._hold()
        except (FileExistsError, NotADirectoryError):
            raise ShardError(f"{out} is a file; shards are a folder") from None
        except OSError as error:
            raise file_error(out, "written", error) from None
        try:
            self._refuse_strangers()
            if restart:
                self._clear()
            self._read_state()
            for file in (*out.iterdir(), *self.folder.glob(".*.tmp")):
                if file.parent == self.folder or HALF_WRITTEN.fullmatch(file.name):
                    file.unlink()
        except BaseException:
            self.close()
            raise

    def finished(self) -> Manifest | None:
        """Return the manifest, if the folder holds all that was asked for."""
        if not (self.out / MANIFEST).exists():
            return None
        found = Manifest.read(self.out)
        inputs = [{name: entry[name] for name in INPUT} for entry in found.inputs]
        asked = [{name: entry[name] for name in INPUT} for entry in self.request["inputs"]]
        known = {name: getattr(found, name) for name in self.request} | {"inputs": inputs}
        if what := _differing(known, self.request | {"inputs": asked}):
            raise self._other(what)
        return found

    def keep(self, state: dict[str, Any]) -> None:
        """Keep how far the work is."""
        content = json.dumps({"request": self.request, "state": state}).encode()
        write_whole(self.folder / STATE, content)

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, with which all is there, and remove the checkpoint."""
        write_whole(self.out / MANIFEST, manifest.to_bytes())
        self.discard()

    def discard(self) -> None:
        """Remove the checkpoint: what it was for is done, or nothing was kept."""
        (self.folder / STATE).unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let go of the folder; without anything kept, it goes."""
        if self._lock is not None and not (self.folder / STATE).exists():
            shutil.rmtree(self.folder, ignore_errors=True)
            with suppress(OSError):  # There are shards in it.
                self.out.rmdir()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _read_state(self) -> None:
        try:
            found = json.loads((self.folder / STATE).read_bytes())
            request, state = found["request"], found["state"]
        except FileNotFoundError:
            return
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ShardError(
                f"{self.folder} is damaged ({error}); start over (restart=True, --restart)"
            ) from None
        what = _differing(request, self.request)
        if what and state["done"]:
            raise self._other(what)
        if what:  # Nothing is lost.
            self._clear()
        else:
            self.state = state

    def _refuse_strangers(self) -> None:
        """Refuse what is called as shards are, and is not known to be ours; it stays as it is."""
        if (self.folder / STATE).exists():
            return
        if (self.out / MANIFEST).exists():
            if not is_manifest(self.out / MANIFEST):
                raise ShardError(
                    f"{self.out} has a {MANIFEST} that is no shards'; name another folder"
                )
            return
        for file in sorted(self.out.iterdir()):
            if file != self.folder:
                raise ShardError(
                    f"{self.out} has {file.name!r} without a manifest; "
                    "name another folder, or remove it"
                )

    def _other(self, what: str) -> ShardError:
        return ShardError(f"{self.out} holds the work of another command: {what} differ; {HOW}")

    def _clear(self) -> None:
        # The manifest goes last: with it, what is left is known to be ours.
        for file in sorted(self.out.iterdir(), key=lambda file: file.name == MANIFEST):
            if file != self.folder:
                file.unlink()
        for file in self.folder.iterdir():
            if file.name != LOCK:
                file.unlink()

    def _hold(self) -> None:
        """Refuse a folder that another process writes to; its end lets go, however it comes."""
        if fcntl is None:
            return
        lock = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            raise ShardError(f"{self.out} is in use: another command writes there") from None
        self._lock = lock


def _differing(found: dict[str, Any], wanted: dict[str, Any]) -> str:
    """Name the first thing in which two requests differ, as people call it, if they do.

    What is done about damage is no difference: up to there, none was met.
    """
    for name, value in wanted.items():
        if name == "inputs" and found.get(name) != value:
            return "the files of the corpus"
        if not isinstance(value, dict):
            continue
        other = found.get(name, {})
        keys = {key for key in other | value if other.get(key) != value.get(key)} - {"on_error"}
        if keys:
            return f"the {name} ({', '.join(sorted(keys))})"
    return ""
