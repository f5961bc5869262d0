"""Shards are read again and held against their manifest, and if asked against the corpus."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from zeton.corpus import AnyPath
from zeton.errors import Error
from zeton.shards.checkpoint import FOLDER, OURS
from zeton.shards.manifest import MANIFEST, TOKENIZER, Manifest
from zeton.shards.options import Options
from zeton.shards.reader import Reader
from zeton.shards.stream import checksum
from zeton.shards.writing import told_of, write
from zeton.tokenizer import Tokenizer
from zeton.work.files import require_path

__all__ = ["verify"]

STEP_TOKENS = 1 << 22


def verify(
    folder: str | PathLike[str],
    *,
    tokenizer: Tokenizer | None = None,
    paths: Iterable[AnyPath] | None = None,
) -> list[str]:
    """Check every byte of shards; return the problems, a line each.

    Checksums, counts, ids, the index and the tokenizer are compared with the manifest. With a
    `tokenizer`, that one must have made the shards. With `paths`, the corpus is encoded again,
    beside the folder, and compared.
    """
    found = require_path(folder)
    manifest = Manifest.read(found)
    wrong = list(_wrong_files(found, manifest))
    if not wrong:
        for split in manifest.splits:
            wrong += _wrong_split(Reader(found, split))
    if tokenizer is not None and told_of(tokenizer) != manifest.tokenizer:
        wrong.append("the tokenizer is not the one that made the shards")
    elif paths is not None and not wrong:
        made_by = tokenizer or Reader(found, next(iter(manifest.splits))).tokenizer
        wrong += _wrong_ids(found, manifest, made_by, paths)
    return wrong


def _wrong_files(folder: Path, manifest: Manifest) -> Iterator[str]:
    known = {MANIFEST, TOKENIZER}
    path = folder / TOKENIZER
    if not path.is_file():
        yield f"{path} is missing"
    elif checksum(path) != manifest.tokenizer["sha256"]:
        yield f"{path} is not the tokenizer that made the shards"
    for told in manifest.files():
        path = folder / told["file"]
        known.add(path.name)
        if not path.is_file():
            yield f"{path} is missing"
        elif (size := path.stat().st_size) != told["bytes"]:
            yield f"{path} has {size} bytes; the manifest says {told['bytes']}"
        elif checksum(path) != told["sha256"]:
            yield f"{path} has another checksum than the manifest says; it is damaged"
    for file in sorted(folder.iterdir()):
        if file.name == FOLDER:
            yield f"{file} is there; another writing has begun"
        elif file.name not in known:
            kind = "a shard" if OURS.fullmatch(file.name) else "a file"
            yield f"{file} is {kind} that the manifest does not know"


def _wrong_split(reader: Reader) -> Iterator[str]:
    told = reader.manifest.splits[reader.split]
    for name in ("tokens", "texts"):
        total = sum(shard[name] for shard in told["shards"])
        if total != told[name]:
            found = f"the shards of {reader.split} have {total} {name}"
            yield f"{found}; the manifest says {told[name]}"
    starts = reader.starts
    if len(starts) != told["texts"] + 1 or starts[0] or starts[-1] != told["tokens"]:
        yield f"the index of {reader.split} is not of {told['texts']} texts"
    elif len(starts) > 1 and int(np.diff(starts).min()) < 0:
        yield f"the index of {reader.split} goes back; texts follow one another"
    size = reader.manifest.tokenizer["vocab_size"]
    for at in range(0, told["tokens"], STEP_TOKENS):
        ids = reader.tokens[at : at + STEP_TOKENS]
        if (wrong := np.flatnonzero((ids >= size) | (ids < 0))).size:
            place = at + int(wrong[0])
            yield f"token {place} of {reader.split} is {ids[wrong[0]]}; ids go to {size - 1}"
            break


def _wrong_ids(
    folder: Path, manifest: Manifest, tokenizer: Tokenizer, paths: Iterable[AnyPath]
) -> Iterator[str]:
    """Write the shards again, elsewhere, and compare the manifests."""
    options = dict(Options.from_json(manifest.options).to_json())
    again = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    quiet: Callable[[str], Any] = str
    try:
        options["texts_end_with"] = options["texts_end_with"].encode("latin-1")
        if options["chat"] is not None:
            from zeton.chat import Template  # noqa: PLC0415 - few shards are of chats.

            options["chat"] = Template.from_json(options["chat"])
        made = write(paths, tokenizer=tokenizer, out=again, on_warning=quiet, **options)
        if [(each["size"], each["fingerprint"]) for each in made.inputs] != [
            (each["size"], each["fingerprint"]) for each in manifest.inputs
        ]:
            yield "the corpus is not the one that the shards were made of"
        elif made.splits != manifest.splits:
            yield "encoding the corpus again gives other shards"
    except Error as error:
        yield f"the corpus cannot be encoded again: {error}"
    finally:
        shutil.rmtree(again, ignore_errors=True)
