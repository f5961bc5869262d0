"""Cards by name: `sim`, `reference`, `nodes:PREFIX`, `pci:PATH`, `uart:PATH`, `tcp:HOST:PORT`.

For example, `tcp:card.example:4004` becomes a `TcpTransport`.
"""

import os
import sys
from typing import TYPE_CHECKING

from zeton.accel.configuration import Configuration
from zeton.accel.errors import DeviceError
from zeton.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

__all__ = ["AUTHORITY_VARIABLE", "TOKEN_VARIABLE", "check_name", "open_transport"]

TOKEN_VARIABLE = "ZETON_CARD_TOKEN_FILE"  # noqa: S105 - the name of a file.
"""Environment variable: the file with the token for `tcp:`."""

AUTHORITY_VARIABLE = "ZETON_CARD_AUTHORITY"
"""Environment variable: the certificate to trust for `tcp:`; it turns TLS on."""


PLACES = {
    "sim": "",
    "reference": "",
    "nodes": "PREFIX",
    "pci": "PATH",
    "uart": "PATH",
    "tcp": "HOST:PORT",
}
"""Ways to a card, with the place that follows the colon."""


def check_name(name: str) -> str:
    """Return the name of a card, or refuse it with the nearest one.

    >>> check_name("nodes:/dev/xdma0")
    'nodes:/dev/xdma0'
    >>> check_name("simulator")
    Traceback (most recent call last):
    zeton.accel.errors.DeviceError: no card 'simulator'; did you mean 'sim'?
    >>> check_name("uart")
    Traceback (most recent call last):
    zeton.accel.errors.DeviceError: card 'uart' has no place; give uart:PATH
    """
    way, colon, where = name.partition(":")
    if way not in PLACES:
        raise DeviceError(f"no card {name!r}{_suggestion(way)}")
    place = PLACES[way]
    if place and not where:
        raise DeviceError(f"card {name!r} has no place; give {way}:{place}")
    if colon and not place:
        raise DeviceError(f"card {name!r} has a place, and {way!r} takes none; give {way!r}")
    return name


def _suggestion(way: str) -> str:
    """Return the end of a message: the nearest way to a card, or all of them."""
    near = nearest(way, PLACES)
    if near is None and way:
        near = next((each for each in PLACES if way.casefold().startswith(each)), None)
    spelled = {each: f"{each}:{place}" if place else each for each, place in PLACES.items()}
    if near is not None:
        return f"; did you mean {spelled[near]!r}?"
    return did_you_mean("", spelled.values())


def open_transport(
    name: str,
    configuration: Configuration,
    *,
    timeout: float = 60.0,
    progress: bool | None = None,
) -> "Transport":
    """Open the transport of a card; `configuration` applies to `sim` and `reference`."""
    way, _, where = check_name(name).partition(":")
    # A transport is imported when it is opened, because each needs other modules.
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
