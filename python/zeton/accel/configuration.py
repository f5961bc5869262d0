"""What a card is built with: the parameters of `rtl/top.sv`, by the same names."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Self

from zeton.accel.errors import ShapeError

__all__ = ["CONFIGURATIONS", "Configuration", "configuration"]

BANKS = 4
"""Banks of the table of pairs."""

ENTRY_BITS = 40
"""Bits that an entry of a table has at most on its way to the card."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """The parameters of a card.

    >>> Configuration().pairs_max
    131072
    """

    lanes: int = 1
    """Texts that are encoded at once; each lane has tables of its own."""
    id_bits: int = 17
    """Bits of an id."""
    bank_bits: int = 15
    """Bits of an index into one of the four banks of pairs."""
    units: int = 12
    """Narrow merge units of a lane."""
    slots: int = 16
    """Bytes that a narrow merge unit takes."""
    wide_units: int = 4
    """Wide merge units of a lane."""
    wide_slots: int = 32
    """Bytes that a wide merge unit takes."""
    bridge_bits: int = 16
    """Bits of an index into the table of bridges, whose entries are single bits."""
    bytes_log: int = 11
    """Bits of an index into the FIFO of a lane's bytes."""

    def __post_init__(self) -> None:
        """Refuse what cannot be built."""
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
                raise ShapeError(f"{name} is {value!r}; give a number from {least} to {most}")
        for name in ("slots", "wide_slots"):
            value = getattr(self, name)
            if value & value - 1:
                raise ShapeError(f"{name} is {value}; give a power of two")
        if self.wide_units and self.wide_slots < self.slots:
            raise ShapeError(
                f"wide_slots is {self.wide_slots} and slots {self.slots}; "
                "a wide unit takes no fewer bytes than a narrow one"
            )
        if self.bank_bits > self.id_bits:
            raise ShapeError(
                f"bank_bits is {self.bank_bits} and id_bits {self.id_bits}; "
                "an index of a bank has no more bits than an id"
            )
        if self.entry_bits > ENTRY_BITS:
            raise ShapeError(
                f"a pair has {self.entry_bits} bits with id_bits {self.id_bits} and bank_bits "
                f"{self.bank_bits}, an entry of a table {ENTRY_BITS}; give more bank_bits"
            )

    @property
    def low_bits(self) -> int:
        """Bits of a pair's right id that are in its tag."""
        return self.id_bits - self.bank_bits

    @property
    def tag_bits(self) -> int:
        """Bits of the tag of a pair: what its place in a bank does not tell of it."""
        return 2 * self.id_bits - self.bank_bits

    @property
    def entry_bits(self) -> int:
        """Bits of an entry of a bank: the merged id, the tag, and whether there is one."""
        return self.id_bits + self.tag_bits + 1

    @property
    def pairs_max(self) -> int:
        """Pairs that all banks hold when every entry is taken; some of them stay empty."""
        return BANKS << self.bank_bits

    @property
    def part_max(self) -> int:
        """Bytes of the longest part that is merged on the card."""
        return self.wide_slots if self.wide_units else self.slots

    def parameters(self) -> dict[str, int]:
        """Return the parameters by their names in the RTL.

        >>> Configuration().parameters()["WIDE_SLOTS"]
        32
        """
        return {name.upper(): value for name, value in asdict(self).items()}

    def with_parameters(self, **changed: int) -> Self:
        """Return the same card but for these parameters."""
        known = [field.name for field in fields(self)]
        for name in changed:
            if name not in known:
                raise ShapeError(f"there is no parameter {name!r}; there are {', '.join(known)}")
        return replace(self, **changed)


CONFIGURATIONS = {
    "default": Configuration(),
    "large": Configuration(id_bits=18, bank_bits=16, bridge_bits=18),
    "small": Configuration(id_bits=13, bank_bits=11, bridge_bits=14),
}
"""Cards by name: for vocabularies of 100,000 tokens, of 200,000, and of 8,000."""


def configuration(name: str = "default", **changed: int) -> Configuration:
    """Return a configuration by its name, with some parameters changed.

    >>> configuration("large", lanes=4).lanes
    4
    """
    if name not in CONFIGURATIONS:
        named = ", ".join(CONFIGURATIONS)
        raise ShapeError(f"there is no configuration {name!r}; there are {named}")
    return CONFIGURATIONS[name].with_parameters(**changed)
