"""bus against a Python dict: accesses of AXI4-Lite become requests, one at a time."""

from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, seeded, start, take

IDLE = dict.fromkeys(
    ("aw_valid", "w_valid", "ar_valid", "b_ready", "r_ready", "response_valid", "response_error"), 0
)
ERROR = 0xF0  # The word that is refused.


async def registers(dut: Any, words: dict[int, int], requested: list[tuple[int, int]]) -> None:
    """Respond to requests, some late; note of each whether it writes, and its address."""
    rng = seeded("registers")
    while True:
        await RisingEdge(dut.clk)
        if not dut.request_valid.value:
            continue
        address, write = int(dut.request_address.value), int(dut.request_write.value)
        requested.append((write, address))
        if write:
            bits = int(dut.request_mask.value)
            words[address] = words.get(address, 0) & ~bits | int(dut.request_data.value) & bits
        for _ in range(rng.choice([0, 0, 1, 3])):
            await RisingEdge(dut.clk)
            assert not dut.request_valid.value, "the previous request has no response yet"
        dut.response_valid.value, dut.response_error.value = 1, int(address == ERROR)
        dut.response_data.value = words.get(address, 0)
        await RisingEdge(dut.clk)
        assert not dut.request_valid.value, "the previous request has no response yet"
        dut.response_valid.value = 0


@cocotb.test(timeout_time=500, timeout_unit="us")
@cocotb.parametrize(regime=[*REGIMES])
async def reads_what_was_written(dut: Any, regime: str) -> None:
    gap, stall = REGIMES[regime]
    rng = seeded()
    words: dict[int, int] = {}
    expected: dict[int, int] = {}
    await start(dut, **IDLE)
    cocotb.start_soon(registers(dut, words, []))
    for _ in range(150):
        at = rng.choice([0, 4, 8, ERROR])
        if rng.random() < 0.5:
            data, strobe = rng.getrandbits(32), rng.randrange(16)
            bits = sum(0xFF << 8 * byte for byte in range(4) if strobe >> byte & 1)
            expected[at] = expected.get(at, 0) & ~bits | data & bits
            cocotb.start_soon(offer(dut, "aw", [at | rng.randrange(4)], gap, rng))
            cocotb.start_soon(offer(dut, "w", [{"data": data, "bytes": strobe}], gap, rng))
            assert await take(dut, "b", ("error",), count=1, stall=stall) == [at == ERROR]
            assert words[at] == expected[at]
        else:
            cocotb.start_soon(offer(dut, "ar", [at | rng.randrange(4)], gap, rng))
            found = await take(dut, "r", ("data", "error"), count=1, stall=stall)
            assert found == [(expected.get(at, 0), at == ERROR)]


@cocotb.test(timeout_time=500, timeout_unit="us")
@cocotb.parametrize(regime=[*REGIMES])
async def takes_reads_and_writes_that_wait_in_turn(dut: Any, regime: str) -> None:
    gap, stall = REGIMES[regime]
    words = {4 * at: at for at in range(32)}
    requested: list[tuple[int, int]] = []
    await start(dut, **IDLE)
    cocotb.start_soon(registers(dut, words, requested))
    cocotb.start_soon(offer(dut, "ar", [4 * at for at in range(32)], gap))
    cocotb.start_soon(offer(dut, "aw", [128 + 4 * at for at in range(28)], gap))
    cocotb.start_soon(offer(dut, "w", [{"data": at, "bytes": 15} for at in range(28)], gap))
    written = cocotb.start_soon(take(dut, "b", ("error",), count=28, stall=stall))
    assert await take(dut, "r", count=32, stall=stall) == list(range(32))
    assert await written == [0] * 28
    assert [address for write, address in requested if not write] == [4 * at for at in range(32)]
    assert [address for write, address in requested if write] == [128 + 4 * at for at in range(28)]
    assert [words[128 + 4 * at] for at in range(28)] == list(range(28))
    if not gap:
        turns = [write for write, _ in requested[2:50]]
        assert turns == [turns[0], 1 - turns[0]] * 24


def test_bus() -> None:
    simulate(__name__, "bus")
