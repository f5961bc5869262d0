"""Drives valid/ready streams in a simulator, with random gaps and random stalls.

A stream `aw` has `aw_valid`, `aw_ready` and its fields: `aw_data`, … The fields of a stream in
`LAYOUTS` are those of a packed struct of rtl/zeton_pkg.sv, which is all of `text_data`.
Signals are read and written right after a rising edge: a read gives the value that the edge saw,
and a write takes effect at the next edge.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Regimes: how often the sender pauses before an item, how often the receiver is not ready.
REGIMES = {"free": (0.0, 0.0), "gaps": (0.6, 0.0), "stalls": (0.0, 0.6), "both": (0.4, 0.4)}

RECORD = (("last", 1), ("kind", 3), ("payload", 24))
LAYOUTS = {
    "text": (("byte", 8), ("keep", 1), ("last", 1), ("mark", 1)),
    "item": (("kind", 2), ("byte", 8), ("first", 1), ("more", 2), ("class", 5), ("cut", 1)),
    "record": RECORD,
    "part": RECORD,
    "table_request": (("write", 1), ("read", 1), ("select", 4), ("address", 20), ("data", 40)),
}
"""The packed structs of rtl/zeton_pkg.sv: fields and their bits, the highest first."""


def pack(name: str, **fields: int) -> int:
    """Pack the fields of a struct; fields without a name are 0.

    >>> hex(pack("record", last=1, payload=4))
    '0x8000004'
    """
    packed = 0
    for field, bits in LAYOUTS[name]:
        packed = packed << bits | fields.pop(field, 0)
    assert not fields, f"{name} has no {', '.join(fields)}"
    return packed


def unpack(name: str, packed: int) -> dict[str, int]:
    """Unpack the fields of a struct.

    >>> unpack("record", 0x8000004)
    {'last': 1, 'kind': 0, 'payload': 4}
    """
    fields = {}
    for field, bits in reversed(LAYOUTS[name]):
        fields[field] = packed & (1 << bits) - 1
        packed >>= bits
    return dict(reversed(fields.items()))


def seeded(name: str = "") -> random.Random:
    """Make a generator of its own for each stream, from the run's seed."""
    return random.Random(f"{cocotb.RANDOM_SEED} {name}")


async def start(dut: Any, **inputs: int) -> None:
    """Start the clock and reset, with inputs as given."""
    for name, value in inputs.items():
        getattr(dut, name).value = value
    Clock(dut.clk, 10, unit="ns").start()
    await reset(dut)


async def reset(dut: Any, cycles: int = 3) -> None:
    """Hold reset for some cycles."""
    dut.rst.value = 1
    for _ in range(cycles):
        await RisingEdge(dut.clk)
    dut.rst.value = 0


async def offer(
    dut: Any,
    name: str,
    items: Iterable[Mapping[str, int] | int],
    gap: float = 0.0,
    rng: random.Random | None = None,
) -> None:
    """Offer each item until it is taken; pause before it with probability `gap`, again and again.

    An item is a mapping from fields to values; a number stands for the field `data`.
    """
    rng = rng or seeded(name)
    valid, ready = getattr(dut, f"{name}_valid"), getattr(dut, f"{name}_ready")
    for item in items:
        while rng.random() < gap:
            await RisingEdge(dut.clk)
        fields = {"data": item} if isinstance(item, int) else item
        if name in LAYOUTS:
            fields = {"data": pack(name, **fields)}
        for field, value in fields.items():
            getattr(dut, f"{name}_{field}").value = value
        valid.value = 1
        await RisingEdge(dut.clk)
        while not ready.value:
            await RisingEdge(dut.clk)
        valid.value = 0


async def take(
    dut: Any,
    name: str,
    fields: tuple[str, ...] = ("data",),
    *,
    count: int | None = None,
    stall: float = 0.0,
    rng: random.Random | None = None,
    into: list[Any] | None = None,
) -> list[Any]:
    """Take `count` items (without it: all there ever are), as tuples of fields, or plain if of one.

    A cycle is not ready with probability `stall`. An offer must stay until it is taken.
    """
    rng = rng or seeded(name)
    taken = [] if into is None else into
    valid, ready = getattr(dut, f"{name}_valid"), getattr(dut, f"{name}_ready")
    packed = name in LAYOUTS
    signals = [getattr(dut, f"{name}_{field}") for field in (("data",) if packed else fields)]
    waiting: list[int] | None = None
    while count is None or len(taken) < count:
        willing = rng.random() >= stall
        ready.value = int(willing)
        await RisingEdge(dut.clk)
        if not valid.value:
            assert waiting is None, f"{name}_valid fell before the item was taken"
            continue
        item = [int(signal.value) for signal in signals]
        assert waiting in (None, item), f"{name} changed from {waiting} to {item} untaken"
        waiting = None if willing else item
        if willing:
            if packed:
                values = unpack(name, item[0])
                item = [values[field] for field in fields]
            taken.append(item[0] if len(item) == 1 else tuple(item))
    ready.value = 0
    return taken


async def write_table(dut: Any, select: int, entries: Iterable[int], first: int = 0) -> None:
    """Write entries of a table to addresses that follow one another."""
    for address, entry in enumerate(entries, first):
        request = pack("table_request", write=1, select=select, address=address, data=int(entry))
        dut.table_request.value = request
        await RisingEdge(dut.clk)
    dut.table_request.value = 0


async def read_table(dut: Any, select: int, address: int, latency: int = 4) -> int:
    """Read an entry of a table: it is there for one cycle, the fourth or so after the strobe."""
    dut.table_request.value = pack("table_request", read=1, select=select, address=address)
    await RisingEdge(dut.clk)
    dut.table_request.value = 0
    responses = []
    for _ in range(latency + 2):
        await RisingEdge(dut.clk)
        responses.append(int(dut.table_response.value))
    entry = responses.pop(latency - 1)
    assert not any(responses), "a response comes at its time and at no other"
    return entry
