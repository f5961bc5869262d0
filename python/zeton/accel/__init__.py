"""The accelerator: `open` returns a `Device`, whose ids equal the `Tokenizer`'s on every text.

>>> import zeton
>>> from zeton import accel
>>> tok = zeton.Tokenizer({bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257})
>>> with accel.open("reference", config="small") as device:
...     device.load(tok)
...     device.encode("lower")
[257, 101, 114]

The rooms of the package; each imports at run time only from the rows above it:

| module | subject |
|---|---|
| `errors`, `configuration`, `registers` | exceptions, parameters and registers of a card |
| `wire/` | requests and responses in memory and on wires |
| `tables/` | a tokenizer as memory images |
| `reference` | the specification of a card, in Python |
| `transports/` | the ways to a card, and their names |
| `device` | the card that programs hold |
| `service/` | one card for many clients |
"""

from typing import Literal

from zeton.accel.configuration import CONFIGURATIONS, Configuration, configuration
from zeton.accel.device import Device
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
from zeton.accel.info import Info
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


def open(  # noqa: A001 - named like gzip.open.
    name: str = "sim",
    *,
    config: str = "default",
    timeout: float = 60.0,
    fallback: bool | Literal["software"] = False,
    progress: bool | None = None,
    **parameters: int,
) -> Device:
    """Open a card by its name and return it as a `Device`.

    | name | card |
    |---|---|
    | `sim` | the RTL as a program, built on first use in one to two minutes |
    | `reference` | the specification in Python, slow and without a build |
    | `nodes:PREFIX` | behind the character devices of XDMA's driver |
    | `pci:PATH` | behind the BAR of a PCI function |
    | `uart:PATH` | on a board behind a serial port |
    | `tcp:HOST:PORT` | in another machine, served by `zeton accel card-server` |

    `config` and `parameters` apply to `sim` and `reference`, for example
    `open("sim", config="large", lanes=4)`. Any other card reports its own configuration.

    `timeout` is the number of seconds after which a silent card is an error. With `fallback=True`
    (or "software") the host encodes the texts of a card that fails. `progress` shows the progress
    of the build; by default only in a terminal. For a card of your own, make a `Device` with its
    transport.
    """
    chosen = configuration(config, **parameters)
    transport = open_transport(name, chosen, timeout=timeout, progress=progress)
    try:
        return Device(transport, name=name, timeout=timeout, fallback=fallback)
    except BaseException:
        transport.close()
        raise
