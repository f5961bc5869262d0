"""Bytes per cycle of a configuration, simulated, on some text of each language."""

import sys
from functools import cache
from pathlib import Path

import zeton
from fpga_flow import Record
from texts import data
from zeton import accel
from zeton.accel.configuration import Configuration
from zeton.accel.transports.sim import SimTransport

LANGUAGES = {
    "English": ("en/books", "en/reviews", "en/wikitext2"),
    "code": ("code/c", "code/python", "code/js_ts"),
    "Chinese": ("multi/zh",),
}
LANGUAGE_BYTES = 240_000
TEXT_BYTES = 4_000
"""Bytes of a text, up to the next line end or else blank.

Texts are short, so that several lanes end at about the same time."""


@cache
def vocabulary(name: str) -> zeton.Tokenizer:
    """Return a pretrained tokenizer; with a number after its name, only that many of its tokens.

    >>> vocabulary("cl100k_base/4096").vocab_size
    4096
    """
    whole, _, count = name.partition("/")
    tokenizer = zeton.pretrained(whole)
    if not count:
        return tokenizer
    first = {tokenizer.token_bytes(id_): id_ for id_ in range(int(count))}
    return zeton.Tokenizer(first, pattern=tokenizer.pattern)


def texts_of(language: str, most: int = LANGUAGE_BYTES) -> list[bytes]:
    """Return texts of a language with whole characters, up to a number of bytes."""
    files = LANGUAGES[language]
    texts = []
    for name in files:
        path = Path(data(), "dev", f"{name}.txt")
        if not path.is_file():
            sys.exit("set ZETON_DATA to a folder with dev/*/*.txt")
        content = path.read_bytes()[: most // len(files)].decode(errors="ignore").encode()
        start = 0
        while start < len(content):
            line = content.find(b"\n", start + TEXT_BYTES, start + 2 * TEXT_BYTES) + 1
            end = line or content.find(b" ", start + TEXT_BYTES) + 1 or len(content)
            texts.append(content[start:end])
            start = end
    return texts


def measure_rates(
    configuration: Configuration, vocab: str, most: int = LANGUAGE_BYTES
) -> dict[str, Record]:
    """Encode texts of each language on the simulated card, and verify all ids."""
    tokenizer = vocabulary(vocab)
    rates = {}
    with accel.Device(SimTransport(configuration), timeout=600) as device:
        device.load(tokenizer)
        for language in LANGUAGES:
            texts = texts_of(language, most * configuration.lanes)
            before = device.counters()
            ids = device.encode_batch(texts)
            after = device.counters()
            if ids != tokenizer.encode_batch(texts):
                sys.exit(f"wrong ids of {language} with {vocab} on {configuration}")
            counted = {name: after[name] - before[name] for name in after}
            rates[language] = {
                "bytes": counted["bytes"],
                "cycles": counted["cycles"],
                "rate": round(counted["bytes"] / counted["cycles"], 4),
                "raw": round(counted["raw_bytes"] / counted["bytes"], 5),
            }
    return rates
