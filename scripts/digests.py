"""Digest all results that a refactoring must not change: ids, pieces, counts and merges.

    python scripts/digests.py > before.json           on the tree before the change
    python scripts/digests.py --compare before.json    on the tree after it

Seven vocabularies encode each file of ZETON_DATA's `dev` folder, to a list and to an array, whole
and line by line; ten patterns split each file; three tokenizers are trained. One changed id
anywhere changes a digest. A run takes about a minute on two cores.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "bench"))

import numpy as np

import zeton
from support.strategies import patterns
from texts import data
from zeton.tiktoken.load import load_tiktoken_bpe

PRETRAINED = ("gpt2", "p50k_base", "cl100k_base", "o200k_base", "o200k_harmony")
LOADED = {"llama3": "tiktoken/llama3.tokenizer.model", "qwen": "tiktoken/qwen.tiktoken"}
"""Vocabularies that are not bundled: the names of their pattern and of their file."""

KIMI = (
    r"[\p{Han}]+"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
OTHER_PATTERNS = {"kimi": KIMI, "words": r"\w+|\W", "backtracking": r"(\w)\1+|\w|\s+|[^\w\s]+"}
"""Patterns of the DFA and of the backtracking engine; `patterns.txt` has the family's patterns."""

TRAINED = {"en": 8192, "code": 4096, "multi": 4096}
"""A folder of training texts, and the vocabulary size."""


def main() -> int:
    """Print the digests, or compare them with recorded ones; return the number of differences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compare", type=Path, help="digests of the tree before the change")
    options = parser.parse_args()
    if options.compare is None:
        json.dump(dict(digests()), sys.stdout, indent=0)
        return 0
    before, different = json.loads(options.compare.read_text()), 0
    after = dict(digests())
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            print(f"{name}: {before.get(name)} before, {after.get(name)} after")
            different += 1
    print(f"{len(after)} digests, {different} differ")
    return min(1, different)


def digests() -> Iterator[tuple[str, str]]:
    """Yield the name and the digest of each result."""
    files = {file.stem: file.read_bytes().decode() for file in data().glob("dev/*/*.txt")}
    files = dict(sorted(files.items()))
    if not files:
        sys.exit("set ZETON_DATA to a folder with dev/*/*.txt")
    yield from encoded(files)
    yield from split(files)
    yield from trained()


def encoded(files: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield digests of the ids of each file, from each vocabulary."""
    for name, tok in tokenizers():
        for stem, text in files.items():
            ids = tok.encode_array(text)
            again = np.array(tok.encode(text[:200_000]), dtype=ids.dtype)
            lines = text.splitlines(keepends=True)
            by_line = np.concatenate([tok.encode_array(line) for line in lines])
            yield f"encode {name} {stem}", of_bytes(ids.tobytes(), again.tobytes())
            yield f"lines {name} {stem}", of_bytes(by_line.tobytes())
            yield f"decode {name} {stem}", of_bytes(tok.decode_bytes(ids))


def tokenizers() -> Iterator[tuple[str, zeton.Tokenizer]]:
    """Yield the seven vocabularies by name."""
    for name in PRETRAINED:
        yield name, zeton.pretrained(name)
    for name, file in LOADED.items():
        ranks = load_tiktoken_bpe(data() / "vocabs" / file)
        yield name, zeton.Tokenizer(ranks, pattern=patterns()[name])


def split(files: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield digests of the pieces of each file, by each of ten patterns, and of a fresh count."""
    chosen = {**patterns(), **OTHER_PATTERNS}
    for name in ("gpt2", "cl100k", "o200k", "llama3", "qwen", "qwen3_next", "nanochat"):
        yield from pieces(name, chosen[name], files)
    for name, pattern in OTHER_PATTERNS.items():
        yield from pieces(name, pattern, files)


def pieces(name: str, pattern: str, files: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield digests of the pieces of each file by one pattern, in order and counted."""
    tok = zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}, pattern=pattern)
    for stem, text in files.items():
        beginning = tok.split(text[:200_000])
        yield f"split {name} {stem}", of_bytes(*beginning)
        with TemporaryDirectory() as folder:
            counted = zeton.count_corpus([text], pattern=pattern).save(Path(folder) / "counts")
            yield f"count {name} {stem}", of_bytes(counted.read_bytes())


def trained() -> Iterator[tuple[str, str]]:
    """Yield digests of three trained tokenizers."""
    for folder, size in TRAINED.items():
        texts = [file.read_bytes().decode() for file in sorted(data().glob(f"dev/{folder}/*.txt"))]
        tok = zeton.train(texts, vocab_size=size)
        ranks = sorted((rank, token) for token, rank in tok.ranks().items())
        yield f"train {folder}", of_bytes(repr(ranks).encode())


def of_bytes(*parts: bytes) -> str:
    """Return the digest of some bytes, shortened: 64 bits tell a few thousand results apart."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    sys.exit(main())
