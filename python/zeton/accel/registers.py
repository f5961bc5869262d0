"""The accelerator's registers: addresses, and where the fields are in their words.

Generated from `rtl/registers.rdl` by `scripts/build_registers.py`; change them there.
"""

from typing import Final, NamedTuple


class Field(NamedTuple):
    """Some bits of a register."""

    low: int
    """The lowest of its bits."""
    width: int
    reset: int = 0
    """Its value after power-on; of what never changes, its value."""

    def of(self, word: int) -> int:
        """Return the field's value in a register's word."""
        return word >> self.low & (1 << self.width) - 1

    def put(self, value: int) -> int:
        """Return a register's word that has this value in the field and zeros elsewhere."""
        return (value & (1 << self.width) - 1) << self.low


ID: Final = 0x00
"""Tells that this is the accelerator."""
ID_MAGIC: Final = Field(0, 32, 0x4E54455A)
"""ZETN in ASCII, its first letter lowest."""

VERSION: Final = 0x04
"""The version of registers, frames and words."""
VERSION_CURRENT: Final = Field(0, 32, 1)
"""It rises with every change that an older driver would not understand."""

SHAPE_0: Final = 0x08
"""What the card was built with."""
SHAPE_0_LANES: Final = Field(0, 8)
"""Lanes."""
SHAPE_0_UNITS: Final = Field(8, 8)
"""Narrow merge units of a lane."""
SHAPE_0_WIDE_UNITS: Final = Field(16, 8)
"""Wide merge units of a lane."""
SHAPE_0_ID_BITS: Final = Field(24, 8)
"""Bits of an id."""

SHAPE_1: Final = 0x0C
"""What the card was built with."""
SHAPE_1_SLOTS: Final = Field(0, 8)
"""Bytes that a narrow merge unit takes."""
SHAPE_1_WIDE_SLOTS: Final = Field(8, 8)
"""Bytes that a wide merge unit takes."""
SHAPE_1_BANK_BITS: Final = Field(16, 8)
"""Bits of an index into one of the four banks of pairs."""
SHAPE_1_BRIDGE_BITS: Final = Field(24, 8)
"""Bits of an index into the table of bridges."""

CONTROL: Final = 0x10
"""What the card is told to do."""
CONTROL_RESET: Final = Field(0, 1)
"""Write 1: everything but the tables, IMAGE and the TABLE registers returns to the state after
power-on, and what is in the streams is dropped. STATUS.idle is 0 until it is done. Reads as 0."""
CONTROL_LOAD: Final = Field(1, 1)
"""Write 1 while idle: the next packet of the text stream is an image of tables. The packet's end
makes it 0 again. While busy it stays 0 and STATUS.busy is set."""

STATUS: Final = 0x14
"""What the card does, and what went wrong since its error bits were cleared."""
STATUS_IDLE: Final = Field(0, 1)
"""No text, word or table is on its way."""
STATUS_LOADING: Final = Field(1, 1)
"""The text stream is taken as an image of tables."""
STATUS_FRAME: Final = Field(8, 1)
"""A packet had a header that is none, or ended inside a frame; its rest was dropped and its open
texts were ended. Write 1 to clear."""
STATUS_BUSY: Final = Field(9, 1)
"""A load or the reading of a table was asked for while the card was busy, and refused. Write 1 to
clear."""

IMAGE_0: Final = 0x18
"""The low half of the digest of the image that was loaded."""
IMAGE_0_DIGEST: Final = Field(0, 32)
"""Written by the host after a load; the start of a load makes it 0, nothing else does."""

IMAGE_1: Final = 0x1C
"""The high half of the digest of the image that was loaded."""
IMAGE_1_DIGEST: Final = Field(0, 32)
"""As IMAGE_0."""

TABLE_LANE: Final = 0x20
"""The lane whose table is read."""
TABLE_LANE_INDEX: Final = Field(0, 8)
"""The lane; one that is not there answers 0."""

TABLE_SELECT: Final = 0x24
"""The table that is read."""
TABLE_SELECT_KIND: Final = Field(0, 4)
"""0 blocks, 1 classes, 2 split, 3 bridges, 4 bytes, 5 options, 8 to 11 banks of pairs."""

TABLE_ADDRESS: Final = 0x28
"""The entry that is read."""
TABLE_ADDRESS_ENTRY: Final = Field(0, 20)
"""Writing it, while idle, reads the entry."""

TABLE_LOW: Final = 0x2C
"""The entry that was read."""
TABLE_LOW_DATA: Final = Field(0, 32)
"""Its bits 31 to 0."""

TABLE_HIGH: Final = 0x30
"""The entry that was read."""
TABLE_HIGH_DATA: Final = Field(0, 8)
"""Its bits 39 to 32."""
TABLE_HIGH_VALID: Final = Field(31, 1)
"""The entry asked for is here. It is 0 for some cycles after TABLE_ADDRESS is written, and after a
reading that was refused."""

SNAPSHOT: Final = 0x34
"""Copies the counters, all in the same cycle, to where they are read."""
SNAPSHOT_TAKE: Final = Field(0, 1)
"""Write 1 to take one. Reads as 0."""

COUNTERS: Final = {
    "cycles": 0x40,
    "bytes": 0x48,
    "ids": 0x50,
    "pieces": 0x58,
    "raw_bytes": 0x60,
    "bad_bytes": 0x68,
    "lookups": 0x70,
    "stalls_in": 0x78,
    "stalls_out": 0x80,
}
"""The counters by name: the address of the low half; the high half comes after it."""
