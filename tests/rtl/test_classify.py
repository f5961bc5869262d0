"""classify, with bridges within, against the engine's classes and Python's own UTF-8."""

from __future__ import annotations

from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from rtl.front import (
    BRIDGE_BITS,
    END,
    MARK,
    NOT_UTF8,
    Item,
    bad_bytes,
    count,
    draw_bits,
    draw_texts,
    entries_of,
    items_of,
    load,
    read,
    text_items,
    transducer,
)
from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, pack, reset, seeded, start, take, unpack

FIELDS = ("kind", "byte", "first", "more", "class", "cut")
INPUTS = {"text_valid": 0, "item_ready": 0, "table_request": 0}


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(regime=[*REGIMES])
async def reads_characters(dut: Any, regime: str) -> None:
    gap, stall = REGIMES[regime]
    rng = seeded(regime)
    bits = draw_bits(rng)
    texts = [*draw_texts(rng, 60), *NOT_UTF8, *(byte + b"a" for byte in NOT_UTF8)]
    rng.shuffle(texts)
    name = rng.choice(["gpt2", "o200k"])
    await start(dut, **INPUTS)
    await load(dut, entries_of(name, texts, bits))
    counted: list[int] = []
    cocotb.start_soon(count(dut.clk, dut.count_bad, counted))
    expected = [*items_of(texts, transducer(name), bits)]
    cocotb.start_soon(offer(dut, "text", text_items(texts, rng), gap))
    taken = await take(dut, "item", fields=FIELDS, count=len(expected), stall=stall)
    assert [*map(meaning, taken)] == expected
    for _ in range(3):
        await RisingEdge(dut.clk)
    assert dut.idle.value
    assert len(counted) == sum(bad_bytes(text) for text in texts if text)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def knows_every_plane(dut: Any) -> None:
    rng = seeded()
    planes = [*range(17)] * 20
    points = [plane << 16 | rng.randrange(0x10000) for plane in planes]
    points += rng.sample(range(0xE0100, 0xE01F0), 20)  # Plane 14's own: marks.
    text = "".join(chr(point) for point in points if not 0xD800 <= point < 0xE000).encode()
    bits = draw_bits(rng)
    await start(dut, **INPUTS)
    await load(dut, entries_of("o200k", [text], bits))
    cocotb.start_soon(offer(dut, "text", text_items([text], rng)))
    expected = [*items_of([text], transducer("o200k"), bits)]
    taken = await take(dut, "item", fields=FIELDS, count=len(expected))
    assert [*map(meaning, taken)] == expected


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_a_byte_in_every_cycle(dut: Any) -> None:
    rng = seeded()
    text = b"one byte a cycle, " + "whatever it is: é, 中, 😀".encode() + b"\xff\xe4 !" + b"\n" * 40
    bits = draw_bits(rng)
    await start(dut, **INPUTS)
    await load(dut, entries_of("gpt2", [text], bits))
    dut.item_ready.value = 1
    dut.text_valid.value = 1
    seen: list[int | None] = []
    for cycle in range(len(text) + 20):
        dut.text_data.value = pack("text", byte=text[cycle % len(text)], keep=1)
        await RisingEdge(dut.clk)
        assert dut.text_ready.value
        has_item = bool(dut.item_valid.value)
        seen.append(unpack("item", int(dut.item_data.value))["byte"] if has_item else None)
    assert seen[:11] == [None] * 11
    assert bytes(byte for byte in seen[11:] if byte is not None) == (text + text)[: len(text) + 9]


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def forgets_all_at_a_reset_but_tables(dut: Any) -> None:
    rng = seeded()
    bits = draw_bits(rng)
    texts = ["中文".encode(), b"\xe4\xb8a"]
    await start(dut, **INPUTS)
    await load(dut, entries_of("gpt2", texts, bits))
    expected = [*items_of(texts, transducer("gpt2"), bits)]
    for begun in range(1, 12):
        sender = cocotb.start_soon(
            offer(dut, "text", [{"byte": 0xE4, "keep": 1, "last": 1, "mark": 0}] * begun)
        )
        for _ in range(begun):
            await RisingEdge(dut.clk)
        sender.cancel()
        dut.text_valid.value = 0
        await reset(dut)
        assert not dut.item_valid.value
        cocotb.start_soon(offer(dut, "text", text_items(texts, rng)))
        taken = await take(dut, "item", fields=FIELDS, count=len(expected))
        assert [*map(meaning, taken)] == expected


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_tables_back(dut: Any) -> None:
    rng = seeded()
    entries = [
        entry for entry in entries_of("o200k", ["a中😀".encode()], draw_bits(rng)) if entry[0] != 2
    ]
    await start(dut, **INPUTS)
    await load(dut, entries)
    for _ in range(3):
        await RisingEdge(dut.clk)
    for table, address, data in rng.sample(entries, 40) + [
        entry for entry in entries if entry[0] == 5
    ]:
        assert await read(dut, table, address, latency=4) == data
    assert await read(dut, 2, 0, latency=4) == 0


def meaning(fields: tuple[int, ...]) -> Item:
    """Drop the fields without meaning."""
    item = Item(*fields)
    if item.kind == MARK:
        return Item(MARK)
    if item.kind == END:
        return Item(END, of_class=item.of_class)
    return item if item.first else Item(item.kind, item.byte)


@pytest.mark.long  # Tests of pieces, which are not, run it too.
def test_classify() -> None:
    simulate(__name__, "classify", {"BRIDGE_BITS": BRIDGE_BITS})
