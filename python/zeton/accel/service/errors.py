"""Exceptions of the service, on both sides of the socket.

* AcceleratorError
  + ServiceError     catches both below; a service cannot be started or reached
    - RefusedError     the service refused a client or a request, with a code
    - ProtocolError    the other side violated the protocol
"""

import ssl
from enum import StrEnum

from zeton.accel.errors import AcceleratorError

__all__ = ["Code", "ProtocolError", "RefusedError", "ServiceError", "is_final"]


class Code(StrEnum):
    """Reasons of a refusal; a request refused for `BUSY` may be sent again."""

    BUSY = "busy"
    CARD = "card"
    REPEATED = "repeated"
    REQUEST = "request"
    SIZE = "size"
    TOKEN = "token"  # noqa: S105 - a word, no secret.
    VERSION = "version"


class ServiceError(AcceleratorError, OSError):
    """The service cannot be started or reached, or has another tokenizer since a restart."""


class RefusedError(ServiceError):
    """The service refused a client or a request."""

    def __init__(self, message: str, code: str) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code = code


class ProtocolError(ServiceError):
    """The other side sent bytes that are not a frame of the protocol."""


def is_final(error: Exception) -> bool:
    """Return whether connecting again cannot help."""
    if isinstance(error, RefusedError):
        return error.code != Code.BUSY
    if isinstance(error, ServiceError | ssl.SSLCertVerificationError):
        return True
    return not isinstance(error, OSError | EOFError)  # A lost connection is worth another attempt.
