"""The manifest: a file of JSON that describes shards, the same for the same work."""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

from zeton.errors import ShardError, file_error

__all__ = ["MANIFEST", "TOKENIZER", "Manifest", "is_manifest"]

MANIFEST = "manifest.json"
TOKENIZER = "tokenizer.zeton"
"""The file of the tokenizer that made the shards."""
VERSION = 2
CHECKSUM = "~sha256"
"""The key of the checksum of all other keys; it sorts last."""


@dataclass(frozen=True)
class Manifest:
    """All that is known of a folder of shards."""

    tokenizer: dict[str, Any]
    """The SHA-256 of its file, and the size of its vocabulary."""
    dtype: str
    """How an id is stored, as numpy writes it."""
    options: dict[str, Any]
    inputs: list[dict[str, Any]]
    """Each file with its source, size and fingerprint, and the texts, tokens and bytes of it."""
    splits: dict[str, dict[str, Any]]
    """`train` and `val`: texts, tokens, the index, and each shard with its files' checksums."""
    skipped: dict[str, Any]
    """Files and records that could not be read, and were left out."""
    version: int = VERSION

    @property
    def format(self) -> str:
        """The format of the shards."""
        return str(self.options["format"])

    @property
    def tokens(self) -> int:
        """The tokens of all shards."""
        return sum(int(split["tokens"]) for split in self.splits.values())

    @property
    def texts(self) -> int:
        """The texts of all shards."""
        return sum(int(split["texts"]) for split in self.splits.values())

    def sources(self) -> dict[str, dict[str, int]]:
        """Return files, texts, tokens and bytes of each path that was given, in order."""
        found: dict[str, dict[str, int]] = {}
        for entry in self.inputs:
            of = found.setdefault(
                entry["source"], {"files": 0, "texts": 0, "tokens": 0, "bytes": 0}
            )
            of["files"] += 1
            for name in ("texts", "tokens", "bytes"):
                of[name] += entry[name]
        return found

    def files(self) -> list[dict[str, Any]]:
        """Return every file with its bytes and checksum, but the manifest."""
        found = []
        for split in self.splits.values():
            found += [file for shard in split["shards"] for file in shard["files"]]
            found += [split[name] for name in ("index", "lengths") if name in split]
        return found

    def digest(self) -> str:
        """Return the SHA-256 of all that is said here, as canonical JSON."""
        return _digest(asdict(self))

    def to_bytes(self) -> bytes:
        """Return the file; its last line is a checksum of the others."""
        plain = asdict(self)
        return _text(plain | {CHECKSUM: _digest(plain)}, indent=1) + b"\n"

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the manifest of a folder of shards; one that was changed is refused."""
        path = folder / MANIFEST
        try:
            content = path.read_bytes()
            plain = json.loads(content.decode("utf-8", "surrogateescape"))
        except FileNotFoundError:
            raise ShardError(
                f"{folder} has no {MANIFEST}; shards are not there, or not whole"
            ) from None
        except OSError as error:
            raise file_error(path, "read", error) from None
        except (ValueError, RecursionError):
            raise ShardError(f"{path} is not JSON; write the shards again") from None
        names = {entry.name for entry in fields(cls)}
        if not isinstance(plain, dict) or plain.get("version") != VERSION:
            raise ShardError(f"{path} is no manifest of version {VERSION}; write the shards again")
        plain.pop(CHECKSUM, None)
        found = cls(**plain) if plain.keys() == names else None
        # The content is written again and compared, so not a space may differ.
        if found is None or not _is(found, content):
            raise ShardError(f"{path} is damaged: its checksum differs; write the shards again")
        return found


def is_manifest(path: Path) -> bool:
    """Tell whether a file is a manifest of shards, of any version, whole or damaged in a value."""
    try:
        plain = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    names = {entry.name for entry in fields(Manifest)}
    return isinstance(plain, dict) and names <= plain.keys()


def _is(manifest: Manifest, content: bytes) -> bool:
    try:
        return content == manifest.to_bytes()
    except ValueError:  # A character that is none.
        return False


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(_text(plain)).hexdigest()


def _text(plain: dict[str, Any], indent: int | None = None) -> bytes:
    text = json.dumps(plain, indent=indent, sort_keys=True, ensure_ascii=False)
    return text.encode("utf-8", "surrogateescape")
