"""The shared parts of the front end's tests: patterns, drawn texts, tables, expected output."""

from __future__ import annotations

from bisect import bisect_right
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from cocotb.triggers import RisingEdge

import zeton
from rtl.simulation import ROOT
from rtl.streams import pack
from zeton.accel.configuration import Configuration
from zeton.accel.tables.bridges import POINT_BITS, read_character
from zeton.accel.tables.hashes import OF_BYTES, OF_CHARACTERS, hash_one
from zeton.accel.tables.image import BLOCK_POINTS, Table, block_index, make_tables

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Iterator

    from zeton.pattern.grammar import Transducer

BRIDGE_BITS = 10
BYTE, END, MARK = 0, 1, 2
"""Kinds of items."""
PART, RAW, CUT, CLOSE, NOTHING, MARKED = 0, 1, 2, 3, 4, 7
"""Kinds of records."""

WORDS = [
    *(
        "a",
        "S",
        "s",
        "'",
        "ll",
        "'ve",
        " ",
        "  ",
        "\n",
        "\r\n",
        "\t",
        "5",
        "12345",
        "!",
        "...",
        "/",
    ),
    *(
        "é",
        "中",
        "文",
        "本",
        "ไ",
        "ท",
        "ย",
        "😀",
        "\u00a0",
        "\u3000",
        "Ab",
        "ß",
        "٣",
        "½",
        "\u0301",
        "ǅ",
    ),
    *("\U000e0041", "\U00050000", "\U0010ffff", "\ufffd"),
]
NOT_UTF8 = [
    *(
        b"\x80",
        b"\xbf",
        b"\xc3",
        b"\xa9",
        b"\xe4\xb8",
        b"\xf0\x9f\x98",
        b"\xff",
        b"\xf8\x88\x80\x80\x80",
    ),
    *(
        b"\xc0\x80",
        b"\xc1\xbf",
        b"\xe0\x80\x80",
        b"\xe0\x9f\xbf",
        b"\xf0\x80\x80\x80",
        b"\xf0\x8f\xbf\xbf",
    ),
    *(b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80"),
]
"""Cut short, alone, too long for what they spell, surrogates, beyond the last code point."""
EDGES = [
    b"\xe0\xa0\x80",
    b"\xed\x9f\xbf",
    b"\xee\x80\x80",
    b"\xf0\x90\x80\x80",
    b"\xf4\x8f\xbf\xbf",
    b"\xc2\x80",
]
RUNS = [b"a", b" ", b"\n", b"\n ", "中".encode(), b"\xff", b"A", b"!", b"5"]

Text = bytes | None
"""A text, or None for a mark between texts."""


@cache
def tokenizer(name: str) -> zeton.Tokenizer:
    """Make a tokenizer of bytes with a published pattern."""
    lines = (ROOT / "tests" / "vectors" / "patterns.txt").read_text().splitlines()
    patterns = dict(line.split(": ", 1) for line in lines if not line.startswith("#"))
    return zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}, pattern=patterns[name])


@cache
def transducer(name: str) -> Transducer:
    """Return the transducer of a published pattern."""
    grammar = tokenizer(name).grammar
    assert grammar is not None
    return grammar.transducer


def draw_texts(rng: random.Random, count: int, run_max: int = 0) -> list[Text]:
    """Draw texts, empty ones and marks; a few have a long run of one sort within."""
    return [draw_text(rng, run_max if rng.random() < 0.1 else 0) for _ in range(count)]


