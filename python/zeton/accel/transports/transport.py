"""The way to a card: all that another card needs."""

from typing import Protocol

from zeton.accel.wire.packets import Packet, Words

__all__ = ["Transport"]


class Transport(Protocol):
    """Registers, a stream to the card, and one from it.

    All of them raise `DeviceError` when the card is gone. One thread calls at a time.
    """

    def read32(self, address: int) -> int:
        """Read a register."""

    def write32(self, address: int, value: int) -> None:
        """Write a register."""

    def send(self, packet: Packet) -> None:
        """Send whole words of 64 bits; the last one ends the packet.

        It never waits for `receive`: what the card does not take yet is kept.
        """

    def receive(self, words_max: int, timeout: float) -> Words:
        """Return at least one word of the card, in order; none if so many seconds pass without."""

    def reset(self) -> None:
        """Drop what was sent and not taken, and what was not received, and bring the link back."""

    def close(self) -> None:
        """Let the card go; to close again does nothing."""
