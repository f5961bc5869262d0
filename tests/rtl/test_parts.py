"""parts against a loop over bytes: short parts whole, long ones raw, spilled bytes unchanged."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from rtl.front import CLOSE, CUT, MARKED, NOTHING, PART, RAW
from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, reset, seeded, start, take, unpack

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from cocotb.task import Task

PART_MAX = 12
RAW_MAX = 64
PIECE, OPEN = 0, 1
INPUTS = dict.fromkeys(("byte_valid", "record_valid", "part_byte_ready", "part_ready"), 0)
Record = tuple[int, int, int]
Byte = tuple[int, int]


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(regime=[*REGIMES])
async def cuts_pieces(dut: Any, regime: str) -> None:
    gap, stall = REGIMES[regime]
    rng = seeded(regime)
    records = [record for _ in range(150) for record in draw_records(rng)]
    content = [*bytes_for(records, rng)]
    expected = [*parts_of(records, content)]
    await start(dut, **INPUTS)
    cocotb.start_soon(
        offer(dut, "byte", [{"data": byte, "cut": cut} for byte, cut in content], gap)
    )
    cocotb.start_soon(offer(dut, "record", [*map(fields, records)], gap))
    taker = cocotb.start_soon(take(dut, "part_byte", count=len(content), stall=stall))
    taken = await take(
        dut, "part", fields=("kind", "payload", "last"), count=len(expected), stall=stall
    )
    assert taken == expected
    assert await taker == [byte for byte, _ in content]
    await RisingEdge(dut.clk)
    assert dut.idle.value


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def takes_a_byte_in_every_cycle(dut: Any) -> None:
    await start(dut, **INPUTS)
    dut.part_byte_ready.value = dut.part_ready.value = dut.byte_valid.value = 1
    dut.byte_data.value, dut.byte_cut.value = 7, 1
    cocotb.start_soon(offer(dut, "record", [fields((PIECE, 1 + at % 3, 0)) for at in range(60)]))
    while not dut.part_valid.value:
        await RisingEdge(dut.clk)
    for _ in range(100):
        assert dut.part_valid.value
        assert unpack("part", int(dut.part_data.value))["payload"] == 1
        assert dut.part_byte_valid.value
        await RisingEdge(dut.clk)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def gives_the_bytes_of_a_part_no_later_than_its_record(dut: Any) -> None:
    rng = seeded()
    records = [(PIECE, rng.randrange(1, 200), 0) for _ in range(20)]
    content = [*bytes_for(records, rng)]
    await start(dut, **INPUTS)
    given: list[Any] = []
    cocotb.start_soon(offer(dut, "byte", [{"data": byte, "cut": cut} for byte, cut in content]))
    cocotb.start_soon(offer(dut, "record", [*map(fields, records)]))
    cocotb.start_soon(take(dut, "part_byte", into=given))
    told = 0
    while told < len(content):
        [(kind, payload)] = await take(dut, "part", fields=("kind", "payload"), count=1, stall=0.3)
        told += payload if kind in (PART, RAW) else 0
        await RisingEdge(dut.clk)  # The last byte may come with the record.
        assert len(given) >= told


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def forgets_all_at_a_reset(dut: Any) -> None:
    rng = seeded()
    for begun in range(1, 120, 7):
        await start(dut, **INPUTS)
        bytes_sent = offer(dut, "byte", [{"data": 1, "cut": 0}] * begun)
        records_sent = offer(dut, "record", [fields((PIECE, begun + 1, 1))])
        tasks: list[Task[Any]] = [cocotb.start_soon(bytes_sent), cocotb.start_soon(records_sent)]
        tasks.append(cocotb.start_soon(take(dut, "part", fields=("kind",))))
        dut.part_byte_ready.value = 1
        for _ in range(begun + 3):
            await RisingEdge(dut.clk)
        for task in tasks:
            task.cancel()
        for name in INPUTS:
            getattr(dut, name).value = 0
        await reset(dut)
        assert dut.idle.value
        content = rng.randbytes(5)
        cocotb.start_soon(offer(dut, "byte", [{"data": byte, "cut": 0} for byte in content]))
        cocotb.start_soon(offer(dut, "record", [fields((PIECE, 5, 1))]))
        taker = cocotb.start_soon(take(dut, "part_byte", count=5))
        assert await take(dut, "part", fields=("kind", "payload", "last"), count=1) == [
            (PART, 5, 1)
        ]
        assert bytes(await taker) == content


def fields(record: Record) -> dict[str, int]:
    """Name the fields of a record."""
    return dict(zip(("kind", "payload", "last"), record, strict=True))


def draw_records(rng: random.Random) -> Iterator[Record]:
    """Draw a piece, a stretch that was spilled, an empty text or a mark."""
    sort, last = rng.random(), int(rng.random() < 0.3)
    if sort < 0.1:
        yield (NOTHING, 0, 1) if last else (MARKED, 0, 0)
    elif sort < 0.9:
        length = rng.choice([1, 1, 2, rng.randrange(1, 20), PART_MAX, PART_MAX + 1])
        yield PIECE, length if rng.random() < 0.95 else rng.randrange(1, 400), last
    else:
        given = 0
        for _ in range(rng.randrange(1, 4)):
            length = rng.choice([1, RAW_MAX, RAW_MAX + 1, rng.randrange(1, 200)])
            given += length
            yield OPEN, length, 0
            if rng.random() < 0.5:
                yield CUT, rng.randrange(given) + 1, 0
        yield CLOSE, given, last


def bytes_for(records: list[Record], rng: random.Random) -> Iterator[Byte]:
    """Draw the bytes of records, and where parts of a piece may end."""
    often = rng.choice([0.02, 0.3, 1])
    for kind, payload, _ in records:
        if kind in (PIECE, OPEN):
            for _ in range(payload):
                yield rng.randrange(256), int(rng.random() < often)


def parts_of(records: list[Record], content: list[Byte]) -> Iterator[Record]:
    """Yield the expected records."""
    at = 0
    for kind, payload, last in records:
        if kind == PIECE:
            cuts = [place for place in range(1, payload) if content[at + place - 1][1]]
            for begin, end in pairwise([0, *cuts, payload]):
                ends = last if end == payload else 0
                if end - begin <= PART_MAX:
                    yield PART, end - begin, ends
                else:
                    yield RAW, PART_MAX, 0
                    yield from raw(end - begin - PART_MAX)
                    yield CLOSE, 0, ends
            at += payload
        elif kind == OPEN:
            yield from raw(payload)
            at += payload
        else:
            yield kind, payload if kind == CUT else 0, last


def raw(length: int) -> Iterator[Record]:
    """Yield raw bytes in steps."""
    for given in range(0, length, RAW_MAX):
        yield RAW, min(RAW_MAX, length - given), 0


@pytest.mark.long  # Tests of pieces, which are not, run it too.
def test_parts() -> None:
    simulate(__name__, "parts", {"PART_MAX": PART_MAX})
