"""OpenAI's published vocabulary files, rebuilt byte for byte from zeton's bundled vocabularies."""

import base64
import json
from collections.abc import Mapping
from operator import index

from zeton.pretrained import pretrained

__all__ = ["ADDRESSES", "DIGESTS", "LETTERS", "bpe_file", "rebuild"]

DIGESTS = {
    "r50k_base.tiktoken": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
    "p50k_base.tiktoken": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "cl100k_base.tiktoken": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "o200k_base.tiktoken": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "vocab.bpe": "1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5",
    "encoder.json": "196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783",
}
"""The SHA-256 of each published file, by name. GPT-2 has vocab.bpe and encoder.json."""

_STORE = "https://openaipublic.blob.core.windows.net"

ADDRESSES = {
    f"{_STORE}/{'encodings' if name.endswith('.tiktoken') else 'gpt-2/encodings/main'}/{name}": name
    for name in DIGESTS
}
"""The name of each published file, by its address."""

_PRINTING = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_OTHERS = [byte for byte in range(256) if byte not in _PRINTING]

LETTERS = {byte: chr(byte) for byte in _PRINTING} | {
    byte: chr(256 + at) for at, byte in enumerate(_OTHERS)
}
"""The letter for each byte in GPT-2's files, by rank: itself if printable, else one from U+0100."""


def rebuild(name: str) -> bytes:
    """Return the content of a published file."""
    match name:
        case "vocab.bpe":
            return _vocab_bpe()
        case "encoder.json":
            return _encoder_json()
        case _:
            return bpe_file(pretrained(name.removesuffix(".tiktoken")).ranks())


def bpe_file(ranks: Mapping[bytes, int]) -> bytes:
    r"""Return the content of a `.tiktoken` file: lines of a token and its rank, sorted by rank.

    >>> bpe_file({b"lo": 256, b"l": 108})
    b'bA== 108\nbG8= 256\n'
    """
    by_rank = sorted(ranks.items(), key=lambda item: item[1])
    return b"".join(base64.b64encode(token) + b" %d\n" % index(rank) for token, rank in by_rank)


def _vocab_bpe() -> bytes:
    tok = pretrained("gpt2")
    pairs = [[_spell(tok.token_bytes(side)) for side in pair] for pair in tok.merges()]
    lines = ["#version: 0.2", *map(" ".join, pairs)]
    return "".join(f"{line}\n" for line in lines).encode()


def _encoder_json() -> bytes:
    tok = pretrained("gpt2")
    ids = {_spell(token): token_id for token, token_id in tok.ranks().items()}
    return json.dumps(ids | tok.specials).encode()


def _spell(token: bytes) -> str:
    return "".join(LETTERS[byte] for byte in token)
