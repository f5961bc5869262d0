"""Rates of designs that were placed and routed for an ECP5-85, none of which ran on a board.

A rate is bytes per cycle of English, simulated with ids compared, times the clock of the best seed.
The source is `bench/results/fpga.json`; a test compares both.
"""

from dataclasses import dataclass

__all__ = ["PART", "ROUTED", "RoutedDesign"]

PART = "ECP5-85"


@dataclass(frozen=True, slots=True)
class RoutedDesign:
    """A design of `bench/fpga.py`, with its simulated rate and routed clock."""

    name: str
    vocabulary: str
    lanes: int
    bytes_per_cycle: float
    megahertz: float

    @property
    def megabytes_per_second(self) -> float:
        """English per second.

        >>> round(ROUTED[0].megabytes_per_second)
        125
        """
        return self.bytes_per_cycle * self.megahertz


ROUTED = (
    RoutedDesign("small", "4,096 tokens of cl100k_base", 1, 0.9825, 127.34),
    RoutedDesign("gpt2", "gpt2", 1, 0.9525, 124.44),
    RoutedDesign("small-3", "4,096 tokens of cl100k_base", 3, 2.3760, 113.01),
)
