"""fifo against a Python list: every word leaves, in order, once."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, reset, seeded, start, take

WIDTH = 12


@cocotb.test(timeout_time=200, timeout_unit="us")
@cocotb.parametrize(regime=[*REGIMES])
async def gives_back_what_it_took(dut: Any, regime: str) -> None:
    gap, stall = REGIMES[regime]
    words = [seeded().randrange(1 << WIDTH) for _ in range(600)]
    await start(dut, in_valid=0, out_ready=0)
    cocotb.start_soon(offer(dut, "in", words, gap))
    assert await take(dut, "out", count=len(words), stall=stall) == words
    await RisingEdge(dut.clk)
    assert not dut.out_valid.value
    assert dut.occupancy.value == 0


@cocotb.test(timeout_time=20, timeout_unit="us")
async def holds_as_many_as_promised_and_says_how_many(dut: Any) -> None:
    depth = 1 << (len(dut.occupancy) - 1)
    await start(dut, in_valid=0, out_ready=0)
    sender = cocotb.start_soon(offer(dut, "in", range(2 * depth)))
    for _ in range(2 * depth + 10):
        await RisingEdge(dut.clk)
    assert dut.occupancy.value == depth
    assert not dut.in_ready.value
    assert await take(dut, "out", count=2 * depth) == list(range(2 * depth))
    await sender


@cocotb.test(timeout_time=20, timeout_unit="us")
async def moves_a_word_in_every_cycle(dut: Any) -> None:
    depth = 1 << (len(dut.occupancy) - 1)
    if depth < 4:
        return  # Three words are on their way through registers: less room cannot keep pace.
    await start(dut, in_valid=0, out_ready=0)
    await RisingEdge(dut.clk)
    dut.in_valid.value, dut.out_ready.value = 1, 1
    seen = []
    for cycle in range(50):
        dut.in_data.value = cycle
        await RisingEdge(dut.clk)
        seen.append(int(dut.out_data.value) if dut.out_valid.value else None)
    assert seen == [None] * 3 + list(range(47))


@cocotb.test(timeout_time=20, timeout_unit="us")
async def forgets_all_at_a_reset(dut: Any) -> None:
    await start(dut, in_valid=0, out_ready=0)
    await offer(dut, "in", [1, 2])
    await reset(dut)
    for _ in range(5):
        await RisingEdge(dut.clk)
        assert not dut.out_valid.value
    cocotb.start_soon(offer(dut, "in", [7, 8, 9]))
    assert await take(dut, "out", count=3) == [7, 8, 9]


@pytest.mark.parametrize("depth_log", [4, pytest.param(1, marks=pytest.mark.long)])
def test_fifo(depth_log: int) -> None:
    parameters = {"WIDTH": WIDTH, "DEPTH_LOG": depth_log}
    simulate(__name__, "fifo", parameters)
