"""A card that encodes: `open` gives a `Device`, which gives exactly what a `Tokenizer` gives.

>>> import zeton
>>> from zeton import accel
>>> tok = zeton.Tokenizer({bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257})
>>> with accel.open("reference", config="small") as device:
...     device.load(tok)
...     device.encode("lower")
[257, 101, 114]
"""

from typing import Literal

from zeton.accel.configuration import CONFIGURATIONS, Configuration, configuration
from zeton.accel.device import Device, Info
from zeton.accel.errors import (
    AcceleratorError,
    AnswerError,
    BuildError,
    BusyError,
    DeviceError,
    DeviceTimeoutError,
    FitError,
    ShapeError,
)
from zeton.accel.transports.names import open_transport

__all__ = [
    "CONFIGURATIONS",
    "AcceleratorError",
    "AnswerError",
    "BuildError",
    "BusyError",
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
    name: str = "sim",
    *,
    config: str = "default",
    timeout: float = 60.0,
    fallback: bool | Literal["software"] = False,
    progress: bool | None = None,
    **parameters: int,
) -> Device:
    """Open a card by its name.

    "sim" is the RTL as a program, which is built if need be; "reference" a card in Python, slow and
    short. `config` names their configuration, and parameters change it: `open("sim", "large",
    lanes=4)`. The building shows its progress, unless told otherwise, where there is a terminal.

    "nodes:PREFIX" is a card behind XDMA's nodes, "uart:PATH" a board behind a serial port, and
    "tcp:HOST:PORT" a card in another machine; they say themselves what they are. For another card,
    give a `Device` its transport.
    """
    chosen = configuration(config, **parameters)
    transport = open_transport(name, chosen, timeout=timeout, progress=progress)
    try:
        return Device(transport, name=name, timeout=timeout, fallback=fallback)
    except BaseException:
        transport.close()
        raise
