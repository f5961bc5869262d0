"""A card that encodes: `open` gives a `Device`, which gives exactly what a `Tokenizer` gives.

>>> import jeton
>>> from jeton import accel
>>> tok = jeton.Tokenizer({bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257})
>>> with accel.open("reference", "small") as device:
...     device.load(tok)
...     device.encode("lower")
[257, 101, 114]
"""

import sys
from typing import TYPE_CHECKING, Literal

from jeton.accel.configuration import CONFIGURATIONS, Configuration, configuration
from jeton.accel.device import Device, Info
from jeton.accel.errors import (
    AcceleratorError,
    AnswerError,
    BuildError,
    DeviceError,
    DeviceTimeoutError,
    FitError,
    ShapeError,
)

if TYPE_CHECKING:
    from jeton.accel.transport import Transport

__all__ = [
    "CONFIGURATIONS",
    "AcceleratorError",
    "AnswerError",
    "BuildError",
    "Configuration",
    "Device",
    "DeviceError",
    "DeviceTimeoutError",
    "FitError",
    "Info",
    "ShapeError",
    "configuration",
    "open",
]


def open(  # noqa: A001 - as gzip.open and others.
    name: Literal["sim", "reference"] = "sim",
    config: str = "default",
    *,
    timeout: float = 60.0,
    fallback: bool | Literal["software"] = False,
    progress: bool | None = None,
    **parameters: int,
) -> Device:
    """Open a card: "sim", the RTL as a program, which is built if need be, or "reference".

    `config` names a configuration, and parameters change it: `open("sim", "large", lanes=4)`. The
    reference is a card in Python, slow and short. For another card, give a `Device` its transport.
    The building shows its progress, unless told otherwise, where there is a terminal.
    """
    chosen = configuration(config, **parameters)
    transport: Transport
    if name == "sim":
        from jeton.accel.sim import SimTransport  # noqa: PLC0415 - it compiles.

        shown = sys.stderr.isatty() if progress is None else progress
        transport = SimTransport(chosen, progress=shown)
    elif name == "reference":
        from jeton.accel.reference import ReferenceTransport  # noqa: PLC0415

        transport = ReferenceTransport(chosen)
    else:
        raise DeviceError(f"there is no card {name!r}; there are 'sim' and 'reference'")
    return Device(transport, name=name, timeout=timeout, fallback=fallback)
