"""Readers and writers of tiktoken's and GPT-2's vocabulary files. They never use the network."""

import hashlib
import json
import os
import tempfile
from binascii import a2b_base64
from operator import index
from pathlib import Path

from zeton._engine import FILE_BYTES_MAX
from zeton.corpus import AnyPath
from zeton.errors import FileError, FormatError, MissingFileError
from zeton.tiktoken.published_files import ADDRESSES, LETTERS, bpe_file, rebuild
from zeton.work.files import read_whole, write_whole

__all__ = [
    "check_hash",
    "data_gym_to_mergeable_bpe_ranks",
    "dump_tiktoken_bpe",
    "load_tiktoken_bpe",
    "read_file",
    "read_file_cached",
]


class MismatchError(FormatError, AssertionError):
    """Two files belong to different vocabularies; tiktoken raises an AssertionError."""


_BYTES = {letter: byte for byte, letter in LETTERS.items()}


def read_file(blobpath: AnyPath) -> bytes:
    """Read a local file, or rebuild one of OpenAI's by its address."""
    name = ADDRESSES.get(os.fspath(blobpath))
    return rebuild(name) if name else read_whole(_local(blobpath), FILE_BYTES_MAX)


def check_hash(data: bytes, expected_hash: str) -> bool:
    """Return whether data has this SHA-256."""
    return _sha256(data) == expected_hash


def read_file_cached(blobpath: AnyPath, expected_hash: str | None = None) -> bytes:
    """Read a file as `read_file` does; read an address from tiktoken's own cache folder.

    A local file is read itself. tiktoken would read its cached copy, which may be out of date.
    """
    place, folder = os.fspath(blobpath), _cache_folder()
    if folder and "://" in place and place not in ADDRESSES:
        copy = Path(folder, hashlib.sha1(place.encode(), usedforsecurity=False).hexdigest())
        try:
            return _checked(read_whole(copy, FILE_BYTES_MAX), copy, expected_hash)
        except MissingFileError:
            pass
    return _checked(read_file(place), place, expected_hash)


def data_gym_to_mergeable_bpe_ranks(
    vocab_bpe_file: AnyPath,
    encoder_json_file: AnyPath,
    vocab_bpe_hash: str | None = None,
    encoder_json_hash: str | None = None,
    clobber_one_byte_tokens: bool = False,  # noqa: FBT001, FBT002 - tiktoken's signature.
) -> dict[bytes, int]:
    """Read GPT-2's two files: merges, whose order gives the ranks, and ids, which must agree.

    With `clobber_one_byte_tokens`, single bytes have the ranks of the second file.
    """
    merged = _read_merges(vocab_bpe_file, vocab_bpe_hash)
    ids = _read_ids(encoder_json_file, encoder_json_hash)
    tokens = [*(bytes([byte]) for byte in LETTERS), *merged]
    ranks = {token: rank for rank, token in enumerate(tokens)}
    if clobber_one_byte_tokens:
        ranks |= {token: token_id for token, token_id in ids.items() if len(token) == 1}
    if ranks != ids:
        token = next(token for token in ranks | ids if ranks.get(token) != ids.get(token))
        raise MismatchError(
            f"{token!r:.80} has rank {ranks.get(token)} in {vocab_bpe_file} and id "
            f"{ids.get(token)} in {encoder_json_file}; give two files of one vocabulary"
        )
    return ranks


def dump_tiktoken_bpe(bpe_ranks: dict[bytes, int], tiktoken_bpe_file: AnyPath) -> None:
    """Write ranks as a `.tiktoken` file, atomically."""
    write_whole(_local(tiktoken_bpe_file), bpe_file(bpe_ranks))


def load_tiktoken_bpe(
    tiktoken_bpe_file: AnyPath, expected_hash: str | None = None
) -> dict[bytes, int]:
    """Read the ranks of a `.tiktoken` file: each line has a token in base64 and its rank."""
    ranks: dict[bytes, int] = {}
    taken: set[int] = set()
    for line in read_file_cached(tiktoken_bpe_file, expected_hash).splitlines():
        if not line:
            continue
        try:
            token, rank = _read_line(line)
        except ValueError as error:
            raise _line_error(line, tiktoken_bpe_file, error) from None
        if token in ranks or rank in taken:
            reason = "its token or its rank is in an earlier line"
            raise _line_error(line, tiktoken_bpe_file, reason)
        ranks[token] = rank
        taken.add(rank)
    return ranks


def _local(path: AnyPath) -> Path:
    """Return the path of a local file."""
    if "://" in os.fspath(path):
        message = f"{path} is a network address, and zeton does not use the network"
        raise FileError(f"{message}; download the file and give its path")
    return Path(path)


def _cache_folder() -> str:
    """Return the folder of tiktoken's downloads; an empty string if it caches nothing."""
    default = str(Path(tempfile.gettempdir(), "data-gym-cache"))
    return os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", default))


def _checked(content: bytes, place: str | Path, expected_hash: str | None) -> bytes:
    if expected_hash and not check_hash(content, expected_hash):
        found = _sha256(content)
        raise FormatError(f"{place} has SHA-256 {found}, not {expected_hash}; download it again")
    return content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read_line(line: bytes) -> tuple[bytes, int]:
    fields = line.split()
    if len(fields) != 2 or not fields[1].isdigit():
        raise ValueError("expected a token in base64 and a rank")
    # Whisper's file has "=" for the empty token.
    token = b"" if fields[0] == b"=" else a2b_base64(fields[0], strict_mode=True)
    return token, int(fields[1])


def _line_error(line: bytes, file: AnyPath, reason: object) -> FormatError:
    """Return the error about a line; it begins like tiktoken's, because programs search that."""
    shown = f"{line!r}" if len(line) <= 80 else f"{line[:80]!r}…"
    return FormatError(f"Error parsing line {shown} in {file}: {reason}")


def _read_merges(file: AnyPath, expected_hash: str | None) -> list[bytes]:
    """Read the token that each merge makes; the first line is a version."""
    merged = []
    for line in read_file_cached(file, expected_hash).splitlines()[1:]:
        try:
            left, right = line.decode().split()
            merged.append(_unspell(left + right))
        except (ValueError, KeyError):
            raise _line_error(line, file, "expected two tokens in GPT-2's letters") from None
    return merged


def _read_ids(file: AnyPath, expected_hash: str | None) -> dict[bytes, int]:
    """Read the id of each token, without the two specials that GPT-2's files may have."""
    content = read_file_cached(file, expected_hash)
    try:
        ids = {_unspell(token): index(number) for token, number in json.loads(content).items()}
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
        message = f"{file} is not a JSON object of tokens in GPT-2's letters and their ids"
        raise FormatError(message) from None
    specials = {b"<|endoftext|>", b"<|startoftext|>"}
    return {token: token_id for token, token_id in ids.items() if token not in specials}


def _unspell(spelled: str) -> bytes:
    return bytes(_BYTES[letter] for letter in spelled)
