"""pieces against the engine's split and the rule of bridges: texts in, parts out."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from rtl.front import (
    BRIDGE_BITS,
    CLOSE,
    MARKED,
    Text,
    bad_bytes,
    bridge_cuts,
    check_stretches,
    count,
    draw_bits,
    draw_texts,
    entries_of,
    load,
    read,
    stretches_of,
    text_items,
    tokenizer,
)
from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, pack, reset, seeded, start, take

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cocotb.task import Task

NAMES = ["gpt2", "cl100k", "nanochat", "o200k"]
PART_MAX = 32
INPUTS = {"text_valid": 0, "byte_ready": 0, "record_ready": 0, "table_request": 0}
RECORD = ("kind", "payload", "last")
SPILL_MIN = 1 << int(os.environ.get("BYTES_LOG", "11")) - 1


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(regime=[*REGIMES])
async def gives_the_parts_of_the_engines_pieces(dut: Any, regime: str) -> None:
    gap, stall = REGIMES[regime]
    rng = seeded(regime)
    for name in NAMES:
        bits = draw_bits(rng, rng.choice([0, 0.3, 0.9]))
        texts = draw_texts(rng, 20, run_max=4 * SPILL_MIN)
        await begin(dut, name, texts, bits)
        counters: dict[str, list[int]] = {"byte": [], "piece": [], "bad": []}
        for counter, into in counters.items():
            cocotb.start_soon(count(dut.clk, getattr(dut, f"count_{counter}"), into))
        content, records = await run(dut, texts, gap, stall)
        pieces = check(content, records, texts, name, bits)
        assert len(counters["byte"]) == len(content)
        assert len(counters["piece"]) == pieces
        assert len(counters["bad"]) == sum(bad_bytes(text) for text in texts if text)


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def lets_pieces_of_any_length_pass(dut: Any) -> None:
    rng = seeded()
    runs = [b"a", b" ", b"\n", b"\n ", b"!", "中".encode(), b"\xff", b"aB"]
    ends = [b"", b"a", b"5", b" \n", b"'s"]
    for name in NAMES:
        texts = [
            rng.choice([b"", b"\n", b"x"]) + run * (6 * SPILL_MIN // len(run)) + end
            for run, end in zip(rng.sample(runs, 3), rng.sample(ends, 3), strict=True)
        ]
        bits = draw_bits(rng)
        await begin(dut, name, texts, bits)
        content, records = await run_text(dut, texts)
        check(content, records, texts, name, bits)
        assert (CLOSE, 0, 1) in records or (CLOSE, 0, 0) in records


@cocotb.test(timeout_time=10, timeout_unit="ms")
@cocotb.parametrize(
    (
        ("text", "rate"),
        [
            (b"one byte in every cycle, and more 'words' 12 ", 1),
            (b"if x:\n        return 5\n", 1),
            (b"5\n", 1),
            (b"\n \t5", 0.66),
        ],
    )
)
async def keeps_pace(dut: Any, text: bytes, rate: float) -> None:
    texts = [text * (2 * SPILL_MIN // len(text))]
    bits = draw_bits(seeded())
    await begin(dut, "cl100k", texts, bits)
    dut.byte_ready.value = dut.record_ready.value = dut.text_valid.value = 1
    cycles = 0
    for byte in texts[0]:
        dut.text_data.value = pack("text", byte=byte, keep=1)
        await RisingEdge(dut.clk)
        cycles += 1
        while not dut.text_ready.value:
            await RisingEdge(dut.clk)
            cycles += 1
    assert cycles <= len(texts[0]) / rate


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def forgets_all_at_a_reset_but_tables(dut: Any) -> None:
    rng = seeded()
    long: list[Text] = [b"\n \n" + b" " * (4 * SPILL_MIN)]
    short: list[Text] = ["It's 中文 1\n\n  2".encode(), b"", None, b"\xe4\xb8"]
    bits = draw_bits(rng)
    await begin(dut, "cl100k", [*long, *short], bits)
    for begun in (1, 5, 12, 20, 100, SPILL_MIN, SPILL_MIN + 20, SPILL_MIN + 200, 3 * SPILL_MIN):
        tasks: list[Task[Any]] = [
            cocotb.start_soon(offer(dut, "text", text_items(long, rng))),
            cocotb.start_soon(take(dut, "byte", stall=0.2)),
            cocotb.start_soon(take(dut, "record", fields=RECORD, stall=0.2)),
        ]
        for _ in range(begun):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        dut.text_valid.value = dut.byte_ready.value = dut.record_ready.value = 0
        await reset(dut)
        assert dut.idle.value
        content, records = await run_text(dut, short)
        check(content, records, short, "cl100k", bits)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def reads_tables_back(dut: Any) -> None:
    rng = seeded()
    entries = [*entries_of("o200k", ["a中😀".encode()], draw_bits(rng))]
    await start(dut, **INPUTS)
    await load(dut, entries)
    for _ in range(4):
        await RisingEdge(dut.clk)
    for table, address, data in [*rng.sample(entries, 40), *entries[-40:]]:
        assert await read(dut, table, address, latency=5) == data
    assert await read(dut, 4, 0, latency=5) == 0


async def begin(dut: Any, name: str, texts: Sequence[Text], bits: list[int]) -> None:
    """Reset, and load the tables that texts need."""
    await start(dut, **INPUTS)
    await load(dut, entries_of(name, texts, bits))


async def run_text(dut: Any, texts: Sequence[Text]) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Send texts as fast as they are taken."""
    return await run(dut, texts, 0, 0)


async def run(
    dut: Any, texts: Sequence[Text], gap: float, stall: float
) -> tuple[bytes, list[tuple[int, int, int]]]:
    """Send texts; return the bytes and the records that come of them."""
    cocotb.start_soon(offer(dut, "text", text_items(texts, seeded("items")), gap))
    total = sum(len(text) for text in texts if text)
    taker = cocotb.start_soon(take(dut, "byte", count=total, stall=stall))
    records: list[tuple[int, int, int]] = []
    ended = 0
    while ended < len(texts):
        [record] = await take(dut, "record", fields=RECORD, count=1, stall=stall)
        records.append(record)
        ended += record[2] or record[0] == MARKED
    content = bytes(await taker)
    await RisingEdge(dut.clk)
    assert dut.idle.value
    return content, records


def check(
    content: bytes,
    records: list[tuple[int, int, int]],
    texts: Sequence[Text],
    name: str,
    bits: list[int],
) -> int:
    """Check the output of texts; return the number of their pieces."""
    total = 0
    for text, got in zip(texts, stretches_of(content, records), strict=True):
        assert (got is None) == (text is None)
        if text is not None and got is not None:
            assert b"".join(stretch.content for stretch in got) == text
            pieces = tokenizer(name).split(text)
            total += len(pieces)
            cuts = bridge_cuts(text, bits)
            check_stretches(got, pieces, cuts, part_max=PART_MAX, spill_min=SPILL_MIN)
    return total


@pytest.mark.parametrize("bytes_log", [8, pytest.param(11, marks=pytest.mark.long)])
def test_pieces(bytes_log: int) -> None:
    parameters = {"BRIDGE_BITS": BRIDGE_BITS, "PART_MAX": PART_MAX, "BYTES_LOG": bytes_log}
    simulate(__name__, "pieces", parameters, environment={"BYTES_LOG": str(bytes_log)})
