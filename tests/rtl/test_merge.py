"""merge against the engine: the ids of pieces by drawn vocabularies, with late results."""

import os
import random
from collections import deque
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from rtl.simulation import simulate
from rtl.streams import seeded, start
from rtl.vocabularies import draw_piece, draw_tokenizer

ID_BITS = 10
ODD = int(os.environ.get("ODD", "0"))  # Of the unit: see rtl/merge.sv.
LATENCY = 5  # Cycles between a grant and its result, at least.


@cocotb.test(timeout_time=10, timeout_unit="ms")
async def merges_as_the_engine_does(dut: Any) -> None:
    rng = seeded()
    slots = 1 << len(dut.lookup_slot) // 2
    await start(dut, load_valid=0, load_id=0, load_last=0, drain=0, lookup_grant=0, result_valid=0)
    for _ in range(5):
        tokenizer = draw_tokenizer(rng)
        pairs = Pairs(dut, tokenizer.merges(), rng)
        answering = cocotb.start_soon(pairs.run())
        for _ in range(40):
            length = rng.choice([1, 2, slots, rng.randint(1, slots)])
            piece = draw_piece(rng, length)
            gap, stall = rng.choice([0.0, 0.5]), rng.choice([0.0, 0.5])
            await load(dut, piece, gap, pairs, rng)
            assert await drain(dut, stall, rng) == tokenizer.encode(piece), piece
        answering.cancel()


async def load(dut: Any, piece: bytes, gap: float, pairs: "Pairs", rng: random.Random) -> None:
    """Give a piece's bytes, whose ids are the bytes themselves, with noise between them.

    The pair of a byte with the one before is looked up along with it.
    """
    for at, byte in enumerate(piece):
        while rng.random() < gap:
            dut.load_id.value, dut.load_last.value = rng.randrange(256), rng.randrange(2)
            await RisingEdge(dut.clk)
        dut.load_valid.value, dut.load_id.value = 1, byte
        dut.load_last.value = int(at == len(piece) - 1)
        await RisingEdge(dut.clk)
        dut.load_valid.value = 0
        if at > 0:
            pairs.look_up((at - 1 + ODD) % 2, at - 1, (piece[at - 1], byte))


async def drain(dut: Any, stall: float, rng: random.Random) -> list[int]:
    """Wait until the unit is done, and take its ids."""
    while not dut.done.value:
        await RisingEdge(dut.clk)
    ids: list[int] = []
    told_last: int | None = None
    while True:
        willing = int(rng.random() >= stall)
        dut.drain.value = willing
        await RisingEdge(dut.clk)
        assert dut.done.value
        if willing:
            ids.append(int(dut.out_id.value))
            assert told_last in (None, int(dut.out_last.value))
            told_last = int(dut.out_two.value)
            if dut.out_last.value:
                dut.drain.value = 0
                await RisingEdge(dut.clk)
                return ids


class Pairs:
    """Grants lookups at will, and gives each result in its port's order, some later than others."""

    def __init__(self, dut: Any, merges: dict[tuple[int, int], int], rng: random.Random) -> None:
        self.dut, self.merges, self.rng = dut, merges, rng
        self.cycle = 0
        self.due: tuple[deque[tuple[int, int, int | None]], ...] = (deque(), deque())

    def look_up(self, port: int, slot: int, pair: tuple[int, int]) -> None:
        late = self.rng.choice([0, 0, 0, 5])
        self.due[port].append((self.cycle + LATENCY + late, slot, self.merges.get(pair)))

    async def run(self) -> None:
        dut, rng, grants = self.dut, self.rng, 0
        slot_bits = len(dut.lookup_slot) // 2
        while True:
            await RisingEdge(dut.clk)
            self.cycle += 1
            # The edge saw the granted lookups; results and the next grants are for the next edge.
            for port in range(2):
                if grants >> port & 1:
                    left = part(dut.lookup_left, port, ID_BITS)
                    right = part(dut.lookup_right, port, ID_BITS)
                    slot = part(dut.lookup_slot, port, slot_bits)
                    assert (slot + ODD) % 2 == port
                    self.look_up(port, slot, (left, right))
            grants = int(dut.lookup_request.value) & rng.choice([0, 1, 2, 3, 3, 3])
            valid, hit, ids, slots = 0, rng.randrange(4), 0, 0
            for port in range(2):
                merged: int | None = rng.randrange(1 << ID_BITS)
                slot = 0
                if self.due[port] and self.due[port][0][0] <= self.cycle:
                    _, slot, merged = self.due[port].popleft()
                    valid |= 1 << port
                    hit = hit & ~(1 << port) | (merged is not None) << port
                ids |= (merged or 0) << port * ID_BITS
                slots |= slot << port * slot_bits
            dut.lookup_grant.value, dut.result_valid.value, dut.result_hit.value = (
                grants,
                valid,
                hit,
            )
            dut.result_id.value, dut.result_slot.value = ids, slots


def part(signal: Any, at: int, bits: int) -> int:
    return int(signal.value) >> at * bits & (1 << bits) - 1


@pytest.mark.parametrize(
    ("slots", "odd"), [(16, 1), *(pytest.param(n, 0, marks=pytest.mark.long) for n in (2, 4, 64))]
)
def test_merge(slots: int, odd: int) -> None:
    parameters = {"ID_BITS": ID_BITS, "SLOTS": slots, "ODD": odd}
    simulate(__name__, "merge", parameters, environment={"ODD": str(odd)})
