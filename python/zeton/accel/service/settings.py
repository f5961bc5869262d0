"""The limits of a service: every buffer, every wait and every count has one."""

from dataclasses import dataclass, fields

from zeton.accel.errors import AcceleratorError

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a service takes, how long it waits, and what it keeps."""

    body_bytes_max: int = 8 << 20
    """Of one request."""
    texts_max: int = 1 << 16
    """Of one request."""
    in_flight_max: int = 64
    """Requests of one client that are not answered; no more are read until one is."""
    in_flight_bytes_max: int = 16 << 20
    """Bytes of them."""
    waiting_bytes_max: int = 256 << 20
    """Bytes of all requests that are not answered; no more are read until some are."""
    answers_bytes_max: int = 256 << 20
    """Bytes of all answers that are kept for clients that may ask again, or do not read."""
    connections_max: int = 1024
    batch_bytes: int = 1 << 18
    """Bytes of text for each lane that make a batch."""
    in_flight_batches: int = 2
    """Batches that are on a card at once."""
    hello_seconds: float = 10.0
    """For a client to say who it is."""
    stall_seconds: float = 30.0
    """For a client to go on with a request, or to take an answer."""
    session_seconds: float = 120.0
    """For a client to come back."""
    hang_seconds: float = 300.0
    """For a card to give a batch back; then others encode it."""
    retry_seconds: float = 1.0
    """From a card's failure to the attempt to bring it back; doubled up to a minute."""
    fallback: bool = True
    """Whether software encodes when no card can."""

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        for field in fields(self):
            if field.name != "fallback" and getattr(self, field.name) <= 0:
                raise AcceleratorError(
                    f"{field.name} is {getattr(self, field.name)}; give more than 0"
                )
        if self.body_bytes_max > min(self.waiting_bytes_max, self.in_flight_bytes_max):
            raise AcceleratorError(
                f"a request may have {self.body_bytes_max} bytes, but all that wait may not; "
                "raise waiting_bytes_max and in_flight_bytes_max"
            )
