"""The routed designs that `zeton accel info` shows equal the newest records."""

import json

import pytest

from support.paths import ROOT
from zeton.accel.routed import ROUTED, RoutedDesign


@pytest.mark.parametrize("design", ROUTED, ids=lambda design: design.name)
def test_a_routed_design_is_its_newest_record(design: RoutedDesign) -> None:
    records = json.loads((ROOT / "bench" / "results" / "fpga.json").read_text())["records"]
    newest = next(each for each in reversed(records) if each["design"] == design.name)
    clock = max(seed["megahertz"] for seed in newest["seeds"].values())
    assert "LFE5U-85F" in newest["part"]
    assert newest["configuration"]["lanes"] == design.lanes
    assert design.megahertz == pytest.approx(clock, abs=0.06)
    rate = newest["rates"]["English"]["rate"]
    assert design.bytes_per_cycle == pytest.approx(rate, abs=0.0006)
