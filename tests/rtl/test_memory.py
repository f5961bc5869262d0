"""memory and memory_pair against a Python list: a written word is read, one cycle later."""

from typing import Any

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

from rtl.simulation import simulate
from rtl.streams import seeded

WIDTH, DEPTH_LOG = 12, 4
DEPTH = 1 << DEPTH_LOG


@cocotb.test(timeout_time=100, timeout_unit="us")
async def memory(dut: Any) -> None:
    rng = seeded()
    words, due = [0] * DEPTH, -1
    Clock(dut.clk, 10, unit="ns").start()
    for cycle in range(1000):
        # First every word is written; later nothing is read while it is.
        begun = cycle >= DEPTH
        read, read_at = int(begun and rng.random() < 0.5), rng.randrange(DEPTH)
        write_at = rng.randrange(DEPTH) if begun else cycle
        write = int(not begun or (rng.random() < 0.5 and write_at != read_at))
        data = rng.randrange(1 << WIDTH)
        dut.read.value, dut.read_address.value = read, read_at
        dut.write.value, dut.write_address.value, dut.write_data.value = write, write_at, data
        await RisingEdge(dut.clk)
        assert due == -1 or int(dut.read_data.value) == due
        due = words[read_at] if read else due
        if write:
            words[write_at] = data


@cocotb.test(timeout_time=100, timeout_unit="us")
async def memory_pair(dut: Any) -> None:
    rng = seeded()
    words, due_0, due_1 = [0] * DEPTH, -1, -1
    Clock(dut.clk, 10, unit="ns").start()
    for cycle in range(1000):
        begun = cycle >= DEPTH
        at_0 = rng.randrange(DEPTH) if begun else cycle
        at_1 = rng.randrange(DEPTH)
        write = int(not begun or (rng.random() < 0.5 and at_0 != at_1))
        data = rng.randrange(1 << WIDTH)
        dut.write.value, dut.address_0.value, dut.write_data.value = write, at_0, data
        dut.address_1.value = at_1
        await RisingEdge(dut.clk)
        assert due_0 == -1 or int(dut.read_data_0.value) == due_0
        assert due_1 == -1 or int(dut.read_data_1.value) == due_1
        # A port that writes keeps what it read.
        due_0 = due_0 if write else words[at_0]
        due_1 = words[at_1] if begun else -1
        if write:
            words[at_0] = data


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "more"), [("memory", {}), ("memory_pair", {}), ("memory_pair", {"SLICE": 5})]
)
def test_memory(name: str, more: dict[str, int]) -> None:
    simulate(__name__, name, {"WIDTH": WIDTH, "DEPTH_LOG": DEPTH_LOG, **more}, testcase=name)
