"""The limits of a service, for every buffer, timeout and count."""

from dataclasses import dataclass, fields

from zeton.accel.errors import AcceleratorError

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Sizes, counts and timeouts of a service."""

    body_bytes_max: int = 8 << 20
    """Largest body of a request in bytes."""
    texts_max: int = 1 << 16
    """Largest number of texts in a request."""
    in_flight_max: int = 64
    """Unanswered requests of one client; reading stops at this number."""
    in_flight_bytes_max: int = 16 << 20
    """Bytes of the unanswered requests of one client; reading stops at this number."""
    waiting_bytes_max: int = 256 << 20
    """Bytes of all unanswered requests; reading stops at this number."""
    answers_bytes_max: int = 256 << 20
    """Bytes of all answers in memory, for clients that reconnect or read slowly."""
    connections_max: int = 1024
    batch_bytes: int = 1 << 18
    """Bytes of text in a batch, per lane."""
    in_flight_batches: int = 2
    """Batches on a card at the same time."""
    hello_seconds: float = 10.0
    """Time for a client to send HELLO."""
    stall_seconds: float = 30.0
    """Time for a client to send the rest of a request, or to read an answer."""
    session_seconds: float = 120.0
    """Time for a client to reconnect."""
    hang_seconds: float = 300.0
    """Time for a card to answer a batch; then another card encodes it."""
    retry_seconds: float = 1.0
    """Time from a card's failure to its reset; doubled at each failure up to a minute."""
    fallback: bool = True
    """Whether software encodes when no card works."""

    def __post_init__(self) -> None:
        """Refuse limits of 0 and contradictory limits."""
        for field in fields(self):
            if field.name != "fallback" and getattr(self, field.name) <= 0:
                raise AcceleratorError(
                    f"{field.name} is {getattr(self, field.name)}; give more than 0"
                )
        if self.body_bytes_max > min(self.waiting_bytes_max, self.in_flight_bytes_max):
            raise AcceleratorError(
                f"body_bytes_max is {self.body_bytes_max}, more than waiting_bytes_max "
                f"({self.waiting_bytes_max}) or in_flight_bytes_max ({self.in_flight_bytes_max}); "
                "raise them"
            )
