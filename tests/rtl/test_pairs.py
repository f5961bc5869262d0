"""pairs against a Python dict: every merge is found, nothing else is."""

import random
from typing import Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge

from rtl.simulation import simulate
from rtl.streams import read_table, seeded, start, write_table
from zeton.accel.configuration import Configuration
from zeton.accel.tables.pairs import make_banks

LATENCY = 4  # And one more with an output register.
SOURCE_BITS = 8
PAIRS_0 = 8  # The table of bank 0.


def draw_merges(rng: random.Random, configuration: Configuration) -> dict[tuple[int, int], int]:
    """Draw pairs that fill three quarters of the banks."""
    ids, count = 1 << configuration.id_bits, 3 * configuration.pairs_max // 4
    return {(rng.randrange(ids), rng.randrange(ids)): rng.randrange(ids) for _ in range(count)}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def finds_every_merge_and_nothing_else(dut: Any) -> None:
    rng = seeded()
    id_bits, bank_bits = int(dut.ID_BITS.value), int(dut.BANK_BITS.value)
    latency = LATENCY + int(dut.OUTPUT_REGISTER.value)
    configuration = Configuration(id_bits=id_bits, bank_bits=bank_bits)
    merges = draw_merges(rng, configuration)
    banks = make_banks(merges, configuration)

    await start(dut, lookup_valid=0, lookup_left=0, lookup_right=0, table_request=0)
    for bank, entries in enumerate(banks):
        await write_table(dut, PAIRS_0 + bank, entries.tolist())
    for bank, entries in enumerate(banks):
        for address in rng.sample(range(len(entries)), 5):
            found = await read_table(dut, PAIRS_0 + bank, address, latency)
            assert found == entries[address]

    # All merges, as many pairs that are none, and some that are looked up on both ports at once.
    lookups = [*merges, *((right, left) for left, right in merges), *rng.choices([*merges], k=99)]
    rng.shuffle(lookups)
    waiting: list[list[tuple[int, int, int, int]]] = []
    seen = 0
    while lookups or any(waiting):
        valid, left, right, sender = 0, 0, 0, 0
        expected = []
        for port in range(2):
            if lookups and rng.random() < 0.8:
                pair, name = lookups.pop(), rng.randrange(1 << SOURCE_BITS)
                valid |= 1 << port
                left |= pair[0] << port * id_bits
                right |= pair[1] << port * id_bits
                sender |= name << port * SOURCE_BITS
                expected.append((port, name, int(pair in merges), merges.get(pair, 0)))
        dut.lookup_valid.value, dut.lookup_source.value = valid, sender
        dut.lookup_left.value, dut.lookup_right.value = left, right
        waiting.append(expected)
        await RisingEdge(dut.clk)
        due = waiting.pop(0) if len(waiting) > latency else []
        assert int(dut.result_valid.value) == sum(1 << port for port, *_ in due)
        for port, name, hit, merged in due:
            assert slice_of(dut.result_source, port, SOURCE_BITS) == name
            assert slice_of(dut.result_hit, port, 1) == hit
            assert not hit or slice_of(dut.result_id, port, id_bits) == merged
            seen += 1
    assert seen == 2 * len(merges) + 99


def slice_of(signal: Any, at: int, bits: int) -> int:
    return int(signal.value) >> at * bits & (1 << bits) - 1


@pytest.mark.parametrize(
    ("id_bits", "bank_bits", "output_register"),
    [(9, 6, 0), (9, 6, 1), pytest.param(9, 9, 0, marks=pytest.mark.long)],
)
def test_pairs(id_bits: int, bank_bits: int, output_register: int) -> None:
    parameters = {"ID_BITS": id_bits, "BANK_BITS": bank_bits, "SOURCE_BITS": SOURCE_BITS}
    parameters["OUTPUT_REGISTER"] = output_register
    simulate(__name__, "pairs", parameters)
