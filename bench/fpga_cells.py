"""Two trees of RTL compared by the cells of their synthesis.

A change of names, types or comments leaves every gate, flip-flop and memory as it is. LUTs are the
exception: abc visits gates in an order that depends on their names, so that LUT4 and PFUMX differ
by a few where nothing else does. So two counts are shown: gates before abc, and cells of an ECP5
after it. yosys alone runs, without nextpnr: some minutes for `small`, seconds for one block.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fpga import DESIGNS
from fpga_flow import (
    DELAY,
    JOIN_UNITS,
    ROOT,
    SLANG,
    FlowError,
    let_others_go_first,
    run_yosys,
    share_units,
)

Cells = dict[str, int]


def main() -> None:
    options = read_options()
    let_others_go_first()
    try:
        with ThreadPoolExecutor(len(options.trees)) as pool:
            counts = [*pool.map(lambda tree: synthesize(tree, options), options.trees)]
    except FlowError as error:
        sys.exit(str(error))
    for stage in ("gates", "cells"):
        for line in table(stage, options.trees, [count[stage] for count in counts]):
            print(line)
        print()
    sys.exit(any(count["gates"] != counts[0]["gates"] for count in counts))


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "trees", nargs="+", type=Path, metavar="TREE", help="a checkout, such as a git worktree"
    )
    parser.add_argument("--design", default="small", choices=[*DESIGNS], help="whose parameters")
    parser.add_argument("--block", default="top", help="one module, with its default parameters")
    return parser.parse_args()


def synthesize(tree: Path, options: argparse.Namespace) -> dict[str, Cells]:
    """Count the gates before abc and the cells after it, of a design or of one block, by kind."""
    design = DESIGNS[options.design]
    files = sorted((tree / "rtl").rglob("*.sv"), key=is_module)
    if not files:
        raise FlowError(f"{tree} has no rtl/*.sv; name a checkout of this repository")
    read = f"read_slang {SLANG} --top {options.block}"
    units = "setattr -mod -set keep_hierarchy 1 merge$*"
    if options.block == "top":
        read += "".join(f" -G {name}={value}" for name, value in design.all_parameters().items())
        units = share_units(design)
    synth = f"synth_ecp5 -top {options.block} -run"
    count = f"stat -json -top {options.block}"
    gates = f"{DELAY}; {synth} begin:map_luts; tee -q -o gates.json {count}"
    cells = f"{synth} map_luts:; {JOIN_UNITS}; tee -q -o cells.json {count}"
    (ROOT / "target").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "target") as place:
        folder = Path(place)
        for path in files:
            shutil.copy(path, folder)
        names = " ".join(path.name for path in files)
        run_yosys(folder, f"{read} {names}; {units}; {gates}; {cells}")
        return {stage: read_counts(folder / f"{stage}.json") for stage in ("gates", "cells")}


def read_counts(file: Path) -> Cells:
    """Sum the cells of all modules, without yosys's scope annotations."""
    counts: Cells = {}
    for module in json.loads(file.read_text())["modules"].values():
        for kind, count in module["num_cells_by_type"].items():
            counts[kind] = counts.get(kind, 0) + count
    counts.pop("$scopeinfo", None)
    return counts


def is_module(path: Path) -> tuple[bool, str]:
    """Sort packages to the front."""
    return "\nendpackage" not in path.read_text(), path.name


def table(stage: str, trees: list[Path], counts: list[Cells]) -> Iterator[str]:
    """Yield the rows of a page: one per kind of cell, with a column per tree."""
    yield f"| {stage} | {' | '.join(map(str, trees))} | |"
    yield "|---|" + "---:|" * len(trees) + "---|"
    for kind in sorted({kind for cells in counts for kind in cells}):
        row = [cells.get(kind, 0) for cells in counts]
        equal = "" if len({*row}) == 1 else "differs"
        yield f"| {kind} | {' | '.join(f'{count:,}' for count in row)} | {equal} |"


if __name__ == "__main__":
    main()
