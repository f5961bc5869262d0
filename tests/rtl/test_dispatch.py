"""dispatch against its records: each part and raw word leaves once, in order, to a free unit."""

import random
from collections import deque
from typing import Any

import cocotb
from cocotb.triggers import RisingEdge

from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, read_table, seeded, start, write_table

UNITS, WIDE_UNITS, SLOTS, WIDE_SLOTS = 3, 2, 4, 8
PART, RAW, CUT, CLOSE, NOTHING, MARK = 0, 1, 2, 3, 4, 7
BYTE = 1
BYTES = 4  # The table of the bytes' own ids.
ID_BITS = 9

Record = tuple[int, int, int]
"""Kind, payload, last."""


def draw_records(rng: random.Random, count: int) -> list[Record]:
    """Draw records as `parts` gives them."""
    records: list[Record] = []
    while len(records) < count:
        last = int(rng.random() < 0.3)
        kind = rng.choice([PART] * 6 + [RAW, NOTHING, MARK])
        if kind == RAW:
            length = 0
            for _ in range(rng.randint(1, 3)):
                records.append((RAW, rng.choice([1, 3, 64]), 0))
                length += records[-1][1]
                records += [(CUT, cut, 0) for cut in range(1, length + 1) if rng.random() < 0.02]
            records.append((CLOSE, 0, last))
        elif kind == PART:
            longest = rng.choice([SLOTS, SLOTS, WIDE_SLOTS])
            records.append((PART, rng.randint(1, longest), last))
        else:
            records.append((kind, 0, int(kind == NOTHING)))
    return records


class Observer:
    """Observes outputs, releases units some time after their last byte, and stalls at random."""

    def __init__(self, dut: Any, stall: float) -> None:
        self.dut, self.stall = dut, stall
        self.rng = seeded("observer")
        self.opened: list[tuple[int, int, int, int]] = []
        self.raw: list[int] = []
        self.parts: dict[int, deque[list[int]]] = {u: deque() for u in range(UNITS + WIDE_UNITS)}
        self.loading: dict[int, list[int]] = {}
        self.busy: set[int] = set()
        self.to_release: list[int] = []

    async def run(self) -> None:
        dut = self.dut
        while True:
            dut.ticket_ready.value = int(self.rng.random() >= self.stall)
            dut.raw_ready.value = int(self.rng.random() >= self.stall)
            done = [unit for unit in self.to_release if self.rng.random() < 0.1]
            self.to_release = [unit for unit in self.to_release if unit not in done]
            dut.released.value = sum(1 << unit for unit in done)
            await RisingEdge(dut.clk)
            self.busy -= set(done)
            self.see()

    def see(self) -> None:
        dut = self.dut
        if dut.load_valid.value:
            unit = int(dut.load_valid.value).bit_length() - 1
            assert int(dut.load_valid.value) == 1 << unit
            loading = self.loading[unit]
            pair = 0 if not loading else 1 << (len(loading) - 1 + unit) % 2
            assert int(dut.load_pair.value) == pair
            assert not pair or int(dut.load_slot.value) == len(loading) - 1
            assert int(dut.load_unit.value) == unit
            loading.append(int(dut.load_id.value))
            if dut.load_last.value:
                self.parts[unit].append(self.loading.pop(unit))
                self.to_release.append(unit)
        else:
            assert not dut.load_pair.value
        if dut.ticket_push.value:
            assert dut.ticket_ready.value
            raw, unit = int(dut.ticket_raw.value), int(dut.ticket_unit.value)
            length, end = int(dut.ticket_length.value), int(dut.ticket_last.value)
            self.opened.append((raw, end, length, unit))
            if not raw:
                assert unit not in self.busy
                assert unit >= UNITS or length <= SLOTS
                self.busy.add(unit)
                self.loading[unit] = []
        if dut.raw_push.value:
            assert dut.raw_ready.value
            self.raw.append(int(dut.raw_word.value))


def words_of(observer: Observer) -> list[tuple[int, ...]]:
    """Join the observed outputs: a part's ids and end, or a word's kind, end and payload."""
    raw, words = deque(observer.raw), list[tuple[int, ...]]()
    for is_raw, end, length, unit in observer.opened:
        if not is_raw:
            ids = observer.parts[unit].popleft()
            assert len(ids) == length
            words.append((PART, end, *ids))
            continue
        while True:
            word = raw.popleft()
            words.append((word >> 24 & 7, word >> 27, word & 0xFFFFFF))
            if words[-1][0] not in {BYTE, CUT}:
                break
    assert not raw
    return words


def words_due(records: list[Record], content: bytes, ids: list[int]) -> list[tuple[int, ...]]:
    """List the words of records and bytes when every part has a unit."""
    at, words = 0, list[tuple[int, ...]]()
    for kind, payload, last in records:
        if kind == PART:
            words.append((PART, last, *(ids[byte] for byte in content[at : at + payload])))
            at += payload
        elif kind == RAW:
            words += [(BYTE, 0, byte) for byte in content[at : at + payload]]
            at += payload
        else:
            words.append((kind, last, payload))
    return words


@cocotb.test(timeout_time=1, timeout_unit="ms")
@cocotb.parametrize(regime=[*REGIMES])
async def gives_every_record_its_place(dut: Any, regime: str) -> None:
    rng = seeded()
    gap, stall = REGIMES[regime]
    ids = rng.sample(range(1 << ID_BITS), 256)
    records = draw_records(rng, 300)
    content = rng.randbytes(sum(length for kind, length, _ in records if kind in {PART, RAW}))

    await start(dut, byte_valid=0, record_valid=0, released=0, table_request=0)
    await write_table(dut, BYTES, ids)
    for byte in rng.sample(range(256), 5):
        assert await read_table(dut, BYTES, byte) == ids[byte]
    observer = Observer(dut, stall)
    cocotb.start_soon(observer.run())
    items = [{"kind": kind, "payload": payload, "last": last} for kind, payload, last in records]
    bytes_in = cocotb.start_soon(offer(dut, "byte", list(content), gap))
    records_in = cocotb.start_soon(offer(dut, "record", items, gap))
    await bytes_in
    await records_in
    for _ in range(20):
        await RisingEdge(dut.clk)
    assert dut.idle.value

    # A part that found no wide unit leaves raw, which is the one freedom there is.
    due, seen = iter(words_due(records, content, ids)), iter(words_of(observer))
    raw_parts = 0
    for word in seen:
        expected = next(due)
        if expected[0] != PART or word[0] == PART:
            assert word == expected
            continue
        assert len(expected) - 2 > SLOTS
        raw_parts += 1
        taken = [word, *(next(seen) for _ in expected[2:])]
        assert [ids[byte] for _, _, byte in taken[:-1]] == [*expected[2:]]
        assert taken[-1] == (CLOSE, expected[1], 0)
    assert next(due, None) is None
    assert raw_parts > 0 or regime != "free"


def test_dispatch() -> None:
    parameters = {"ID_BITS": ID_BITS, "UNITS": UNITS, "WIDE_UNITS": WIDE_UNITS, "SLOTS": SLOTS}
    parameters |= {"PART_MAX": WIDE_SLOTS}
    simulate(__name__, "dispatch", parameters)
