"""The interface to a card: a new kind of card needs one class with these six methods.

Register access and the two streams are all that `Device` uses. `ReferenceTransport` is the shortest
implementation.
"""

from typing import Protocol

from zeton.accel.wire.packets import Packet, Words

__all__ = ["Transport"]


class Transport(Protocol):
    """Registers, a stream to the card, and a stream from it.

    Every method raises `DeviceError` when the card is gone. One thread calls at a time.
    """

    def read32(self, address: int) -> int:
        """Read a register."""

    def write32(self, address: int, value: int) -> None:
        """Write a register."""

    def send(self, packet: Packet) -> None:
        """Send whole words of 64 bits; the last one ends the packet.

        It never waits for `receive`: words that the card does not take yet are buffered.
        """

    def receive(self, words_max: int, timeout: float) -> Words:
        """Return at least one word of the card, in order; none after `timeout` seconds."""

    def reset(self) -> None:
        """Drop packets not taken and words not received, and reopen a broken link."""

    def close(self) -> None:
        """Release the card; closing again does nothing."""
