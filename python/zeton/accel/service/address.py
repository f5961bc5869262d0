"""The address of a service: a Unix socket, or a host and port."""

import socket
from contextlib import suppress
from dataclasses import dataclass

from zeton.accel.errors import DeviceError
from zeton.accel.service.errors import ServiceError
from zeton.accel.transports.gate import is_loopback, split_address

__all__ = ["Address", "keep_alive"]


@dataclass(frozen=True, slots=True)
class Address:
    """The path of a Unix socket, or a host and a port."""

    path: str | None = None
    host: str = ""
    port: int = 0

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parse `unix:PATH` or `tcp:HOST:PORT`.

        >>> Address.parse("unix:/run/zeton/accel.sock").path
        '/run/zeton/accel.sock'
        >>> Address.parse("tcp:[::1]:7777")
        Address(path=None, host='::1', port=7777)
        """
        kind, _, rest = text.partition(":")
        if kind == "unix" and rest:
            return cls(path=rest)
        if kind == "tcp":
            with suppress(DeviceError):
                return cls(None, *split_address(rest))
        raise ServiceError(f"{text!r} is not an address; give unix:PATH or tcp:HOST:PORT")

    @property
    def is_local(self) -> bool:
        """Whether only processes of this machine can reach it."""
        return self.path is not None or is_loopback(self.host)

    def __str__(self) -> str:
        """Return the form that `parse` reads."""
        if self.path is not None:
            return f"unix:{self.path}"
        return (
            f"tcp:[{self.host}]:{self.port}" if ":" in self.host else f"tcp:{self.host}:{self.port}"
        )


def keep_alive(connection: socket.socket) -> None:
    """Turn keep-alive on, so that a vanished machine is detected within a minute."""
    if connection.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 20), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):  # Linux has all of them.
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
