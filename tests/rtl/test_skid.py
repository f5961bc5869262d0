"""skid against a Python list: every word leaves, in order, once, one in every cycle."""

from typing import Any

import cocotb
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


@cocotb.test(timeout_time=20, timeout_unit="us")
async def moves_a_word_in_every_cycle(dut: Any) -> None:
    await start(dut, in_valid=0, out_ready=0)
    await RisingEdge(dut.clk)
    dut.in_valid.value, dut.out_ready.value = 1, 1
    seen = []
    for cycle in range(50):
        dut.in_data.value = cycle
        await RisingEdge(dut.clk)
        assert dut.in_ready.value
        seen.append(int(dut.out_data.value) if dut.out_valid.value else None)
    assert seen == [None, *range(49)]


@cocotb.test(timeout_time=20, timeout_unit="us")
async def takes_two_words_while_none_is_taken(dut: Any) -> None:
    await start(dut, in_valid=0, out_ready=0)
    sender = cocotb.start_soon(offer(dut, "in", range(5)))
    for _ in range(10):
        await RisingEdge(dut.clk)
    assert dut.out_valid.value
    assert not dut.in_ready.value
    assert dut.in_data.value == 2
    assert await take(dut, "out", count=5) == list(range(5))
    await sender


@cocotb.test(timeout_time=20, timeout_unit="us")
async def forgets_all_at_a_reset_and_takes_nothing_meanwhile(dut: Any) -> None:
    await start(dut, in_valid=0, out_ready=0)
    await offer(dut, "in", [1, 2])
    await reset(dut)
    assert not dut.in_ready.value
    for _ in range(5):
        await RisingEdge(dut.clk)
        assert not dut.out_valid.value
    cocotb.start_soon(offer(dut, "in", [7, 8, 9]))
    assert await take(dut, "out", count=3) == [7, 8, 9]


def test_skid() -> None:
    simulate(__name__, "skid", {"WIDTH": WIDTH})
