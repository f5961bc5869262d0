"""Every peer behind the same few calls, by the fastest API and settings that it has."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cells import PUBLISHED, VOCABS

THREADS = 2
"""Threads of a batch. Peers without an option for it read RAYON_NUM_THREADS."""

Ids: TypeAlias = NDArray[np.uint32]
Batch: TypeAlias = tuple[Ids, NDArray[Any]]
"""The ids of all texts, and the offsets at which each text begins, with the end of the last."""


class Refusal(Exception):  # noqa: N818 - a finding about a peer, not a mistake of ours.
    """A peer has no way to run a vocabulary."""


@dataclass(frozen=True)
class Encoder:
    """A loaded peer: its own bound methods where they fit, because a wrapper costs 50 ns."""

    encode_list: Callable[[str], list[int]]
    encode_array: Callable[[str], Ids]
    batch_list: Callable[[list[str]], list[list[int]]]
    batch_array: Callable[[list[str]], Batch]
    decode: Callable[[Sequence[int] | Ids], str]


@dataclass(frozen=True)
class Peer:
    package: str
    module: str
    load: Callable[[str, Path], Encoder]
    """Takes the name of a vocabulary and the folder of its files, which `prepare` wrote."""


def load_zeton(vocab: str, folder: Path) -> Encoder:
    zeton = import_module("zeton")
    tok = zeton.pretrained(vocab) if vocab in PUBLISHED else zeton.load(folder / f"{vocab}.zeton")
    return Encoder(
        tok.encode,
        tok.encode_array,
        lambda texts: tok.encode_batch(texts, threads=THREADS),
        lambda texts: tok.encode_batch_array(texts, threads=THREADS),
        tok.decode,
    )


def load_tiktoken(vocab: str, folder: Path) -> Encoder:
    tiktoken, files = import_module("tiktoken"), import_module("tiktoken.load")
    tok = tiktoken.Encoding(
        vocab,
        pat_str=(folder / f"{vocab}.pattern").read_text(),
        mergeable_ranks=files.load_tiktoken_bpe(str(folder / f"{vocab}.tiktoken")),
        special_tokens={
            "<|endoftext|>": 1 << 20
        },  # Without any special, arrays take 1.5 times as long.
    )
    encode_array = partial(tok.encode_to_numpy, disallowed_special=())

    def batch_array(texts: list[str]) -> Batch:
        # tiktoken has no such call; its own batches use a thread pool too.
        with ThreadPoolExecutor(THREADS) as pool:
            return _joined(list(pool.map(encode_array, texts)))

    return Encoder(
        tok.encode_ordinary,
        encode_array,
        lambda texts: tok.encode_ordinary_batch(texts, num_threads=THREADS),
        batch_array,
        tok.decode,
    )


def load_fastokens(vocab: str, folder: Path) -> Encoder:
    # It recognises cl100k's pattern without possessive quantifiers, and is then five times as fast.
    tok = import_module("fastokens").Tokenizer.from_tiktoken(
        str(folder / f"{vocab}.tiktoken"), pattern=_plain(vocab, folder)
    )
    return Encoder(
        lambda text: tok.encode_ordinary(text).ids,
        lambda text: np.frombuffer(tok.encode_batch_flat([text])[0], np.uint32),
        lambda texts: [encoding.ids for encoding in tok.encode_batch(texts)],
        lambda texts: _of_buffers(tok.encode_batch_flat(texts)),
        tok.decode,
    )


def load_gigatoken(vocab: str, folder: Path) -> Encoder:
    cls = import_module("gigatoken").Tokenizer
    if known := VOCABS[vocab].gigatoken:
        tok = cls.from_tiktoken(folder / f"{vocab}.tiktoken", known, {})
    else:
        tok = cls(folder / f"{vocab}.json")

    def batch_array(texts: list[str]) -> Batch:
        layout = tok.encode_batch(texts).layout
        return layout.content.data, layout.offsets.data

    return Encoder(
        lambda text: tok.encode_batch_list([text], parallel=False)[0],
        tok.encode,
        tok.encode_batch_list,
        batch_array,
        lambda ids: tok.decode(ids).decode(),
    )


def load_splintr(vocab: str, folder: Path) -> Encoder:
    splintr = import_module("splintr")
    if vocab in PUBLISHED:
        tok = splintr.Tokenizer.from_pretrained(vocab)
    else:
        tok = splintr.Tokenizer(str(folder / f"{vocab}.tiktoken"), _plain(vocab, folder))
    return Encoder(
        tok.encode_ordinary,
        lambda text: np.frombuffer(tok.encode_flat(text), np.uint32),
        tok.encode_batch,
        lambda texts: _of_buffers(tok.encode_batch_flat(texts)),
        tok.decode,
    )


def load_quicktok(vocab: str, folder: Path) -> Encoder:
    quicktok = import_module("quicktok")
    data = "" if vocab in PUBLISHED else str(folder / "quicktok")
    if data:
        os.makedirs(data, exist_ok=True)  # noqa: PTH103
        quicktok.import_tokenizer(str(folder / f"{vocab}.json"), vocab, data)
    tok = quicktok.Tokenizer(vocab, data)

    def batch_list(texts: list[str]) -> list[list[int]]:
        ids, offsets = tok.encode_batch(texts, THREADS)
        return [ids[start:end].tolist() for start, end in pairwise(offsets)]

    return Encoder(
        tok.encode_ordinary,
        lambda text: tok.encode_batch([text], 1)[0],
        batch_list,
        lambda texts: tok.encode_batch(texts, THREADS),
        tok.decode,
    )


def load_tokenizers(vocab: str, folder: Path) -> Encoder:
    tok = import_module("tokenizers").Tokenizer.from_file(str(folder / f"{vocab}.json"))

    def encode_list(text: str) -> list[int]:
        ids: list[int] = tok.encode_batch_fast([text])[0].ids  # Skips offsets, which cost time.
        return ids

    def batch_list(texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in tok.encode_batch_fast(texts)]

    return _of_lists(encode_list, batch_list, tok.decode)


def load_rs_bpe(vocab: str, _: Path) -> Encoder:
    if vocab not in PUBLISHED:
        raise Refusal("it has cl100k_base and o200k_base, and no call for another vocabulary")
    openai = import_module("rs_bpe").bpe.openai
    tok = getattr(openai, vocab)()
    options = openai.ParallelOptions(1, 64, THREADS)

    def batch_list(texts: list[str]) -> list[list[int]]:
        ids: list[list[int]] = tok.encode_batch_parallel(texts, options)[0]
        return ids

    return _of_lists(tok.encode, batch_list, tok.decode)


PEERS = {
    "zeton": Peer("zeton", "zeton", load_zeton),
    "tiktoken": Peer("tiktoken", "tiktoken", load_tiktoken),
    "fastokens": Peer("fastokens", "fastokens", load_fastokens),
    "gigatoken": Peer("gigatoken", "gigatoken", load_gigatoken),
    "splintr": Peer("splintr-rs", "splintr", load_splintr),
    "quicktok": Peer("quicktok-v1", "quicktok", load_quicktok),
    "tokenizers": Peer("tokenizers", "tokenizers", load_tokenizers),
    "rs-bpe": Peer("rs-bpe", "rs_bpe", load_rs_bpe),
}


def _plain(vocab: str, folder: Path) -> str:
    return (folder / f"{vocab}.plain").read_text()


def _of_lists(
    encode_list: Callable[[str], list[int]],
    batch_list: Callable[[list[str]], list[list[int]]],
    decode: Callable[[Sequence[int] | Ids], str],
) -> Encoder:
    """Return a peer that has lists only; its arrays are made of them."""
    return Encoder(
        encode_list,
        lambda text: np.array(encode_list(text), np.uint32),
        batch_list,
        lambda texts: _joined([np.array(ids, np.uint32) for ids in batch_list(texts)]),
        decode,
    )


def _of_buffers(buffers: tuple[bytes, bytes]) -> Batch:
    return np.frombuffer(buffers[0], np.uint32), np.frombuffer(buffers[1], np.uint64)


def _joined(arrays: list[Ids]) -> Batch:
    return np.concatenate(arrays), offsets_of(arrays)


def offsets_of(many: Iterable[Sequence[int] | Ids]) -> NDArray[Any]:
    """Return the offset at which each list begins, and the end of the last.

    >>> offsets_of([[1, 2], [], [3]]).tolist()
    [0, 2, 2, 3]
    """
    return np.array(list(accumulate(map(len, many), initial=0)), np.uint64)
