"""Cards by name: `sim`, `reference`, `nodes:PREFIX`, `pci:PATH`, `uart:PATH`, `tcp:HOST:PORT`."""

import os
import sys
from typing import TYPE_CHECKING

from zeton.accel.configuration import Configuration
from zeton.accel.errors import DeviceError

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

__all__ = ["AUTHORITY_VARIABLE", "TOKEN_VARIABLE", "check_name", "open_transport"]

TOKEN_VARIABLE = "ZETON_CARD_TOKEN_FILE"  # noqa: S105 - the name of a file.
"""The variable that names the file with the token for `tcp:`."""

AUTHORITY_VARIABLE = "ZETON_CARD_AUTHORITY"
"""The variable that names the certificate to trust for `tcp:`; with it, TLS is spoken."""


def check_name(name: str) -> str:
    """Return the name of a card, if it is one.

    >>> check_name("nodes:/dev/xdma0")
    'nodes:/dev/xdma0'
    """
    way, colon, where = name.partition(":")
    if (way in ("nodes", "pci", "uart", "tcp") and where) or (
        way in ("sim", "reference") and not colon
    ):
        return name
    raise DeviceError(
        f"there is no card {name!r}; there are 'sim' and 'reference', "
        "'nodes:PREFIX', 'pci:PATH', 'uart:PATH' and 'tcp:HOST:PORT'"
    )


def open_transport(
    name: str,
    configuration: Configuration,
    *,
    timeout: float = 60.0,
    progress: bool | None = None,
) -> "Transport":
    """Open the way to a card; the configuration is that of a card that is made here."""
    way, _, where = check_name(name).partition(":")
    # Each way is imported when it is taken.
    if way == "sim":
        from zeton.accel.transports.sim import SimTransport  # noqa: PLC0415

        shown = sys.stderr.isatty() if progress is None else progress
        return SimTransport(configuration, progress=shown)
    if way == "reference":
        from zeton.accel.reference import ReferenceTransport  # noqa: PLC0415

        return ReferenceTransport(configuration)
    if way == "nodes":
        from zeton.accel.transports.nodes import NodesTransport  # noqa: PLC0415

        return NodesTransport(where, timeout=timeout)
    if way == "pci":
        from zeton.accel.transports.pci import BarTransport  # noqa: PLC0415

        return BarTransport(where, timeout=timeout)
    if way == "uart":
        from zeton.accel.transports.uart import SerialLine, UartTransport  # noqa: PLC0415

        return UartTransport(SerialLine(where))
    from zeton.accel.transports import gate  # noqa: PLC0415
    from zeton.accel.transports.tcp import TcpTransport  # noqa: PLC0415

    token, authority = os.environ.get(TOKEN_VARIABLE), os.environ.get(AUTHORITY_VARIABLE)
    return TcpTransport(
        *gate.split_address(where),
        timeout=timeout,
        token=gate.read_token(token) if token else b"",
        context=gate.authority_context(authority) if authority else None,
    )
