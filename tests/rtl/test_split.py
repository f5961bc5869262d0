"""split against a plain run of its table, on random classes; pieces that are too long spill."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cocotb
from cocotb.triggers import RisingEdge

from rtl.front import (
    BYTE,
    END,
    MARK,
    RAW,
    check_stretches,
    count,
    draw_bits,
    entries_of,
    load,
    read,
    stretches_of,
    transducer,
)
from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, reset, seeded, start, take, unpack
from zeton.accel.tables.image import Table
from zeton.pattern.grammar import CUT_HERE, CUT_MARK_0, CUT_MARK_1, SET_MARK_0, SET_MARK_1

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from cocotb.task import Task

    from zeton.pattern.grammar import Transducer

BYTES_LOG = 8
SPILL_MIN = 1 << (BYTES_LOG - 1)
NAMES = ["gpt2", "cl100k", "nanochat", "o200k"]
INPUTS = {"item_valid": 0, "byte_ready": 0, "record_ready": 0, "table_request": 0}
RECORD = ("kind", "payload", "last")


@dataclass
class Drawn:
    """A text of random characters of random classes, or a mark; its bytes mean nothing."""

    content: bytes
    lengths: list[int]
    classes: list[int]
    cuts: set[int]
    """Where a part of a piece may end."""
    is_mark: bool = False


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(regime=[*REGIMES], name=NAMES)
async def cuts_where_the_table_says(dut: Any, regime: str, name: str) -> None:
    gap, stall = REGIMES[regime]
    rng, table = seeded(regime + name), transducer(name)
    drawn = [draw(rng, table) for _ in range(12)]
    pieces = [pieces_of(text, table) for text in drawn]
    await start(dut, **INPUTS)
    await load(dut, split_entries(name))
    counted: list[int] = []
    cocotb.start_soon(count(dut.clk, dut.count_piece, counted))
    items = [item for text in drawn for item in items_of(text, table)]
    content, flags, records = await run(dut, items, gap, stall, texts=len(drawn))

    stretches = [*stretches_of(content, records)]
    for text, expected, got in zip(drawn, pieces, stretches, strict=True):
        assert (got is None) == text.is_mark
        if got is not None:
            check_stretches(got, expected, set(), part_max=2 * SPILL_MIN, spill_min=SPILL_MIN)
    assert len(counted) == sum(map(len, pieces))
    assert flags == [flag for text in drawn for flag in flags_of(text)]


@cocotb.test(timeout_time=4, timeout_unit="ms")
@cocotb.parametrize(name=["gpt2", "o200k"])
async def lets_no_piece_fill_what_is_behind_it(dut: Any, name: str) -> None:
    rng, table = seeded(name), transducer(name)
    await start(dut, **INPUTS)
    await load(dut, split_entries(name))
    spilled = 0
    for run_text in (b"a", b" ", b"\n", b"\n ", b"!", b"a "):
        text = of_text(b"\n" + run_text * (3 * SPILL_MIN) + rng.choice([b"", b"a", b"5 "]), table)
        bytes_taken: list[Any] = []
        takers = [cocotb.start_soon(take(dut, "byte", fields=("data", "cut"), into=bytes_taken))]
        cocotb.start_soon(offer(dut, "item", items_of(text, table)))
        records: list[Any] = []
        told = 0
        while not records or not records[-1][2]:
            dut.record_ready.value = 1
            await RisingEdge(dut.clk)
            if dut.record_valid.value:
                record = unpack("record", int(dut.record_data.value))
                records.append(tuple(record[field] for field in RECORD))
                told += records[-1][1] if records[-1][0] in (0, RAW) else 0
            assert len(bytes_taken) - told < 2 * SPILL_MIN - 8
        dut.record_ready.value = 0
        await RisingEdge(dut.clk)
        takers[0].cancel()
        content = bytes(byte for byte, _ in bytes_taken)
        [got] = stretches_of(content, records)
        assert got is not None
        expected = pieces_of(text, table)
        check_stretches(got, expected, set(), part_max=2 * SPILL_MIN, spill_min=SPILL_MIN)
        spilled += any(stretch.raw for stretch in got)
    assert spilled >= 3


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def forgets_all_at_a_reset_but_the_table(dut: Any) -> None:
    table = transducer("cl100k")
    await start(dut, **INPUTS)
    await load(dut, split_entries("cl100k"))
    long, short = of_text(b"\n \n \t" + b" " * 300, table), of_text(b"It's 1\n\n  2", table)
    for begun in range(1, 300, 23):
        tasks: list[Task[Any]] = [cocotb.start_soon(offer(dut, "item", items_of(long, table)))]
        tasks += [
            cocotb.start_soon(take(dut, "byte")),
            cocotb.start_soon(take(dut, "record", fields=RECORD)),
        ]
        for _ in range(begun):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        dut.item_valid.value = dut.byte_ready.value = dut.record_ready.value = 0
        await reset(dut)
        assert dut.idle.value
        content, _, records = await run(dut, [*items_of(short, table)], 0, 0, texts=1)
        assert content == short.content
        lengths = [*map(len, pieces_of(short, table))]
        assert records == [
            (0, length, int(at == len(lengths) - 1)) for at, length in enumerate(lengths)
        ]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_its_table_back(dut: Any) -> None:
    entries = split_entries("o200k")
    await start(dut, **INPUTS)
    await load(dut, entries)
    for table, address, data in seeded().sample(entries, 30):
        assert await read(dut, table, address, latency=4) == data
    assert await read(dut, Table.BLOCKS, 1, latency=4) == 0


async def run(
    dut: Any, items: list[dict[str, int]], gap: float, stall: float, *, texts: int
) -> tuple[bytes, list[int], list[tuple[int, int, int]]]:
    """Send items; return the bytes, whether a part may end after each, and the records."""
    sender = cocotb.start_soon(offer(dut, "item", items, gap))
    total = sum(item["kind"] == BYTE for item in items)
    taker = cocotb.start_soon(take(dut, "byte", fields=("data", "cut"), count=total, stall=stall))
    records: list[tuple[int, int, int]] = []
    while sum(last or kind == 7 for kind, _, last in records) < texts:
        records += await take(dut, "record", fields=RECORD, count=1, stall=stall)
    await sender
    taken = await taker
    await RisingEdge(dut.clk)
    assert dut.idle.value
    return bytes(byte for byte, _ in taken), [cut for _, cut in taken], records


def draw(rng: random.Random, table: Transducer) -> Drawn:
    """Draw a text of any sort, or a mark."""
    if rng.random() < 0.1:
        return Drawn(b"", [], [], set(), is_mark=True)
    classes = [of_class for of_class in range(len(table.next[0])) if of_class != table.class_of_end]
    few = rng.choices(classes, k=rng.choice([1, 2, 3, 30]))
    drawn = rng.choices(few, k=rng.choice([0, 1, 2, 5, 20, 40, 40, 200]))
    lengths = [rng.choice([1, 1, 1, 2, 3, 4]) for _ in drawn]
    content = rng.randbytes(sum(lengths))
    starts = [sum(lengths[:at]) for at in range(1, len(lengths))]
    return Drawn(content, lengths, drawn, {start for start in starts if rng.random() < 0.3})


def of_text(content: bytes, table: Transducer) -> Drawn:
    """Make one of a text of ASCII."""
    return Drawn(content, [1] * len(content), [table.class_of[byte] for byte in content], set())


def items_of(text: Drawn, table: Transducer) -> Iterator[dict[str, int]]:
    """Yield the items of `classify`."""
    nothing = dict.fromkeys(("byte", "first", "more", "class", "cut"), 0)
    if text.is_mark:
        yield {**nothing, "kind": MARK}
        return
    at = 0
    for length, of_class in zip(text.lengths, text.classes, strict=True):
        of_first = {"first": 1, "more": length - 1, "class": of_class, "cut": int(at in text.cuts)}
        yield {**nothing, "kind": BYTE, "byte": text.content[at], **of_first}
        for byte in text.content[at + 1 : at + length]:
            yield {**nothing, "kind": BYTE, "byte": byte}
        at += length
    yield {**nothing, "kind": END, "class": table.class_of_end}


def flags_of(text: Drawn) -> list[int]:
    """Tell for each byte whether a part may end after it."""
    return [int(at + 1 in text.cuts) for at in range(len(text.content))]


def pieces_of(text: Drawn, table: Transducer) -> list[bytes]:
    """Run the table: the loop of `scan` in crates/zeton/src/split/scalar.rs."""
    state, at, marks, ends = 0, 0, [0, 0], [0]
    for length, of_class in [
        *zip(text.lengths, text.classes, strict=True),
        (0, table.class_of_end),
    ]:
        actions, state = table.actions[state][of_class], table.next[state][of_class]
        places = ((CUT_MARK_0, marks[0]), (CUT_MARK_1, marks[1]), (CUT_HERE, at))
        ends += [place for action, place in places if actions & action]
        if actions & SET_MARK_0:
            marks[0] = at + length
        if actions & SET_MARK_1:
            marks[1] = at
        at += length
    return [text.content[start:end] for start, end in pairwise(ends)]


def split_entries(name: str) -> list[tuple[int, int, int]]:
    """List the entries of the table of a pattern."""
    entries = entries_of(name, [b"a"], draw_bits(seeded()))
    return [entry for entry in entries if entry[0] == Table.SPLIT]


def test_split() -> None:
    simulate(__name__, "split", {"BYTES_LOG": BYTES_LOG})
