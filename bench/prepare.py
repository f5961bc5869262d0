"""The files that workers read: texts to measure, texts to warm up with, and vocabularies."""

import json
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import zeton
from cells import GROUPS, HELLO, OWN_SIZE, PUBLISHED, VOCABS
from hostile import hostile
from texts import SEPARATOR, groups
from zeton.tiktoken.published_files import LETTERS, bpe_file

SEED = 1


@dataclass(frozen=True)
class Sizes:
    """Bytes of each group that are measured, and bytes that warm up."""

    large: int
    before: int
    hostile: int


FULL = Sizes(10_000_000, 1_000_000, 1_000_000)
QUICK = Sizes(500_000, 100_000, 50_000)


def prepare_texts(folder: Path, sizes: Sizes) -> list[str]:
    """Write the texts of all groups; return the remaining texts, for training."""
    rest = []
    texts_by_group = groups([])
    if missing := GROUPS.keys() - texts_by_group.keys():
        sys.exit(f"ZETON_DATA has no texts in dev/{', dev/'.join(sorted(missing))}")
    for group in GROUPS:
        texts = texts_by_group[group]
        chance = random.Random(SEED)  # noqa: S311
        chance.shuffle(texts)
        whole = "\n".join(texts).encode()
        large = min(sizes.large, len(whole) * 6 // 10)
        before = large + min(sizes.before, len(whole) // 10)
        _write(folder / f"{group}.large", whole[:large])
        _write(folder / f"{group}.before", whole[large:before])
        small = SEPARATOR.join(_small(whole[:large], chance))
        (folder / f"{group}.small").write_bytes(small.encode())
        rest.append(whole[before:].decode(errors="ignore"))
    english = (folder / "en.large").read_bytes()[: sizes.hostile]
    _write(folder / "english", english)
    for word, text in hostile().items():
        _write(folder / f"hostile.{word}", text.encode()[-sizes.hostile :])
    (folder / "hello").write_text(HELLO)
    return rest


def _write(file: Path, text: bytes) -> None:
    """Write a part of a UTF-8 text, without the incomplete characters at its ends."""
    file.write_bytes(text.decode(errors="ignore").encode())


def _small(text: bytes, chance: random.Random) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = start + chance.randint(1_000, 4_000)
        yield text[start:end].decode(errors="ignore")
        start = end


def prepare_vocab(folder: Path, name: str, rest: list[str]) -> None:
    """Write a vocabulary in the peers' formats; an own one is trained on the remaining texts."""
    vocab = VOCABS[name]
    if name in PUBLISHED:
        tok = zeton.pretrained(name)
    else:
        tok = zeton.train(rest, vocab_size=OWN_SIZE, pattern=vocab.pattern or None)
    plain = vocab.plain or tok.pattern
    tok.save(folder / f"{name}.zeton")
    (folder / f"{name}.pattern").write_text(tok.pattern)
    (folder / f"{name}.plain").write_text(plain)
    (folder / f"{name}.tiktoken").write_bytes(bpe_file(tok.ranks()))
    (folder / f"{name}.json").write_text(json.dumps(tokenizer_json(tok, plain)))


def tokenizer_json(tok: zeton.Tokenizer, pattern: str) -> dict[str, object]:
    """Return the JSON of Hugging Face's tokenizers: a split by a pattern, then byte-level BPE."""
    bytes_as_letters = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": False,
        "use_regex": False,
    }
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    pairs = sorted(tok.merges().items(), key=lambda item: item[1])
    model = {
        "type": "BPE",
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": True,
        "vocab": {_spell(token): rank for token, rank in tok.ranks().items()},
        "merges": [[_spell(tok.token_bytes(side)) for side in pair] for pair, _ in pairs],
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes_as_letters]},
        "post_processor": None,
        "decoder": bytes_as_letters,
        "model": model,
    }


def _spell(token: bytes) -> str:
    return "".join(map(LETTERS.__getitem__, token))
