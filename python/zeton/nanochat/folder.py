"""nanochat's folder: its tokenizer, and the number of bytes of each id."""

import io
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeton.errors import Error, FileError, FormatError, MissingFileError
from zeton.nanochat import encoding_pickle
from zeton.tiktoken.core import Encoding
from zeton.tokenizer import FILE_NAME, Tokenizer, load
from zeton.work.files import read_whole, write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "get_base_dir",
    "get_token_bytes",
    "read",
    "shards",
    "token_bytes",
    "tokenizer_folder",
    "write",
]

PICKLE_NAME = "tokenizer.pkl"
TOKEN_BYTES_NAME = "token_bytes"  # noqa: S105 - no secret.
ENCODING_NAME = "rustbpe"
"""The name of every encoding that nanochat trains."""


def get_base_dir() -> Path:
    """Return nanochat's folder: `$NANOCHAT_BASE_DIR`, or `~/.cache/nanochat`."""
    chosen = os.environ.get("NANOCHAT_BASE_DIR")
    return Path(chosen) if chosen else Path.home() / ".cache" / "nanochat"


def shards() -> list[Path]:
    """Return the files of nanochat's own corpus; the last one is held out for validation."""
    return sorted(get_base_dir().glob("base_data*/*.parquet"))


def tokenizer_folder() -> Path:
    """Return the folder of nanochat's tokenizer, which must exist."""
    folder = get_base_dir() / "tokenizer"
    if not folder.is_dir():
        message = f"{folder} is missing; `python -m zeton.nanochat.tok_train` makes it"
        raise MissingFileError(message)
    return folder


def read(folder: Path) -> Encoding:
    """Read `tokenizer.zeton`, or else `tokenizer.pkl`; if both exist they must agree."""
    own, other = folder / FILE_NAME, folder / PICKLE_NAME
    if not os.path.lexists(own) and not os.path.lexists(other):
        found = f"{folder} holds neither {FILE_NAME} nor {PICKLE_NAME}"
        raise MissingFileError(f"{found}; `python -m zeton.nanochat.tok_train` makes them")
    if not os.path.lexists(other):
        return Encoding._of(ENCODING_NAME, load(own))
    content = read_whole(other, encoding_pickle.PICKLE_BYTES_MAX)
    if not os.path.lexists(own):
        return _loads(content, other)
    encoding = Encoding._of(ENCODING_NAME, load(own))
    # Bytes equal to our own pickle need no parsing.
    same = content == encoding_pickle.dumps(encoding)
    if not same and _loads(content, other).tokenizer != encoding.tokenizer:
        raise FormatError(f"{own} and {other} differ; remove the one that is out of date")
    return encoding


def write(folder: Path, encoding: Encoding, *, pickle: bool) -> None:
    """Write a tokenizer and its `token_bytes`, and remove the files of a previous one."""
    contents: dict[str, bytes | None] = {
        PICKLE_NAME: encoding_pickle.dumps(encoding) if pickle else None
    }
    contents |= _token_bytes_files(token_bytes(encoding.tokenizer))
    encoding.tokenizer.save(folder / FILE_NAME)
    for name, content in contents.items():
        if content is None:
            (folder / name).unlink(missing_ok=True)
        else:
            write_whole(folder / name, content)


def token_bytes(tok: Tokenizer) -> "NDArray[np.int32]":
    """Return the number of bytes of each id, for the loss in bits per byte.

    Specials and unused ids have 0 bytes.
    """
    import numpy as np

    counts = np.zeros(tok.vocab_size, dtype=np.int32)
    for token, number in tok.ranks().items():
        counts[number] = len(token)
    return counts


def _token_bytes_files(counts: "NDArray[np.int32]") -> dict[str, bytes | None]:
    """Return the contents of `.npy`, `.safetensors` and, if torch is installed, `.pt`."""
    import numpy as np

    array, tensor = io.BytesIO(), io.BytesIO()
    np.save(array, counts)
    if torch := _torch():
        torch.save(torch.from_numpy(counts), tensor)
    return {
        f"{TOKEN_BYTES_NAME}.npy": array.getvalue(),
        f"{TOKEN_BYTES_NAME}.safetensors": _safetensors(TOKEN_BYTES_NAME, counts),
        f"{TOKEN_BYTES_NAME}.pt": tensor.getvalue() or None,
    }


def get_token_bytes(device: str = "cpu") -> Any:  # noqa: ANN401 - a tensor, or without torch an array.
    """Return the bytes per id of nanochat's tokenizer: a tensor, or without torch an array.

    They are computed from the tokenizer, because a file of them may be out of date.
    """
    counts = token_bytes(read(tokenizer_folder()).tokenizer)
    if torch := _torch():
        return torch.from_numpy(counts).to(device)
    if device != "cpu":
        raise FileError(f"device {device!r} needs torch; install torch, or use 'cpu'")
    return counts


def _torch() -> Any:  # noqa: ANN401 - the module, if it is installed.
    try:
        import torch
    except ImportError:
        return None
    return torch


def _loads(content: bytes, path: Path) -> Encoding:
    try:
        return encoding_pickle.loads(content)
    except Error as error:
        raise type(error)(f"{path}: {error}") from None


def _safetensors(name: str, counts: "NDArray[np.int32]") -> bytes:
    """Return an array as safetensors: the length of a JSON header, the header, the numbers."""
    numbers = counts.astype("<i4").tobytes()
    entry = {"dtype": "I32", "shape": list(counts.shape), "data_offsets": [0, len(numbers)]}
    header = json.dumps({name: entry}).encode()
    header += b" " * (-len(header) % 8)  # The numbers begin at a multiple of eight.
    return len(header).to_bytes(8, "little") + header + numbers
