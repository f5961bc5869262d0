"""The checkpoint of counting in one process: a counts file for each part of the corpus."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from zeton.corpus import Position, Skipped
from zeton.errors import FormatError, TrainError
from zeton.training.count import Counts
from zeton.work.checkpoint import STATE, Checkpoint

__all__ = ["CountedParts", "checksum", "load"]

CHECKSUM_BYTES = 32
"""A counts file ends with its checksum."""


class CountedParts:
    """The parts that are counted, each a file, and the position after the last one."""

    def __init__(
        self, folder: Path, work: Mapping[str, Any], files: Sequence[Any], *, restart: bool
    ) -> None:
        """Open the folder. `files` describes each file; files after the last part may change."""
        self.folder = folder
        self.parts: list[dict[str, str]] = []
        """The checksums of the files of each part, by name."""
        self.end = Position(0, 0)
        self.bytes = 0
        """Bytes of text in the parts, about."""
        self.skipped = Skipped()
        self._work, self._files = work, files
        self._checkpoint = Checkpoint(folder)
        try:
            state = self._checkpoint.resume(self._work_of, restart=restart)
            if state and self._is_whole(state["parts"]):
                self.parts, self.bytes = state["parts"], int(state["done"])
                self.end, self.skipped = Position(*state["end"]), Skipped(**state["skipped"])
            self.is_damaged = self._checkpoint.damaged or bool(state) > bool(self.parts)
            """Whether a checkpoint was there and cannot be read."""
            names = {name for part in self.parts for name in part}
            self._checkpoint.remove(lambda name: name in names or (name == STATE and bool(names)))
        except BaseException:
            self._checkpoint.close()
            raise

    def _work_of(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return the work up to the end of a state; that file may be half done."""
        end, _ = state.get("end", (-1, 0))  # Units have none.
        files = json.dumps(list(self._files[: int(end) + 1]))
        return {**self._work, "files": hashlib.sha256(files.encode()).hexdigest()}

    def _is_whole(self, parts: list[dict[str, str]]) -> bool:
        try:
            return all(
                checksum(self.folder / name) == part[name] for part in parts for name in part
            )
        except OSError:
            return False

    def keep(self, counts: Counts, end: Position, size: int, skipped: Skipped) -> None:
        """Keep the counts of a part, after which the corpus resumes at `end`."""
        number = f"{len(self.parts):06}"
        files = {f"{number}.counts": counts}
        if counts.validation is not None:
            files[f"{number}.validation.counts"] = counts.validation
        for name, some in files.items():
            some.write(self.folder / name)
        self.parts.append({name: checksum(self.folder / name) for name in files})
        self.end, self.bytes, self.skipped = end, size, skipped
        state = {
            "done": size,
            "parts": self.parts,
            "end": [end.file, end.at],
            "skipped": asdict(skipped),
        }
        self._checkpoint.keep(self._work_of(state), state)

    def counts(self) -> Counts:
        """Return the counts of all parts together."""
        names = [name for part in self.parts for name in part]
        of_corpus = [self.folder / name for name in names if "validation" not in name]
        corpus = load(of_corpus, self.folder)
        if validation := [self.folder / name for name in names if "validation" in name]:
            corpus.validation = load(validation, self.folder)
        return corpus

    def close(self) -> None:
        """Unlock the folder; without parts it is removed."""
        self._checkpoint.close(discard=not self.parts)


def load(paths: Sequence[Path], folder: Path) -> Counts:
    """Load counts files of a checkpoint."""
    try:
        return Counts.load(*paths, temp_dir=folder)
    except FormatError as error:
        raise TrainError(f"{error}; remove {folder} to start over") from None


def checksum(path: Path) -> str:
    """Return the checksum that a counts file ends with."""
    with path.open("rb") as file:
        file.seek(-CHECKSUM_BYTES, os.SEEK_END)
        return file.read().hex()
