"""`sim`: the RTL as a program in this process, made by Verilator.

The clock runs only inside `receive` and register accesses, so an idle card costs no CPU.
"""

import ctypes
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from zeton.accel.configuration import Configuration
from zeton.accel.errors import DeviceError
from zeton.accel.transports.build import build_library
from zeton.accel.wire.packets import Packet, Words

__all__ = ["QUIET_CYCLES", "SimTransport"]

QUIET_CYCLES = 50_000
"""Cycles without a word in or out after which no word will come any more."""

SLICE_CYCLES = 1 << 16
"""Cycles between two checks of the timeout."""


class SimTransport:
    """A simulated card (`Transport`) with empty tables.

    `send` only queues; the card's clock runs in `receive` and while registers are accessed.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        rtl: Iterable[Path] | None = None,
        progress: bool = False,
        quiet_cycles: int = QUIET_CYCLES,
    ) -> None:
        """Build the model unless it is cached, and power it on; `rtl` replaces its source files."""
        self._functions = _load(build_library(configuration.parameters(), rtl, progress=progress))
        self._model: int | None = self._functions.model_new()
        self._quiet_cycles = quiet_cycles

    @property
    def cycles(self) -> int:
        """Clock cycles since power-on."""
        return int(self._functions.model_cycles(self._card()))

    def regime(self, gap_percent: int = 0, stall_percent: int = 0, seed: int = 1) -> None:
        """Delay input in `gap_percent` of cycles, and output in `stall_percent`, at random."""
        self._functions.model_regime(self._card(), gap_percent, stall_percent, seed)

    def run(self, cycles: int) -> None:
        """Run the clock for some cycles."""
        self._functions.model_run(self._card(), cycles)

    def read32(self, address: int) -> int:
        """Read a register."""
        value = ctypes.c_uint32()
        if self._functions.model_read(self._card(), address, ctypes.byref(value)):
            raise DeviceError(
                f"reading register 0x{address:02X} got no answer; expected a register address"
            )
        return value.value

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        if self._functions.model_write(self._card(), address, value):
            raise DeviceError(
                f"writing register 0x{address:02X} got no answer; expected a register address"
            )

    def send(self, packet: Packet) -> None:
        """Queue whole words of 64 bits; the last one ends the packet."""
        words = np.frombuffer(packet, np.uint64)
        if len(words):
            self._functions.model_send(self._card(), words.ctypes.data, len(words))

    def receive(self, words_max: int, timeout: float) -> Words:
        """Return at least one word of the card, in order; none if so many seconds pass without.

        It also returns none after `quiet_cycles` cycles without any traffic, because more cycles
        would change nothing. With a timeout of 0 the clock stands still.
        """
        card = self._card()
        words = np.empty(words_max, np.uint32)
        cycles = max(SLICE_CYCLES, self._quiet_cycles) if timeout > 0 else 0
        end = time.monotonic() + timeout
        while True:
            count = self._functions.model_receive(
                card, words.ctypes.data, words_max, cycles, self._quiet_cycles
            )
            quiet = self._functions.model_quiet(card) >= self._quiet_cycles
            if count or quiet or time.monotonic() >= end:
                return words[:count]

    def reset(self) -> None:
        """Drop packets that the card has not taken, and words that were not received."""
        self._functions.model_forget(self._card())

    def close(self) -> None:
        """Release the card; closing again does nothing."""
        if self._model is not None:
            self._functions.model_free(self._model)
            self._model = None

    def __del__(self) -> None:
        """Release the card."""
        if getattr(self, "_model", None) is not None:
            self.close()

    def _card(self) -> int:
        if self._model is None:
            raise DeviceError("the card was closed; open it again")
        return self._model


@cache
def _load(path: Path) -> Any:  # noqa: ANN401 - ctypes' functions have no types.
    """Load a library and declare its functions to ctypes."""
    try:
        functions = ctypes.CDLL(str(path))
    except OSError as error:
        raise DeviceError(
            f"cannot load {path}: {error}; remove it, and it is built again"
        ) from error
    model, word, size = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_size_t
    for name, result, arguments in (
        ("model_new", model, ()),
        ("model_free", None, (model,)),
        ("model_cycles", ctypes.c_uint64, (model,)),
        ("model_quiet", ctypes.c_uint64, (model,)),
        ("model_regime", None, (model, ctypes.c_uint, ctypes.c_uint, word)),
        ("model_run", None, (model, ctypes.c_uint64)),
        ("model_forget", None, (model,)),
        ("model_send", None, (model, ctypes.c_void_p, size)),
        ("model_receive", size, (model, ctypes.c_void_p, size, ctypes.c_uint64, ctypes.c_uint64)),
        ("model_read", ctypes.c_int, (model, word, ctypes.POINTER(word))),
        ("model_write", ctypes.c_int, (model, word, word)),
    ):
        function = getattr(functions, name)
        function.restype = result
        function.argtypes = arguments
    return functions
