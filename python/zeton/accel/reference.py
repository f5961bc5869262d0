"""The specification of a card: `Lane` computes the words of a text from its tables alone.

`ReferenceTransport` adds registers and streams, so `accel.open("reference")` runs it as a card.
Words, tables, registers and ids equal the RTL's, with two exceptions: there is no clock, and a
piece leaves raw when it outgrows the whole FIFO of bytes instead of half of it.
"""

from collections import deque
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from zeton.accel import registers
from zeton.accel.configuration import BANKS, Configuration
from zeton.accel.errors import DeviceError
from zeton.accel.tables.bridges import POINT_BITS, read_character
from zeton.accel.tables.hashes import OF_BYTES, OF_CHARACTERS, hash_one
from zeton.accel.tables.image import BLOCK_POINTS, OTHER_PLANES, Table
from zeton.accel.wire.words import BATCH, HEADER, LANE_LOW, LAST, Kind
from zeton.pattern.grammar import CUT_HERE, CUT_MARK_0, CUT_MARK_1, SET_MARK_0, SET_MARK_1

if TYPE_CHECKING:
    from zeton.accel.wire.packets import Packet, Words

__all__ = ["Lane", "ReferenceTransport"]

END = 1 << 27
"""Bit of a word: it is the last of its text."""


class Lane:
    """One lane: text → words, by the tables of an image."""

    def __init__(self, configuration: Configuration) -> None:
        """Make a lane with empty tables."""
        self.configuration = configuration
        self.tables: dict[tuple[int, int], int] = {}
        self.counters = dict.fromkeys(registers.COUNTERS, 0)

    def load(self, image: "Packet") -> None:
        """Write the entries of an image into the tables; all other entries stay."""
        words = np.frombuffer(image, "<u8")
        selects, addresses = words >> np.uint64(60), words >> np.uint64(40) & np.uint64(0xFFFFF)
        keys = zip(selects.tolist(), addresses.tolist(), strict=True)
        self.tables.update(zip(keys, (words & np.uint64((1 << 40) - 1)).tolist(), strict=True))

    def entry(self, table: int, address: int) -> int:
        """Return an entry of a table; 0 if it was never written."""
        return self.tables.get((table, address), 0)

    def encode(self, text: bytes) -> list[int]:
        """Return the words of a text, with 0 in the bits for the lane."""
        self.counters["bytes"] += len(text)
        words = [*chain.from_iterable(self._records(text))] or [Kind.NOTHING << 24]
        return [*words[:-1], words[-1] | END]

    def _characters(self, text: bytes) -> Iterator[tuple[int, int, int]]:
        """Yield start, length and class of each character, and of the end of the text."""
        options = self.entry(Table.OPTIONS, 0)
        at = 0
        while at < len(text):
            read = read_character(text, at)
            self.counters["bad_bytes"] += read is None
            point, length = read or (-1, 1)
            yield at, length, self._class_of(point) if read else options >> 8 & 31
            at += length
        yield at, 0, options & 31

    def _class_of(self, point: int) -> int:
        index = point >> 7
        if point >= 0x40000:
            index = 2048 + (point >> 7 & 511) if point >> 16 == 14 else OTHER_PLANES
        block = self.entry(Table.BLOCKS, index)
        return self.entry(Table.CLASSES, block * BLOCK_POINTS + point % BLOCK_POINTS)

    def _records(self, text: bytes) -> Iterator[list[int]]:
        """Yield the words of each piece; a piece that outgrows the FIFO is yielded in portions."""
        state, start, marks, raw_start = 0, 0, [0, 0], None
        for at, length, of_class in self._characters(text):
            step = self.entry(Table.SPLIT, state * 32 + of_class)
            state, actions = step & 63, step >> 6
            ends = [(CUT_MARK_0, marks[0]), (CUT_MARK_1, marks[1]), (CUT_HERE, at)]
            for cut in (end for action, end in ends if actions & action):
                self.counters["pieces"] += 1
                if raw_start is None:
                    yield self._piece(text[start:cut])
                elif cut == at:
                    yield [Kind.CLOSE << 24]
                    raw_start = None
                else:
                    yield [Kind.CUT << 24 | cut - raw_start]
                start = cut
            if actions & SET_MARK_0:
                marks[0] = at + length
            if actions & SET_MARK_1:
                marks[1] = at
            if raw_start is not None:
                yield self._raw(text[at : at + length])
            elif at + length - start > 1 << self.configuration.bytes_log:
                raw_start = start
                yield self._raw(text[start : at + length])

    def _raw(self, content: bytes) -> list[int]:
        self.counters["raw_bytes"] += len(content)
        return [Kind.BYTE << 24 | byte for byte in content]

    def _piece(self, piece: bytes) -> list[int]:
        """Return the words of a piece: ids, and raw bytes for parts longer than a unit's slots."""
        words = []
        for part in self.parts(piece):
            if len(part) > self.configuration.part_max:
                words += [*self._raw(part), Kind.CLOSE << 24]
            else:
                ids = self.merge(part)
                self.counters["ids"] += len(ids)
                words += [Kind.ID << 24 | id_ for id_ in ids]
        return words

    def parts(self, piece: bytes) -> Iterator[bytes]:
        """Cut a piece between two characters that no token bridges."""
        used = self.entry(Table.OPTIONS, 0) >> 16 & 1
        at = start = 0
        before: tuple[int, int] | None = None
        while at < len(piece):
            read = read_character(piece, at)
            if used and before and read and before[0] | read[0] >= 0x80:
                points = before[0] << POINT_BITS | read[0]
                both = piece[at - 1] << 8 | piece[at]
                if not self._bridge(OF_CHARACTERS, points) and not self._bridge(OF_BYTES, both):
                    yield piece[start:at]
                    start = at
            before = read
            at += read[1] if read else 1
        yield piece[start:]

    def _bridge(self, function: int, key: int) -> int:
        bit = hash_one(function, self.configuration.bridge_bits, key)
        return self.entry(Table.BRIDGES, bit >> 5) >> (bit & 31) & 1

    def merge(self, part: bytes) -> list[int]:
        """Merge the pair with the lowest merged id, leftmost first, until no pair merges."""
        ids = [self.entry(Table.BYTES, byte) for byte in part]
        while len(ids) > 1:
            merged = [self._look_up(*pair) for pair in pairwise(ids)]
            found = [(id_, at) for at, id_ in enumerate(merged) if id_ is not None]
            if not found:
                break
            id_, at = min(found)
            ids[at : at + 2] = [id_]
        return ids

    def _look_up(self, left: int, right: int) -> int | None:
        self.counters["lookups"] += 1
        shape = self.configuration
        tag = left << shape.low_bits | right & (1 << shape.low_bits) - 1
        for bank in range(BANKS):
            index = right >> shape.low_bits ^ hash_one(bank, shape.bank_bits, tag)
            entry = self.entry(Table.PAIRS + bank, index)
            if entry >> shape.id_bits == tag | 1 << shape.tag_bits:
                return entry & (1 << shape.id_bits) - 1
        return None


