"""Where a learning is, as tensors and JSON: after any end, it goes on to the same bytes."""

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

__all__ = ["Checkpoint", "discard", "is_kept", "keep", "kept"]

STATE = "learning.json"
"""It names the file of tensors that it belongs to, and its checksum: only both together count."""


class Checkpoint(NamedTuple):
    """A place to go on from."""

    state: dict[str, Any]
    """Numbers and records, as JSON has them."""
    tensors: dict[str, Tensor]


def keep(folder: Path, identity: dict[str, Any], checkpoint: Checkpoint) -> None:
    """Keep a checkpoint, and remove the one before once this one is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    content = bytes_of({name: each.detach().cpu() for name, each in checkpoint.tensors.items()})
    digest = hashlib.sha256(content).hexdigest()
    name = f"learning-{digest[:16]}.safetensors"
    write_whole(folder / name, content)
    about = {"identity": identity, "file": name, "sha256": digest, "state": checkpoint.state}
    write_whole(folder / STATE, (json.dumps(about, indent=1) + "\n").encode())
    _remove_others(folder, name)


def is_kept(folder: Path) -> bool:
    """Return whether something is kept, of whatever learning."""
    return (folder / STATE).exists()


def kept(folder: Path, identity: dict[str, Any]) -> Checkpoint | None:
    """Return what is kept of this very learning; None if nothing is, or it is damaged.

    What is kept of another one is refused: it would be lost.
    """
    if not is_kept(folder):
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
            f"{folder} keeps a learning that differs in {', '.join(other)}; go on with that, name "
            "another folder, or give restart=True (--restart) to remove it"
        )
    return Checkpoint(state, tensors)


def discard(folder: Path) -> None:
    """Remove what is kept, if anything is: the learning is done."""
    (folder / STATE).unlink(missing_ok=True)
    _remove_others(folder, "")


def _remove_others(folder: Path, name: str) -> None:
    for file in folder.glob("learning-*.safetensors"):
        if file.name != name:
            file.unlink(missing_ok=True)
