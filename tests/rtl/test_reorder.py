"""reorder against the order of tickets: units finish as they like, words leave in turn."""

from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import FallingEdge, RisingEdge

from rtl.simulation import simulate
from rtl.streams import REGIMES, seeded, start, take

ID_BITS, UNITS, PART_MAX = 9, 4, 8
BYTE, CUT, CLOSE, NOTHING, MARK = 1, 2, 3, 4, 7


class Units:
    """Units that hold some ids, are done some time later, and are drained."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.rng = seeded("units")
        self.ids: list[deque[int]] = [deque() for _ in range(UNITS)]
        self.done = 0

    async def run(self) -> None:
        dut = self.dut
        while True:
            for unit in range(UNITS):
                if self.ids[unit] and self.rng.random() < 0.1:
                    self.done |= 1 << unit
            noise = self.rng.randrange(1 << ID_BITS)
            dut.done.value = self.done
            dut.out_last.value = sum((len(ids) == 1) << u for u, ids in enumerate(self.ids))
            dut.out_two.value = sum((len(ids) == 2) << u for u, ids in enumerate(self.ids))
            dut.out_id.value = sum(
                (ids[0] if ids else noise) << u * ID_BITS for u, ids in enumerate(self.ids)
            )
            await RisingEdge(dut.clk)
            drain, released = int(dut.drain.value), int(dut.released.value)
            assert drain & ~self.done == 0
            assert drain & drain - 1 == 0
            for unit in range(UNITS):
                last = drain >> unit & 1 and len(self.ids[unit]) == 1
                assert released >> unit & 1 == int(last)
                if drain >> unit & 1:
                    self.ids[unit].popleft()
                if last:
                    self.done &= ~(1 << unit)


@cocotb.test(timeout_time=2, timeout_unit="ms")
@cocotb.parametrize(regime=[*REGIMES])
async def words_leave_in_the_order_of_tickets(dut: Any, regime: str) -> None:
    rng = seeded()
    gap, stall = REGIMES[regime]
    await start(dut, ticket_push=0, raw_push=0, done=0, word_ready=0)
    units = Units(dut)
    cocotb.start_soon(units.run())
    expected: list[int] = []
    words: list[int] = []
    cocotb.start_soon(take(dut, "word", stall=stall, into=words))

    for _ in range(400):
        while rng.random() < gap:
            await RisingEdge(dut.clk)
        free = [unit for unit in range(UNITS) if not units.ids[unit]]
        raw, end = int(rng.random() < 0.2), int(rng.random() < 0.3)
        length = rng.randint(1, PART_MAX)
        while not free:
            await RisingEdge(dut.clk)
            free = [unit for unit in range(UNITS) if not units.ids[unit]]
        unit = rng.choice(free)
        await push(dut, "ticket", raw=raw, last=end, length=length, unit=unit)
        if raw:
            kinds = [BYTE] + [rng.choice([BYTE, CUT]) for _ in range(rng.randrange(9))] + [CLOSE]
            kinds = rng.choice([kinds, kinds, [NOTHING], [MARK]])
            stretch = [kind << 24 | rng.randrange(256) for kind in kinds]
            stretch[-1] |= end << 27
            expected += stretch
            for word in stretch:
                while rng.random() < gap:
                    await RisingEdge(dut.clk)
                await push(dut, "raw", word=word)
        else:
            ids = [rng.randrange(1 << ID_BITS) for _ in range(rng.randint(1, length))]
            units.ids[unit].extend(ids)
            expected += [*ids[:-1], ids[-1] | end << 27]
    while len(words) < len(expected):
        await RisingEdge(dut.clk)
    for _ in range(5):
        await RisingEdge(dut.clk)
    assert words == expected
    assert dut.idle.value


async def push(dut: Any, name: str, **fields: int) -> None:
    """Push something as soon as it is ready, which is known at the start of a cycle."""
    await FallingEdge(dut.clk)
    while not getattr(dut, f"{name}_ready").value:
        await FallingEdge(dut.clk)
    for field, value in fields.items():
        getattr(dut, f"{name}_{field}").value = value
    getattr(dut, f"{name}_push").value = 1
    await RisingEdge(dut.clk)
    getattr(dut, f"{name}_push").value = 0


def test_reorder() -> None:
    parameters = {"ID_BITS": ID_BITS, "ALL": UNITS, "PART_MAX": PART_MAX}
    # Few tickets and a short ring, so that both run full.
    parameters |= {"TICKET_BITS": 3, "RING_BITS": 5}
    simulate(__name__, "reorder", parameters)
