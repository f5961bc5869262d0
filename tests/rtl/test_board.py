"""The board's top over its serial pins: a host's bytes in, the ids of the tokenizer out."""

from __future__ import annotations

import hashlib
import os
import random
import sys
from typing import TYPE_CHECKING, Any

import cocotb
import numpy as np
import pytest
from cocotb.clock import Clock
from cocotb.task import bridge, resume
from cocotb.triggers import Edge, Event, First, Timer
from cocotb_tools.runner import get_runner

import zeton
from rtl.simulation import BUILDS, sources
from support.paths import ROOT
from zeton.accel import registers
from zeton.accel.tables.image import make_tables
from zeton.accel.transports.uart import UartTransport
from zeton.accel.wire.words import Vocab, deal, read_words
from zeton.cli.options.samples import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

sys.path.insert(0, str(ROOT / "bench"))
from fpga_flow import TINY

BOARD = ROOT / "fpga" / "ulx3s"
BIT_CYCLES = 5
PERIOD = 20  # ns
BIT = BIT_CYCLES * PERIOD
BATCH = 7 << 24
LETTERS = b" \n'st1,\xff"


class Pins:
    """The other end of the board's serial port (`Line`), called from another thread."""

    def __init__(self, dut: Any) -> None:
        self.dut = dut
        self.come = bytearray()
        self.event = Event()
        cocotb.start_soon(self.listen())
        self.write = resume(self.write_bits)
        self.read = resume(self.read_bytes)
        self.send_break = resume(self.hold_low)

    async def listen(self) -> None:
        """Read the pin as a serial port does: a falling edge, then the middle of each bit."""
        line = self.dut.ftdi_rxd
        while True:
            await Edge(line)
            if line.value:
                continue
            await Timer(BIT // 2, "ns")
            assert not line.value, "a start bit is no start bit"
            byte = 0
            for at in range(8):
                await Timer(BIT, "ns")
                byte |= int(line.value) << at
            await Timer(BIT, "ns")
            assert line.value, "a stop bit is low"
            self.come.append(byte)
            self.event.set()

    async def write_bits(self, data: bytes) -> None:
        line = self.dut.ftdi_txd
        for byte in data:
            for bit in (0, *(byte >> at & 1 for at in range(8)), 1):
                line.value = bit
                await Timer(BIT, "ns")

    async def read_bytes(self, seconds: float) -> bytes:
        """Wait in the board's time: a second of the host's is 100 us."""
        self.event.clear()
        if not self.come and seconds > 0:
            await First(self.event.wait(), Timer(round(seconds * 100_000) + 1, "ns"))
        found, self.come = bytes(self.come), bytearray()
        return found

    async def hold_low(self) -> None:
        self.dut.ftdi_txd.value = 0
        await Timer(30 * BIT, "ns")
        self.dut.ftdi_txd.value = 1
        await Timer(3 * BIT, "ns")

    def close(self) -> None:
        """Nothing is held."""


async def start(dut: Any) -> Pins:
    dut.ftdi_txd.value, dut.button_fire1.value = 1, 0
    Clock(dut.clk_25mhz, PERIOD, unit="ns").start()
    await Timer(600 * PERIOD, "ns")
    return Pins(dut)


def tokenizer() -> zeton.Tokenizer:
    trained = zeton.train([text.decode() for text in SAMPLES.values()], vocab_size=600)
    assert isinstance(trained, zeton.Tokenizer)
    return trained


def image(own: zeton.Tokenizer) -> bytes:
    """Make an image for texts of ASCII and bad bytes only, because a serial line is slow."""
    tables = make_tables(own, TINY)
    row = int(tables[0][0])
    words = [0 << 60 | 0 << 40 | row]
    classes = tables[1][128 * row : 128 * row + 128].tolist()
    words += [1 << 60 | (128 * row + at) << 40 | kind for at, kind in enumerate(classes)]
    used = int(np.flatnonzero(tables[2]).max()) + 1
    for select, entries in tables.items():
        if select >= 2:
            some = entries[: used if select == 2 else None].tolist()
            words += [select << 60 | at << 40 | int(entry) for at, entry in enumerate(some)]
    return np.array(words, np.uint64).tobytes()


def receive_batches(transport: UartTransport, batches: int) -> list[list[int]]:
    """Receive the words of batches, each without its last."""
    told: list[list[int]] = [[]]
    while len(told) <= batches:
        received = transport.receive(100, 60.0)
        assert len(received), f"no word after {told[-1][-3:]}"
        for word in received.tolist():
            if word >> 24 == BATCH >> 24:
                told.append([])
            else:
                told[-1].append(word)
    assert not told.pop()
    return told


@bridge
def encode_over_pins(transport_of: Pins) -> None:
    """Do as a host does: look, load, encode, twice with a break between."""
    own = tokenizer()
    transport = UartTransport(transport_of, timeout=60.0)
    assert transport.read32(registers.ID) == 0x4E54455A
    assert transport.read32(registers.SHAPE_0) == 1 | TINY.units << 8 | TINY.id_bits << 24
    transport.write32(registers.CONTROL, registers.CONTROL_LOAD.put(1))
    transport.send(image(own))
    while registers.STATUS_LOADING.of(transport.read32(registers.STATUS)):
        pass
    rng = random.Random(3)
    samples = [text[:300] for text in SAMPLES.values() if text[:300].isascii()]
    hostile = [bytes(rng.choices(LETTERS, k=rng.randrange(30))) for _ in range(30)]
    vocab = Vocab(own)
    for round_ in range(2):
        if round_:
            # The link forgets half a command; the card is told to forget half a packet.
            transport_of.write(bytes([3, 200, 1, 2, 3]))
            transport.reset()
            transport.write32(registers.CONTROL, registers.CONTROL_RESET.put(1))
            while not registers.STATUS_IDLE.of(transport.read32(registers.STATUS)):
                pass
            transport.reset()
        batches = [samples + hostile, [b" " * 900, b""], hostile[::-1]]
        dealt = [deal(texts, 1) for texts in batches]
        for each in dealt:
            transport.send(each.packet)  # All are in flight: more than the board's queue holds.
        for texts, each, words in zip(
            batches, dealt, receive_batches(transport, len(batches)), strict=True
        ):
            ids = read_words(np.array(words, np.uint32), each, vocab)
            assert ids == [own.encode(text) for text in texts]


@cocotb.test(timeout_time=200, timeout_unit="ms")
async def gives_the_ids_of_the_tokenizer(dut: Any) -> None:
    await encode_over_pins(await start(dut))


@bridge
def look_at_a_register(pins: Pins) -> None:
    transport = UartTransport(pins, timeout=60.0)
    transport.write32(registers.IMAGE_0, 0x12345678)
    assert transport.read32(registers.IMAGE_0) == 0x12345678
    pins.write(b"\xee\x00")  # An unknown command is skipped.
    assert transport.read32(registers.ID) == 0x4E54455A


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def starts_anew_by_its_button(dut: Any) -> None:
    pins = await start(dut)
    await look_at_a_register(pins)
    dut.button_fire1.value = 1
    await Timer(50 * PERIOD, "ns")
    dut.button_fire1.value = 0
    await Timer(600 * PERIOD, "ns")
    await look_at_a_register(pins)


def files() -> Iterator[Path]:
    yield from sources("top")
    yield from sorted(BOARD.glob("*.sv"))
    yield ROOT / "fpga" / "cells" / "EHXPLLL.sv"


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_board_encodes_over_its_pins() -> None:
    parameters = {name: value for name, value in TINY.parameters().items() if name != "LANES"}
    parameters["BIT_CYCLES"] = BIT_CYCLES
    state = hashlib.sha256(repr(sorted(parameters.items())).encode())
    for path in files():
        state.update(path.read_bytes())
    folder = BUILDS / f"ulx3s-{state.hexdigest()[:16]}"
    runner = get_runner("verilator")
    folder.mkdir(parents=True, exist_ok=True)
    runner.build(
        sources=list(files()),
        hdl_toplevel="ulx3s",
        parameters=parameters,
        build_dir=folder,
        timescale=("1ns", "1ps"),
        build_args=["-Wno-fatal", "-Wno-UNOPTFLAT", "-CFLAGS", "-O1"],
        log_file=folder / "build.log",
    )
    results = runner.test(
        test_module=__name__,
        hdl_toplevel="ulx3s",
        hdl_toplevel_lang="verilog",
        build_dir=folder,
        test_dir=folder / __name__,
        seed=1,
        extra_env={"PYTHONPATH": os.pathsep.join([str(ROOT / "tests"), str(ROOT / "python")])},
    )
    assert results.is_file()
