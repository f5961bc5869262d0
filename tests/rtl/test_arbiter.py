"""arbiter against the rule: after a grant, requesters above the granted one come first."""

from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from rtl.simulation import simulate
from rtl.streams import seeded, start


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def grants_in_turn(dut: Any) -> None:
    rng = seeded()
    count = len(dut.request)
    await start(dut, request=0, stall=0)
    await RisingEdge(dut.clk)
    granted, expected = -1, None
    for _ in range(2000):
        share = rng.choice([0.05, 0.5, 1.0])
        requests = [unit for unit in range(count) if rng.random() < share]
        stall = rng.random() < 0.3
        dut.request.value, dut.stall.value = sum(1 << unit for unit in requests), int(stall)
        await RisingEdge(dut.clk)
        assert int(dut.grant_valid.value) == int(expected is not None)
        assert int(dut.grant.value) == (0 if expected is None else 1 << expected)
        if expected is not None:
            assert int(dut.grant_index.value) == expected
        picked = min(requests, key=lambda unit: (unit - granted - 1) % count, default=None)
        expected = None if stall else picked
        granted = granted if expected is None else expected


@pytest.mark.parametrize(
    "count", [3, *(pytest.param(count, marks=pytest.mark.long) for count in (1, 14))]
)
def test_arbiter(count: int) -> None:
    simulate(__name__, "arbiter", {"COUNT": count})
