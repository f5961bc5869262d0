"""Operations on a card that any `Transport` carries out, with typed errors.

For example, `Link.load` sets CONTROL.load, sends an image and waits until STATUS.loading is 0.
`Device` is the only caller.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from zeton.accel import registers
from zeton.accel.configuration import Configuration
from zeton.accel.errors import AnswerError, DeviceError, DeviceTimeoutError, ShapeError
from zeton.accel.registers import Field

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport
    from zeton.accel.wire.packets import Packet, Words

__all__ = ["Link"]

RECEIVE_WORDS = 1 << 16

Result = TypeVar("Result")


class Link:
    """A transport, with a timeout for the card behind it."""

    def __init__(self, transport: "Transport", timeout: float) -> None:
        """Keep a transport; no register is accessed yet."""
        self.transport = transport
        self.timeout = timeout
        self.is_closed = False

    def read(self, address: int) -> int:
        """Read a register."""
        return self._call(lambda: self.transport.read32(address))

    def write(self, address: int, value: int) -> None:
        """Write a register."""
        self._call(lambda: self.transport.write32(address, value))

    def send(self, packet: "Packet") -> None:
        """Send a packet."""
        self._call(lambda: self.transport.send(packet))

    def receive(self) -> "Words":
        """Return at least one word."""
        words = self._call(lambda: self.transport.receive(RECEIVE_WORDS, self.timeout))
        if not words.size:
            raise DeviceTimeoutError(
                f"the card sent no more words, though some are missing ({self._status()}; timeout "
                f"{self.timeout:g} seconds); reset the device"
            )
        return words

    def identify(self) -> Configuration:
        """Return the card's configuration; refuse other hardware and other register versions."""
        if (magic := self.read(registers.ID)) != registers.ID_MAGIC.reset:
            expected = registers.ID_MAGIC.reset
            raise AnswerError(
                f"not a zeton card: its ID is {magic:#x}, expected {expected:#x}; check its name"
            )
        if (version := self.read(registers.VERSION)) != registers.VERSION_CURRENT.reset:
            expected = registers.VERSION_CURRENT.reset
            raise AnswerError(
                f"the card has version {version} of the registers, expected {expected}; "
                "load a bitstream of this release"
            )
        first, second = self.read(registers.SHAPE_0), self.read(registers.SHAPE_1)
        try:
            return Configuration(
                lanes=registers.SHAPE_0_LANES.of(first),
                units=registers.SHAPE_0_UNITS.of(first),
                wide_units=registers.SHAPE_0_WIDE_UNITS.of(first),
                id_bits=registers.SHAPE_0_ID_BITS.of(first),
                slots=registers.SHAPE_1_SLOTS.of(second),
                wide_slots=registers.SHAPE_1_WIDE_SLOTS.of(second),
                bank_bits=registers.SHAPE_1_BANK_BITS.of(second),
                bridge_bits=registers.SHAPE_1_BRIDGE_BITS.of(second),
            )
        except ShapeError as error:
            raise AnswerError(f"the card reports an impossible configuration: {error}") from None

    def load(self, image: bytes, digest: int) -> None:
        """Fill the card's tables from an image, and write its digest to the IMAGE registers."""
        self.write(registers.CONTROL, registers.CONTROL_LOAD.put(1))
        if registers.STATUS_BUSY.of(status := self.read(registers.STATUS)):
            self.write(registers.STATUS, registers.STATUS_BUSY.put(1))
            raise DeviceError(
                "the card is busy and cannot load tables; wait for its texts, or reset the device"
            )
        if not registers.STATUS_LOADING.of(status):
            raise AnswerError(
                f"STATUS is {status:#010x} after CONTROL.load, expected loading or busy; "
                "reset the device"
            )
        self.send(image)
        self._wait(registers.STATUS, registers.STATUS_LOADING, 0)
        self.note(digest)

    def note(self, digest: int) -> None:
        """Write the digest of the loaded image to the IMAGE registers; 0 means no image."""
        self.write(registers.IMAGE_0, digest & 0xFFFFFFFF)
        self.write(registers.IMAGE_1, digest >> 32)

    def read_digest(self) -> int:
        """Return the digest of the loaded image, or 0 if there is none."""
        return self.read(registers.IMAGE_0) | self.read(registers.IMAGE_1) << 32

    def read_table(self, select: int, size: int, lane: int = 0) -> NDArray[np.uint64]:
        """Read all entries of a table back through registers."""
        self._wait(registers.STATUS, registers.STATUS_IDLE, 1)
        self.write(registers.TABLE_LANE, lane)
        self.write(registers.TABLE_SELECT, select)
        entries = np.zeros(size, np.uint64)
        for address in range(size):
            self.write(registers.TABLE_ADDRESS, address)
            high = self._wait(registers.TABLE_HIGH, registers.TABLE_HIGH_VALID, 1)
            low = self.read(registers.TABLE_LOW)
            entries[address] = registers.TABLE_HIGH_DATA.of(high) << 32 | low
        return entries

    def counters(self) -> dict[str, int]:
        """Return all counters, copied in one clock cycle."""
        self.write(registers.SNAPSHOT, registers.SNAPSHOT_TAKE.put(1))
        return {
            name: self.read(low) | self.read(low + 4) << 32
            for name, low in registers.COUNTERS.items()
        }

    def reset(self) -> None:
        """Return the card to its state after power-on; its tables stay."""
        self._call(self.transport.reset)
        self.write(registers.CONTROL, registers.CONTROL_RESET.put(1))
        self._wait(registers.STATUS, registers.STATUS_IDLE, 1)
        self._call(self.transport.reset)
        errors = registers.STATUS_FRAME.put(1) | registers.STATUS_BUSY.put(1)
        self.write(registers.STATUS, errors)

    def close(self) -> None:
        """Release the card."""
        if not self.is_closed:
            self.is_closed = True
            self.transport.close()

    def _wait(self, address: int, field: Field, value: int) -> int:
        """Read a register until a field has the given value."""
        end = time.monotonic() + self.timeout
        while field.of(word := self.read(address)) != value:
            if time.monotonic() > end:
                raise DeviceTimeoutError(
                    f"register {address:#04x} stayed {word:#010x} for {self.timeout:g} seconds, "
                    f"expected {value} in bits {field.low + field.width - 1} to {field.low}; "
                    "reset the device"
                )
        return word

    def _status(self) -> str:
        try:
            status = self.read(registers.STATUS)
        except DeviceError as error:
            return str(error).removesuffix("; reset the device")
        fault = ", it rejected a frame" if registers.STATUS_FRAME.of(status) else ""
        return ("it is idle" if registers.STATUS_IDLE.of(status) else "it is busy") + fault

    def _call(self, ask: Callable[[], Result]) -> Result:
        """Call the transport; turn any `OSError` into a `DeviceError`."""
        if self.is_closed:
            raise DeviceError("the device is closed; open it again")
        try:
            return ask()
        except DeviceError:
            raise
        except OSError as error:
            raise DeviceError(f"the card cannot be reached: {error}") from error
