"""nanochat's folder: where a tokenizer lies, and how many bytes each of its ids stands for."""

import io
import json
import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jeton._engine import FILE_BYTES_MAX
from jeton.errors import Error, FileError, FormatError, MissingFileError
from jeton.files import read_whole, write_whole
from jeton.nanochat import pickled
from jeton.tiktoken.core import Encoding
from jeton.tokenizer import FILE_NAME, Tokenizer, load

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "get_base_dir",
    "get_token_bytes",
    "read",
    "token_bytes",
    "tokenizer_folder",
    "write",
]

PICKLE_NAME = "tokenizer.pkl"
TOKEN_BYTES_NAME = "token_bytes"  # noqa: S105 - no secret.
ENCODING_NAME = "rustbpe"
"""What nanochat calls the encodings that it trains."""


def get_base_dir() -> Path:
    """Return nanochat's folder: `$NANOCHAT_BASE_DIR`, or `~/.cache/nanochat`."""
    chosen = os.environ.get("NANOCHAT_BASE_DIR")
    return Path(chosen) if chosen else Path.home() / ".cache" / "nanochat"


def tokenizer_folder() -> Path:
    """Return where nanochat's tokenizer lies, or say what puts one there."""
    folder = get_base_dir() / "tokenizer"
    if not folder.is_dir():
        message = f"{folder} is missing; `python -m jeton.nanochat.tok_train` makes it"
        raise MissingFileError(message)
    return folder


def read(folder: Path) -> Encoding:
    """Read `tokenizer.jeton`, or `tokenizer.pkl` if that is all there is; the two must agree."""
    own, other = folder / FILE_NAME, folder / PICKLE_NAME
    if not other.exists():
        return Encoding._of(ENCODING_NAME, load(own))  # noqa: SLF001 - our own constructor.
    content = read_whole(other, FILE_BYTES_MAX)
    if not own.exists():
        return _loads(content, other)
    encoding = Encoding._of(ENCODING_NAME, load(own))  # noqa: SLF001
    # What `write` wrote need not be parsed to be known.
    same = content == pickled.dumps(encoding)
    if not same and _loads(content, other).tokenizer != encoding.tokenizer:
        raise FormatError(f"{own} and {other} differ; remove the one that is out of date")
    return encoding


def write(folder: Path, encoding: Encoding, *, pickle: bool) -> None:
    """Write a tokenizer and its `token_bytes`."""
    encoding.tokenizer.save(folder / FILE_NAME)
    if pickle:
        write_whole(folder / PICKLE_NAME, pickled.dumps(encoding))
    _write_token_bytes(folder, token_bytes(encoding.tokenizer))


def token_bytes(tok: Tokenizer) -> "NDArray[np.int32]":
    """Return how many bytes of text each id stands for: the divisor of bits per byte.

    A special stands for none, and so does an id that is not used.
    """
    import numpy as np  # noqa: PLC0415 - numpy waits until it is needed.

    counts = np.zeros(tok.vocab_size, dtype=np.int32)
    for token, number in tok.ranks().items():
        counts[number] = len(token)
    return counts


def _write_token_bytes(folder: Path, counts: "NDArray[np.int32]") -> None:
    """Write `token_bytes` as `.npy` and `.safetensors`, and as `.pt` where torch is installed."""
    import numpy as np  # noqa: PLC0415

    array = io.BytesIO()
    np.save(array, counts)
    contents = {".npy": array.getvalue(), ".safetensors": _safetensors(TOKEN_BYTES_NAME, counts)}
    if find_spec("torch"):
        import torch  # noqa: PLC0415

        tensor = io.BytesIO()
        torch.save(torch.from_numpy(counts), tensor)
        contents[".pt"] = tensor.getvalue()
    for suffix, content in contents.items():
        write_whole(folder / f"{TOKEN_BYTES_NAME}{suffix}", content)


def get_token_bytes(device: str = "cpu") -> Any:  # noqa: ANN401 - a tensor, or without torch an array.
    """Return the bytes per id of nanochat's tokenizer: a tensor, or without torch an array.

    They are counted anew: a file of them may be older than the tokenizer beside it.
    """
    counts = token_bytes(read(tokenizer_folder()).tokenizer)
    if find_spec("torch"):
        import torch  # noqa: PLC0415

        return torch.from_numpy(counts).to(device)
    if device != "cpu":
        raise FileError(f"without torch there is no device {device!r}; install torch")
    return counts


def _loads(content: bytes, path: Path) -> Encoding:
    try:
        return pickled.loads(content)
    except Error as error:
        raise type(error)(f"{path}: {error}") from None


def _safetensors(name: str, counts: "NDArray[np.int32]") -> bytes:
    """Write an array as safetensors: the length of a JSON header, the header, the numbers."""
    numbers = counts.astype("<i4").tobytes()
    entry = {"dtype": "I32", "shape": list(counts.shape), "data_offsets": [0, len(numbers)]}
    header = json.dumps({name: entry}).encode()
    header += b" " * (-len(header) % 8)  # The numbers begin at a multiple of eight.
    return len(header).to_bytes(8, "little") + header + numbers
