"""Checkpoints of a training run, as tensors and JSON: a resumed run ends in the same bytes."""

import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor

from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.model import JSON_BYTES_MAX, WEIGHTS_BYTES_MAX
from zeton.work.files import read_whole, write_whole

__all__ = [
    "Checkpoint",
    "discard_checkpoint",
    "has_checkpoint",
    "load_checkpoint",
    "save_checkpoint",
]

STATE = "learning.json"
"""It names its file of tensors and their checksum; one without the other is no checkpoint."""


class Checkpoint(NamedTuple):
    """The state of a training run."""

    state: dict[str, Any]
    """Counters and the report, as JSON values."""
    tensors: dict[str, Tensor]


def save_checkpoint(folder: Path, identity: dict[str, Any], checkpoint: Checkpoint) -> None:
    """Save a checkpoint, then remove the previous one."""
    folder.mkdir(parents=True, exist_ok=True)
    content = bytes_of({name: each.detach().cpu() for name, each in checkpoint.tensors.items()})
    digest = hashlib.sha256(content).hexdigest()
    name = f"learning-{digest[:16]}.safetensors"
    write_whole(folder / name, content)
    about = {"identity": identity, "file": name, "sha256": digest, "state": checkpoint.state}
    write_whole(folder / STATE, (json.dumps(about, indent=1) + "\n").encode())
    _remove_others(folder, name)


def has_checkpoint(folder: Path) -> bool:
    """Return whether the folder has a checkpoint, of any training run."""
    return (folder / STATE).exists()


def load_checkpoint(folder: Path, identity: dict[str, Any]) -> Checkpoint | None:
    """Return the checkpoint of this training run; None if there is none, or it is damaged.

    The checkpoint of a different run is an error, because resuming would overwrite it.
    """
    if not has_checkpoint(folder):
        return None
    try:
        about = json.loads(read_whole(folder / STATE, JSON_BYTES_MAX))
        content = read_whole(folder / about["file"], WEIGHTS_BYTES_MAX)
        if hashlib.sha256(content).hexdigest() != about["sha256"]:
            return None
        found, tensors, state = about["identity"], tensors_of(content), about["state"]
    except (OSError, ValueError, KeyError, TypeError, SafetensorError):
        return None
    wanted = json.loads(json.dumps(identity))
    if found != wanted:
        other = [name for name in wanted if found.get(name) != wanted[name]]
        raise Seq2SeqError(
            f"{folder} has a checkpoint of training with other {', '.join(other)}; give the same "
            "again, name another folder, or give restart=True (--restart) to discard it"
        )
    return Checkpoint(state, tensors)


def discard_checkpoint(folder: Path) -> None:
    """Remove the checkpoint, if there is one."""
    (folder / STATE).unlink(missing_ok=True)
    _remove_others(folder, "")


def _remove_others(folder: Path, name: str) -> None:
    for file in folder.glob("learning-*.safetensors"):
        if file.name != name:
            file.unlink(missing_ok=True)
