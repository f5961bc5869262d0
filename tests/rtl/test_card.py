"""The card's top: packets are found in a stream that does not keep their ends."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING, Any

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from cocotb_tools.runner import get_runner

from rtl.simulation import BUILDS, RTL, sources
from rtl.streams import REGIMES, offer, seeded, start, take
from support.paths import ROOT

if TYPE_CHECKING:
    from random import Random

CARD = ROOT / "fpga" / "card"
HEADER = 0x4E545041 << 32
INPUTS = {"restart": 0, "in_valid": 0, "out_ready": 0}


def drawn(rng: Random) -> tuple[list[int], list[tuple[int, int]]]:
    """Draw a stream, and its expected packets; words between packets are no header."""
    given, expected = [], []
    for _ in range(60):
        given += [rng.getrandbits(31) for _ in range(rng.choice([0, 0, 1, 3]))]
        length = rng.choice([0, 1, 1, 2, 3, rng.randrange(1, 40)])
        # A header inside a packet is data.
        words = [rng.choice([rng.getrandbits(64), HEADER | 3]) for _ in range(length)]
        given += [HEADER | length, *words]
        expected += [(word, int(at == length - 1)) for at, word in enumerate(words)]
    return given, expected


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def finds_packets(dut: Any) -> None:
    await start(dut, **INPUTS)
    for regime, (gap, stall) in REGIMES.items():
        given, expected = drawn(seeded(regime))
        cocotb.start_soon(offer(dut, "in", given, gap))
        found = await take(dut, "out", ("data", "last"), count=len(expected), stall=stall)
        assert found == expected


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def starts_anew_in_the_middle_of_a_packet(dut: Any) -> None:
    await start(dut, **INPUTS)
    for words in range(6):
        dut.out_ready.value = 1
        await offer(dut, "in", [HEADER | 5, *range(words)])
        dut.restart.value = 1
        await RisingEdge(dut.clk)
        dut.restart.value = 0
        cocotb.start_soon(offer(dut, "in", [7, 8, 9, HEADER | 2, 10, 11]))
        assert await take(dut, "out", ("data", "last"), count=2) == [(10, 0), (11, 1)]


@pytest.mark.long
def test_packets() -> None:
    content = (CARD / "packets.sv").read_bytes()
    folder = BUILDS / f"packets-{hashlib.sha256(content).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    runner = get_runner("verilator")
    runner.build(
        sources=[CARD / "packets.sv"],
        hdl_toplevel="packets",
        build_dir=folder,
        timescale=("1ns", "1ps"),
        log_file=folder / "build.log",
    )
    results = runner.test(
        test_module=__name__,
        hdl_toplevel="packets",
        hdl_toplevel_lang="verilog",
        build_dir=folder,
        test_dir=folder / __name__,
        seed=1,
    )
    assert results.is_file()


@pytest.mark.long
@pytest.mark.parametrize("name", ["card", "ulx3s"])
def test_the_tops_are_whole(name: str) -> None:
    """Verilator finds every module and every width right; outputs that nobody needs are open."""
    own = {
        "card": [CARD / "packets.sv", CARD / "card.v"],
        "ulx3s": [*(ROOT / "fpga" / "ulx3s").glob("*.sv"), ROOT / "fpga" / "cells" / "EHXPLLL.sv"],
    }
    command = [f"{os.environ['VERILATOR_ROOT']}/bin/verilator", "--lint-only", "-Wall"]
    command += ["-Wno-PINCONNECTEMPTY", "-Wno-UNUSEDPARAM", "-Wno-UNUSEDSIGNAL"]
    command += ["--top-module", name, str(RTL / "generated.vlt")]
    command += [str(path) for path in (*sources("top"), *own[name])]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