def draw_text(rng: random.Random, run_max: int = 0) -> Text:
    """Draw a text of any sort, or a mark."""
    sort = rng.random()
    if not run_max and sort < 0.2:
        return None if sort < 0.05 else b"" if sort < 0.1 else rng.randbytes(1)
    if sort < 0.3:
        return rng.randbytes(rng.randrange(1, 40))
    count = rng.choice([1, 2, 3, 5, 10, 30])
    words = [word.encode() for word in rng.choices(WORDS, k=count)]
    for _ in range(rng.choice([0, 0, 1, count // 4])):
        words.insert(rng.randrange(len(words) + 1), rng.choice(NOT_UTF8 + EDGES))
    if run_max:
        run = rng.choice(RUNS)
        repeated = run * (rng.randrange(run_max) // len(run) + 1)
        start = rng.choice([b"", b"\n", b" "])
        words.insert(rng.randrange(len(words) + 1), start + repeated)
    return b"".join(words)


def text_items(texts: Iterable[Text], rng: random.Random) -> Iterator[dict[str, int]]:
    """Yield the items of texts; some end with an item of their own, some items say nothing."""
    for text in texts:
        late = bool(text) and rng.random() < 0.1
        for at, byte in enumerate(text or b""):
            if rng.random() < 0.01:
                yield {"byte": 0, "keep": 0, "last": 0, "mark": 0}
            last = int(at + 1 == len(text or b"") and not late)
            yield {"byte": byte, "keep": 1, "last": last, "mark": 0}
        if not text or late:
            yield {
                "byte": rng.randrange(256),
                "keep": 0,
                "last": int(text is not None),
                "mark": int(text is None),
            }


class Item(NamedTuple):
    """An item of `classify`: a byte, the end of a text or a mark. A field without meaning is 0."""

    kind: int
    byte: int = 0
    first: int = 0
    more: int = 0
    of_class: int = 0
    cut: int = 0


def items_of(texts: Iterable[Text], table: Transducer, bits: list[int]) -> Iterator[Item]:
    """Yield the items of texts."""
    for text in texts:
        if text is None:
            yield Item(MARK)
            continue
        cuts = bridge_cuts(text, bits)
        for at, length, of_class in characters(text, table):
            if length:
                yield Item(BYTE, text[at], 1, length - 1, of_class, int(at in cuts))
                yield from (Item(BYTE, byte) for byte in text[at + 1 : at + length])
            else:
                yield Item(END, of_class=of_class)


def characters(text: bytes, table: Transducer) -> Iterator[tuple[int, int, int]]:
    """Yield where each character begins, its length and its class; the end is the last."""
    at = 0
    while at < len(text):
        read = read_character(text, at)
        length = read[1] if read else 1
        yield at, length, table.class_of[read[0]] if read else table.class_of_bad_byte
        at += length
    yield at, 0, table.class_of_end


def bad_bytes(text: bytes) -> int:
    """Count the bytes that are characters of their own for want of a valid sequence."""
    at = bad = 0
    while at < len(text):
        read = read_character(text, at)
        bad += read is None
        at += read[1] if read else 1
    return bad


def bridge_cuts(text: bytes, bits: list[int]) -> set[int]:
    """Find where a piece may be cut: where no token bridges two characters."""
    cuts: set[int] = set()
    at, before = 0, None
    while at < len(text):
        read = read_character(text, at)
        if before and read and before[0] | read[0] >= 0x80:
            points, both = before[0] << POINT_BITS | read[0], text[at - 1] << 8 | text[at]
            hashes = (
                hash_one(OF_CHARACTERS, BRIDGE_BITS, points),
                hash_one(OF_BYTES, BRIDGE_BITS, both),
            )
            if not any(bits[hashed] for hashed in hashes):
                cuts.add(at)
        before = read
        at += read[1] if read else 1
    return cuts


def draw_bits(rng: random.Random, density: float = 0.3) -> list[int]:
    """Draw a table of bridges."""
    return [int(rng.random() < density) for _ in range(1 << BRIDGE_BITS)]


def entries_of(name: str, texts: Iterable[Text], bits: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the table, address and data of every entry that these texts need."""
    shape = Configuration(id_bits=9, bank_bits=4, bridge_bits=BRIDGE_BITS)
    tables = make_tables(tokenizer(name), shape)
    packed = np.packbits(np.array(bits, np.uint8), bitorder="little").view("<u4")
    points = sorted(
        {ord(letter) for text in texts for letter in (text or b"").decode(errors="ignore")}
    )
    blocks = np.unique(block_index(np.array(points, np.int64)))
    rows = np.unique(tables[Table.BLOCKS][blocks]).astype(np.int64)
    classes = (rows[:, None] * BLOCK_POINTS + np.arange(BLOCK_POINTS)).ravel()
    for table, addresses in (
        (Table.BLOCKS, blocks),
        (Table.CLASSES, classes),
        (Table.SPLIT, np.arange(len(transducer(name).states) * 32)),
        (Table.OPTIONS, np.array([0])),
    ):
        for address in addresses.tolist():
            yield table, address, int(tables[table][address])
    for address, word in enumerate(packed.tolist()):
        yield Table.BRIDGES, address, word


async def count(clk: Any, pulse: Any, into: list[int]) -> None:
    """Note each cycle in which a signal is high."""
    while True:
        await RisingEdge(clk)
        if pulse.value:
            into.append(1)


async def load(dut: Any, entries: Iterable[tuple[int, int, int]]) -> None:
    """Write entries into tables, one a cycle."""
    for table, address, data in entries:
        request = pack("table_request", write=1, select=table, address=address, data=data)
        dut.table_request.value = request
        await RisingEdge(dut.clk)
    dut.table_request.value = 0


async def read(dut: Any, table: int, address: int, latency: int) -> int:
    """Read an entry of a table, which must be there after so many cycles, and only then."""
    dut.table_request.value = pack("table_request", read=1, select=table, address=address)
    responses = []
    for _ in range(latency + 3):
        await RisingEdge(dut.clk)
        dut.table_request.value = 0
        responses.append(int(dut.table_response.value))
    # The first edge sees the strobe.
    assert not any(responses[:latency] + responses[latency + 1 :])
    return responses[latency]


class Stretch(NamedTuple):
    """Bytes that leave as one part, or raw, with the ends of pieces within."""

    content: bytes
    raw: bool
    cuts: tuple[int, ...] = ()


def stretches_of(
    content: bytes, records: Iterable[tuple[int, int, int]]
) -> Iterator[list[Stretch] | None]:
    """Yield each text as its stretches, None for a mark; the order of records must make sense."""
    at, start, cuts = 0, None, list[int]()
    text = list[Stretch]()
    for kind, payload, last in records:
        assert kind in (PART, RAW, CUT, CLOSE, NOTHING, MARKED)
        assert (start is not None) == (kind in (CUT, CLOSE)) or kind == RAW
        assert not last or kind in (PART, CLOSE, NOTHING)
        if kind in (PART, RAW):
            assert payload > 0
            start = at if kind == RAW and start is None else start
            at += payload
        if kind == PART:
            text.append(Stretch(content[at - payload : at], raw=False))
        elif kind == CUT:
            assert start is not None
            assert (cuts[-1] if cuts else 0) < payload <= at - start
            cuts.append(payload)
        elif kind == CLOSE:
            text.append(Stretch(content[start:at], raw=True, cuts=tuple(cuts)))
            start, cuts = None, []
        elif kind in (NOTHING, MARKED):
            assert not text
        if last or kind == MARKED:
            yield None if kind == MARKED else text
            text = []
    assert not text
    assert start is None
    assert at == len(content)


def check_stretches(
    stretches: list[Stretch],
    pieces: list[bytes],
    cuts: set[int],
    *,
    part_max: int,
    spill_min: int,
) -> bool:
    """Check that stretches are the parts of a text's pieces; tell whether one was spilled.

    A raw part is longer than `part_max`. A spilled stretch has at least `spill_min` bytes,
    begins and ends where pieces do, and tells the end of every piece within.
    """
    assert b"".join(stretch.content for stretch in stretches) == b"".join(pieces)
    piece_ends = [*accumulate(map(len, pieces))]
    part_ends = sorted({*piece_ends, *cuts})
    at, spilled = 0, False
    for content, raw, inner in stretches:
        end = at + len(content)
        is_part = end == part_ends[bisect_right(part_ends, at)] and not inner
        if is_part:
            assert not raw or len(content) >= min(part_max + 1, spill_min)
            assert raw or len(content) <= part_max
        else:
            spilled = True
            assert raw
            assert len(content) >= spill_min
            assert at == 0 or at in piece_ends
            assert end in piece_ends
            assert list(inner) == [place - at for place in piece_ends if at < place < end]
        at = end
    return spilled