class ReferenceTransport:
    """A card in Python (`Transport`): frames in, words out, and registers."""

    def __init__(self, configuration: Configuration) -> None:
        """Make a card with empty tables; one `Lane` serves all lanes, because it keeps no state."""
        self.configuration, self._lane = configuration, Lane(configuration)
        self._words: deque[int] = deque()
        self._batches = 0
        self._registers = {
            registers.ID: registers.ID_MAGIC.reset,
            registers.VERSION: registers.VERSION_CURRENT.reset,
            registers.SHAPE_0: _bytes("lanes", "units", "wide_units", "id_bits", of=configuration),
            registers.SHAPE_1: _bytes(
                "slots", "wide_slots", "bank_bits", "bridge_bits", of=configuration
            ),
            registers.CONTROL: 0,
        }

    def read32(self, address: int) -> int:
        """Read a register."""
        if address == registers.STATUS:
            loading = registers.STATUS_LOADING.put(self._registers[registers.CONTROL] != 0)
            return loading | registers.STATUS_IDLE.put(1)
        return self._registers.get(address, 0)

    def write32(self, address: int, value: int) -> None:
        """Write a register, and perform its action."""
        if address == registers.CONTROL and registers.CONTROL_RESET.of(value):
            self._words.clear()
            self._batches = 0
            self._lane.counters = dict.fromkeys(registers.COUNTERS, 0)
        elif address == registers.CONTROL and registers.CONTROL_LOAD.of(value):
            self._registers |= {
                registers.CONTROL: value,
                registers.IMAGE_0: 0,
                registers.IMAGE_1: 0,
            }
        elif address == registers.SNAPSHOT:
            for name, low in registers.COUNTERS.items():
                self._registers[low] = self._lane.counters[name] & 0xFFFFFFFF
                self._registers[low + 4] = self._lane.counters[name] >> 32
        elif address == registers.TABLE_ADDRESS:
            entry = self._lane.entry(self.read32(registers.TABLE_SELECT), value)
            high = entry >> 32 | registers.TABLE_HIGH_VALID.put(1)
            low = entry & 0xFFFFFFFF
            self._registers |= {registers.TABLE_LOW: low, registers.TABLE_HIGH: high}
        elif address not in (registers.CONTROL, registers.STATUS):
            self._registers[address] = value

    def send(self, packet: "Packet") -> None:
        """Process a packet: an image of tables if CONTROL.load is set, else frames."""
        if self.read32(registers.CONTROL):
            self._registers[registers.CONTROL] = 0
            self._lane.load(packet)
            return
        content = bytes(packet)
        texts = [bytearray() for _ in range(self.configuration.lanes)]
        at = 0
        while at < len(content):
            head = int.from_bytes(content[at : at + 8], "little")
            size, lane = head & 0xFFFF, head >> LANE_LOW & 0xFF
            if head != HEADER | lane << LANE_LOW | head & LAST | size or lane >= len(texts):
                raise DeviceError(
                    f"byte {at} of a packet is no frame header; send frames made by deal()"
                )
            texts[lane] += content[at + 8 : at + 8 + size]
            if head & LAST:
                self._words += [lane << 28 | word for word in self._lane.encode(bytes(texts[lane]))]
                texts[lane].clear()
            at += 8 + (size + 7 & ~7)
        self._words.append(BATCH | self._batches)
        self._batches = self._batches + 1 & 0xFFFFFF

    def receive(self, words_max: int, timeout: float) -> "Words":  # noqa: ARG002 - it has no clock.
        """Return the pending words; there is no clock to wait for."""
        words = [self._words.popleft() for _ in range(min(words_max, len(self._words)))]
        return np.array(words, np.uint32)

    def reset(self) -> None:
        """Drop words that were not received."""
        self._words.clear()

    def close(self) -> None:
        """Do nothing."""


def _bytes(*names: str, of: Configuration) -> int:
    """Put parameters into the four bytes of a register."""
    return int.from_bytes(bytes(getattr(of, name) for name in names), "little")
