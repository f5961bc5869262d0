"""The state of a card, as `Device.info` returns it."""

from dataclasses import dataclass

from zeton.accel.configuration import Configuration

__all__ = ["Info"]


@dataclass(frozen=True, slots=True)
class Info:
    """Identity, configuration and counts of a card."""

    name: str
    configuration: Configuration
    """Parameters from the card's registers, which do not include `bytes_log`."""
    image: int
    """Digest of the loaded tables, or 0 without tables."""
    failure: str | None
    """The error after which the card needs a reset, or None."""
    texts: int
    """Texts that the card has encoded; specials cut a text into several."""
    software_texts: int
    """Texts that the host has encoded, because they were too long or the card failed."""
    software_bytes: int
    """Bytes of the texts that the host has encoded."""
