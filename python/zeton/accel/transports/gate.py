"""Access control for cards on a network.

On the loopback every process may connect. Beyond it both sides need TLS 1.3 and a token of 16 bytes
or more.
"""

import hmac
import ipaddress
import ssl
from pathlib import Path

from zeton.accel.errors import DeviceError
from zeton.errors import file_error

__all__ = [
    "authority_context",
    "check_gate",
    "check_token",
    "has_token",
    "is_loopback",
    "read_token",
    "server_context",
    "split_address",
    "system_context",
]

TOKEN_BYTES = range(16, 1025)
"""Allowed token lengths; shorter ones could be guessed."""


def split_address(address: str) -> tuple[str, int]:
    """Split an address into host and port.

    >>> split_address("127.0.0.1:4004")
    ('127.0.0.1', 4004)
    >>> split_address("[::1]:4004")
    ('::1', 4004)
    """
    host, colon, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise DeviceError(
            f"{address!r} is not an address; give HOST:PORT, for example 127.0.0.1:4004"
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is this machine's loopback, without a DNS query.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost")
    (True, True, True)
    >>> is_loopback("192.168.0.7"), is_loopback("card.example")
    (False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def check_gate(host: str, token: bytes, context: ssl.SSLContext | None) -> None:
    """Refuse a host beyond the loopback without TLS and a token."""
    if token:
        check_token(token)
    if not is_loopback(host) and not (token and context):
        missing = " and ".join(
            name for name, there in (("TLS", context), ("a token", token)) if not there
        )
        raise DeviceError(f"{host} is beyond the loopback; give {missing}, or use 127.0.0.1")


def read_token(file: str | Path) -> bytes:
    """Read a token from a file, and strip white space."""
    try:
        token = Path(file).read_bytes().strip()
    except OSError as error:
        raise file_error(file, "read", error) from error
    return check_token(token, f"the token in {file}")


def check_token(token: bytes, which: str = "the token") -> bytes:
    """Return a token, or refuse one that is too short to be secret or too long to be sent.

    >>> check_token(b"secret")
    Traceback (most recent call last):
    zeton.accel.errors.DeviceError: the token has 6 bytes; give 16 to 1024
    """
    if len(token) not in TOKEN_BYTES:
        least, most = TOKEN_BYTES.start, TOKEN_BYTES.stop - 1
        raise DeviceError(f"{which} has {len(token)} bytes; give {least} to {most}")
    return token


def has_token(token: bytes, expected: bytes) -> bool:
    """Compare tokens in constant time."""
    return hmac.compare_digest(token, expected)


def server_context(certificate: str | Path, key: str | Path) -> ssl.SSLContext:
    """Return the TLS context of a server with a certificate and key."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:
        raise file_error(certificate, f"used with {key}", error) from error
    return context


def authority_context(certificate: str | Path) -> ssl.SSLContext:
    """Return the TLS context of a client that trusts this certificate or authority only."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(certificate)
    except OSError as error:
        raise file_error(certificate, "used as an authority", error) from error
    return context


def system_context() -> ssl.SSLContext:
    """Return the TLS context of a client that trusts the system's authorities."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    return context
