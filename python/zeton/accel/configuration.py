"""The parameters of a card, under the names that `rtl/top.sv` has for them.

For example, `configuration("large", lanes=4)` is a card with four lanes for vocabularies of
200,000 tokens.
"""

from dataclasses import asdict, dataclass, fields, replace
from typing import Self

from zeton.accel.errors import ShapeError
from zeton.suggest import did_you_mean

__all__ = ["CONFIGURATIONS", "Configuration", "configuration"]

BANKS = 4
"""Banks of the table of pairs."""

ENTRY_BITS = 40
"""Largest size of a table entry in an image; an image word has 64 bits, 40 of them data."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parameters of a card.

    >>> Configuration().pairs_max
    131072
    """

    lanes: int = 1
    """Texts encoded at the same time; each lane has tables of its own."""
    id_bits: int = 17
    """Bits of an id."""
    bank_bits: int = 15
    """Bits of an index into one of the four banks of pairs."""
    units: int = 12
    """Narrow merge units of a lane."""
    slots: int = 16
    """Longest part, in bytes, that a narrow merge unit takes."""
    wide_units: int = 4
    """Wide merge units of a lane."""
    wide_slots: int = 32
    """Longest part, in bytes, that a wide merge unit takes."""
    bridge_bits: int = 16
    """Bits of an index into the table of bridges; each of its entries is one bit."""
    bytes_log: int = 11
    """Bits of an index into the FIFO of a lane's bytes."""

    def __post_init__(self) -> None:
        """Refuse parameters outside the limits of the RTL."""
        limits = {
            "lanes": (1, 16),
            "id_bits": (9, 19),
            "bank_bits": (4, 19),
            "units": (1, 64),
            "slots": (2, 64),
            "wide_units": (0, 64),
            "wide_slots": (2, 64),
            "bridge_bits": (6, 20),
            "bytes_log": (7, 16),
        }
        for name, (least, most) in limits.items():
            value = getattr(self, name)
            if not isinstance(value, int) or not least <= value <= most:
                raise ShapeError(f"{name} is {value!r}; give a whole number from {least} to {most}")
        for name in ("slots", "wide_slots"):
            value = getattr(self, name)
            if value & value - 1:
                raise ShapeError(
                    f"{name} is {value}, not a power of two; give 2, 4, 8, 16, 32 or 64"
                )
        if self.wide_units and self.wide_slots < self.slots:
            raise ShapeError(
                f"wide_slots is {self.wide_slots}, less than slots ({self.slots}); "
                f"give wide_slots of {self.slots} or more"
            )
        if self.bank_bits > self.id_bits:
            raise ShapeError(
                f"bank_bits is {self.bank_bits}, more than id_bits ({self.id_bits}); "
                f"give bank_bits of {self.id_bits} or less"
            )
        if self.entry_bits > ENTRY_BITS:
            raise ShapeError(
                f"id_bits {self.id_bits} with bank_bits {self.bank_bits} makes entries of "
                f"{self.entry_bits} bits, more than {ENTRY_BITS}; give more bank_bits"
            )

    @property
    def low_bits(self) -> int:
        """Bits of a pair's right id that are in its tag."""
        return self.id_bits - self.bank_bits

    @property
    def tag_bits(self) -> int:
        """Bits of a pair's tag: the part of a pair that its index does not determine."""
        return 2 * self.id_bits - self.bank_bits

    @property
    def entry_bits(self) -> int:
        """Bits of an entry of a bank: a valid bit, the tag and the merged id."""
        return self.id_bits + self.tag_bits + 1

    @property
    def pairs_max(self) -> int:
        """Entries of all banks together; a cuckoo hash table fills nearly all of them."""
        return BANKS << self.bank_bits

    @property
    def part_max(self) -> int:
        """Bytes of the longest part that the card merges; the host merges longer ones."""
        return self.wide_slots if self.wide_units else self.slots

    def parameters(self) -> dict[str, int]:
        """Return the parameters by their names in the RTL.

        >>> Configuration().parameters()["WIDE_SLOTS"]
        32
        """
        return {name.upper(): value for name, value in asdict(self).items()}

    def with_parameters(self, **changed: int) -> Self:
        """Return a copy with other values for some parameters."""
        known = [field.name for field in fields(self)]
        for name in changed:
            if name not in known:
                raise ShapeError(f"no parameter {name!r} of a card{did_you_mean(name, known)}")
        return replace(self, **changed)


CONFIGURATIONS = {
    "default": Configuration(),
    "large": Configuration(id_bits=18, bank_bits=16, bridge_bits=18),
    "small": Configuration(id_bits=13, bank_bits=11, bridge_bits=14),
}
"""Configurations by name, for vocabularies of 100,000, 200,000 and 8,000 tokens."""


def configuration(name: str = "default", **changed: int) -> Configuration:
    """Return a configuration by its name, with other values for some parameters.

    >>> configuration("large", lanes=4).lanes
    4
    """
    if name not in CONFIGURATIONS:
        raise ShapeError(f"no configuration {name!r}{did_you_mean(name, CONFIGURATIONS)}")
    return CONFIGURATIONS[name].with_parameters(**changed)
