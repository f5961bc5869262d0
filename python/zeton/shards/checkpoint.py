"""The folder of shards while they are written: a checkpoint inside, shards and manifest around."""

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from zeton.errors import ShardError, file_error
from zeton.shards.formats import FORMATS
from zeton.shards.manifest import MANIFEST, TOKENIZER, Manifest, is_manifest
from zeton.work.checkpoint import STATE, Checkpoint, OtherWorkError, differences
from zeton.work.files import write_whole

__all__ = ["FOLDER", "ShardCheckpoint"]

FOLDER = ".checkpoint"
SUFFIXES = "|".join(map(re.escape, sorted({".idx", *(each.suffix for each in FORMATS.values())})))
WRITTEN = (
    rf"{re.escape(MANIFEST)}|{re.escape(TOKENIZER)}|(train|val)_(index|lengths)\.npy"
    rf"|(train|val)_\d{{6,}}(\.mask)?({SUFFIXES})"
)
HALF_WRITTEN = re.compile(rf"\.({WRITTEN})\.[0-9a-f]{{16}}\.tmp")
"""The names of files that a killed process was writing."""
OURS = re.compile(rf"{WRITTEN}|\.checkpoint|{HALF_WRITTEN.pattern}")
"""The names of all files in a folder of shards."""


class ShardCheckpoint:
    """The folder of shards while one process writes it."""

    def __init__(self, out: Path, request: dict[str, Any], *, restart: bool) -> None:
        """Open the folder; one that holds other files, or other work, is an error."""
        self.out = out
        self.folder = out / FOLDER
        self.request = request
        self._work = _work(request, "changed")
        try:
            out.mkdir(parents=True, exist_ok=True)
            foreign = sorted(file.name for file in out.iterdir() if not OURS.fullmatch(file.name))
        except (FileExistsError, NotADirectoryError):
            raise ShardError(f"{out} is a file; shards need a folder") from None
        except OSError as error:
            raise file_error(out, "written", error) from None
        if foreign:
            raise ShardError(
                f"{out} has {foreign[0]!r}, which is no part of shards; name another folder"
            )
        self._checkpoint = Checkpoint(self.folder, lambda _: True)
        try:
            self._refuse_strangers()
            if restart:
                self._clear()
            known = (self.folder / STATE).exists()
            self.state = self._checkpoint.resume(lambda _: self._work, restart=restart)
            """The state of this work, if it has begun before."""
            self._refuse_damaged()
            if known and not self.state:  # Other work had begun, and nothing of it was done.
                self._clear()
            for file in (*out.iterdir(), *self.folder.glob(".*.tmp")):
                if file.parent == self.folder or HALF_WRITTEN.fullmatch(file.name):
                    file.unlink()
        except BaseException:
            self.close()
            raise

    def finished(self) -> Manifest | None:
        """Return the manifest, if the folder holds all shards of the request."""
        if not (self.out / MANIFEST).exists():
            return None
        found = Manifest.read(self.out)
        known = {name: getattr(found, name) for name in self.request}
        if what := differences(_work(known), _work(self.request)):
            raise OtherWorkError(
                f"{self.out} holds other shards, which differ in {what}; name another folder, or "
                "start over (restart=True, --restart)"
            )
        return found

    def keep(self, state: dict[str, Any]) -> None:
        """Keep how far the work is."""
        self._checkpoint.keep(self._work, state)

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest, with which all is there, and remove the checkpoint."""
        write_whole(self.out / MANIFEST, manifest.to_bytes())
        self.discard()

    def discard(self) -> None:
        """Remove the checkpoint."""
        (self.folder / STATE).unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Unlock the folder; without a state, the checkpoint is removed."""
        self._checkpoint.close(discard=not (self.folder / STATE).exists())
        with suppress(OSError):  # It has shards, or a checkpoint.
            self.out.rmdir()

    def _refuse_strangers(self) -> None:
        """Refuse files with the names of shards, unless they are known to be shards."""
        if (self.folder / STATE).exists():
            return
        if (self.out / MANIFEST).exists():
            if not is_manifest(self.out / MANIFEST):
                raise ShardError(
                    f"{self.out} has a {MANIFEST} that is no manifest of shards; name another "
                    "folder"
                )
            return
        for file in sorted(self.out.iterdir()):
            if file != self.folder:
                raise ShardError(
                    f"{self.out} has {file.name!r} without a manifest; "
                    "name another folder, or remove it"
                )

    def _refuse_damaged(self) -> None:
        if self._checkpoint.damaged:
            raise ShardError(f"{self.folder} is damaged; start over (restart=True, --restart)")

    def _clear(self) -> None:
        # The manifest goes last: with it, the remaining files are known to be ours.
        for file in sorted(self.out.iterdir(), key=lambda file: file.name == MANIFEST):
            if file != self.folder:
                file.unlink()
        self._checkpoint.remove()


def _work(request: dict[str, Any], *more: str) -> dict[str, Any]:
    """Return the entries of a request, or of a manifest, that make it other work.

    `on_error` is left out: until now, none was met.
    """
    options = {name: value for name, value in request["options"].items() if name != "on_error"}
    files = [
        [entry[name] for name in ("path", "source", "size", "fingerprint", *more)]
        for entry in request["inputs"]
    ]
    return {
        "tokenizer": request["tokenizer"],
        "dtype": request["dtype"],
        "options": options,
        "files": files,
    }
