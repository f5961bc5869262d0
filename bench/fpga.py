"""The accelerator on an ECP5-85: area, clock, critical path and bytes per second, recorded.

yosys makes the netlist, nextpnr places and routes it by several seeds; bytes per cycle are
simulated. Designs that are recorded for the same RTL are skipped. Nothing here ran on a board.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from fpga_flow import (
    FPGA,
    TINY,
    ULX3S,
    Design,
    FlowError,
    Record,
    let_others_go_first,
    pack,
    read_records,
    route,
    rtl_state,
    state,
    synthesize,
    synthesize_xilinx,
    versions,
    write_records,
)
from fpga_rates import measure_rates
from zeton.accel.configuration import configuration

RESULTS = Path(__file__).parent / "results" / "fpga.json"

SMALL = configuration("small", units=10, wide_units=2)
THREE = SMALL.with_parameters(lanes=3, units=7, wide_units=1)
GPT2 = configuration("default", id_bits=16, bank_bits=14, units=10, wide_units=2)
BOARD_FILES = (*sorted((FPGA / "ulx3s").glob("*.sv")), FPGA / "cells" / "EHXPLLL.sv")

DESIGNS = {
    "tiny": Design("tiny", TINY),
    "small": Design("small", SMALL),
    "small-3": Design("small-3", THREE),
    "gpt2": Design("gpt2", GPT2),
    "ulx3s": Design(
        "ulx3s", SMALL, "ulx3s", BOARD_FILES, FPGA / "ulx3s" / "ulx3s.lpf", ULX3S, megahertz=50
    ),
    "ulx3s-tiny": Design(
        "ulx3s-tiny", TINY, "ulx3s", BOARD_FILES, FPGA / "ulx3s" / "ulx3s.lpf", ULX3S, megahertz=50
    ),
}
"""Designs that are placed and routed."""

CARDS = {
    "cl100k": Design("cl100k", configuration("default")),
    "o200k": Design("o200k", configuration("large")),
}
"""Designs too large for an ECP5: sized for UltraScale+, neither placed nor routed."""

VOCABS = {
    "tiny": "cl100k_base/640",
    "small": "cl100k_base/4096",
    "small-3": "cl100k_base/4096",
    "gpt2": "gpt2",
}
"""The vocabulary of simulated rates; boards are limited by their serial line."""


def main() -> None:
    options = read_options()
    let_others_go_first()
    records = read_records(RESULTS)
    try:
        for name in options.designs:
            if name in CARDS:
                records = put(records, size(CARDS[name]))
                continue
            for record in implement(DESIGNS[name], records, options.seeds):
                records = put(records, record)
            if not options.no_rates and name in VOCABS:
                records = put(records, with_rates(DESIGNS[name], records))
    except FlowError as error:
        sys.exit(str(error))
    write_records(RESULTS, records)
    page = "\n".join(tables(records)) + "\n"
    RESULTS.with_suffix(".md").write_text(page)
    print(page)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    names = ", ".join([*DESIGNS, *CARDS])
    parser.add_argument(
        "designs", nargs="*", metavar="DESIGN", help=f"{names}; none: only the page"
    )
    parser.add_argument("--seeds", type=int, default=5, help="seeds of placing, from 1")
    parser.add_argument("--no-rates", action="store_true", help="simulate nothing")
    options = parser.parse_args()
    for name in options.designs:
        if name not in DESIGNS and name not in CARDS:
            parser.error(f"there is no design {name!r}; there are {names}")
    return options


# ---- designs ----


def implement(design: Design, records: list[Record], seeds: int) -> Iterator[Record]:
    """Yield the record of a design after each of its seeds; a bitstream is made of the best."""
    made = synthesize(design)
    record = look_up(records, design) or {
        **about(design),
        "cells": made["cells"],
        "synthesis_seconds": made["seconds"],
        "seeds": {},
    }
    for seed in range(1, seeds + 1):
        if str(seed) not in record["seeds"]:
            found = route(design, seed)
            record["used"], record["room"] = found.pop("used"), found.pop("room")
            record["seeds"][str(seed)] = found
            print(f"{design.name}, seed {seed}: {found['megahertz']} MHz", file=sys.stderr)
            yield record
    record["bitstream_bytes"] = pack(design, best(record)[0]).stat().st_size
    yield record


def with_rates(design: Design, records: list[Record]) -> Record:
    """Return the record of a design with its bytes per cycle."""
    record = look_up(records, design) or about(design)
    if "rates" not in record:
        vocab = VOCABS[design.name]
        record |= {"vocab": vocab, "rates": measure_rates(design.configuration, vocab)}
    return record


def size(design: Design) -> Record:
    """Return the record of a design in cells of UltraScale+."""
    made = synthesize_xilinx(design)
    return {
        **about(design),
        "part": "UltraScale+ (synth_xilinx -family xcup), not placed, not run on a card",
        "cells": made["cells"],
        "synthesis_seconds": made["seconds"],
    }


def about(design: Design) -> Record:
    return {
        "design": design.name,
        "state": state(design),
        "rtl": rtl_state(),
        "date": time.strftime("%Y-%m-%d"),
        "tools": versions(),
        "top": design.top,
        "part": design.part.name,
        "configuration": asdict(design.configuration),
    }


# ---- records ----


def look_up(records: Iterable[Record], design: Design) -> Record | None:
    key = (design.name, state(design))
    return next((each for each in records if (each["design"], each["state"]) == key), None)


def put(records: list[Record], record: Record) -> list[Record]:
    """Replace the record of the same design, and write the file."""
    key = (record["design"], record["state"])
    others = [each for each in records if (each["design"], each["state"]) != key]
    write_records(RESULTS, [*others, record])
    return [*others, record]


def best(record: Record) -> tuple[int, float]:
    """Return the seed with the fastest clock, and its MHz."""
    clocks = {int(seed): float(found["megahertz"]) for seed, found in record["seeds"].items()}
    seed = max(clocks, key=lambda seed: clocks[seed])
    return seed, clocks[seed]


# ---- the page ----


def tables(records: list[Record]) -> Iterator[str]:
    """Yield the lines of a page: the newest record of each design, then earlier ones."""
    newest = {record["design"]: record for record in records}
    yield from ("# The accelerator on an FPGA", "")
    yield (
        "Made by `python bench/fpga.py`: yosys and nextpnr for the ECP5; bytes per cycle are "
        "simulated. Nothing here ran on a board. MB/s: bytes per cycle of all lanes, times the "
        f"clock of the best seed. RTL is a hash; that of the sources is now {rtl_state()}."
    )
    routed = [newest[name] for name in DESIGNS if newest.get(name, {}).get("seeds")]
    if routed:
        yield from ("", *area_table(routed), "", *rate_table(routed), "", *path_table(routed))
    if sized := [newest[name] for name in CARDS if name in newest]:
        yield from ("", *card_table(sized))
    if earlier := [r for r in records if newest[r["design"]] is not r and r.get("seeds")]:
        yield from ("", *earlier_table(earlier))


def area_table(records: list[Record]) -> Iterator[str]:
    head = "| design | RTL | lanes, units + wide | LUT | FF | block RAM "
    head += "| MHz, best | MHz by seed | part |"
    yield from (head, "|---|---|---|---:|---:|---:|---:|---|---|")
    for record in records:
        clocks = [found["megahertz"] for found in record["seeds"].values()]
        spread = f"spread {100 * (max(clocks) - min(clocks)) / max(clocks):.0f} %"
        seeds = ", ".join(f"{clock:.1f}" for clock in clocks)
        seeds += f" ({spread})" if len(clocks) > 1 else " (one seed)"
        shape = record["configuration"]
        yield (
            f"| {record['design']} | {record['rtl']} "
            f"| {shape['lanes']}, {shape['units']} + {shape['wide_units']} "
            f"| {area(record, 'TRELLIS_COMB')} | {area(record, 'TRELLIS_FF')} "
            f"| {area(record, 'DP16KD')} | {max(clocks):.1f} | {seeds} | {record['part']} |"
        )


def area(record: Record, kind: str) -> str:
    used, room = record["used"].get(kind, 0), record["room"].get(kind, 1)
    return f"{used:,} ({100 * used / room:.0f} %)"


def rate_table(records: list[Record]) -> Iterator[str]:
    known = [record for record in records if "rates" in record]
    if not known:
        return
    languages = list(known[0]["rates"])
    head = " | ".join(f"{language}: bytes/cycle, raw, MB/s" for language in languages)
    yield from (f"| design | vocabulary | {head} |", "|---|---|" + "---|" * len(languages))
    for record in known:
        clock = best(record)[1]
        cells = [
            f"{found['rate']:.3f}, {100 * found['raw']:.2f} %, **{found['rate'] * clock:.0f}**"
            for found in record["rates"].values()
        ]
        yield f"| {record['design']} | {record['vocab']} | {' | '.join(cells)} |"


def path_table(records: list[Record]) -> Iterator[str]:
    yield from ("Critical path of the best seed:", "")
    yield "| design | from | to | through | levels | logic ns | routing ns |"
    yield "|---|---|---|---|---:|---:|---:|"
    for record in records:
        path = record["seeds"][str(best(record)[0])].get("path")
        if path:
            blocks = " → ".join(f"`{name}`" for name in path["blocks"])
            yield (
                f"| {record['design']} | `{path['source']}` | `{path['sink']}` | {blocks} "
                f"| {path['levels']} | {path.get('logic', 0)} | {path.get('routing', 0)} |"
            )


def card_table(records: list[Record]) -> Iterator[str]:
    yield "For a data-centre card, in cells of UltraScale+; neither placed nor run on a card:"
    yield ""
    yield "| design | LUT | FF | LUT RAM | block RAM (36 kb) | URAM |"
    yield "|---|---:|---:|---:|---:|---:|"
    for record in records:
        cells = record["cells"]
        luts = sum(count for kind, count in cells.items() if kind.startswith("LUT"))
        flops = sum(count for kind, count in cells.items() if kind.startswith("FD"))
        small = sum(
            count for kind, count in cells.items() if kind.startswith("RAM") and "B" not in kind
        )
        blocks = cells.get("RAMB36E2", 0) + cells.get("RAMB18E2", 0) / 2
        yield (
            f"| {record['design']} | {luts:,} | {flops:,} | {small:,} | {blocks:g} "
            f"| {cells.get('URAM288', 0)} |"
        )


def earlier_table(records: list[Record]) -> Iterator[str]:
    yield from ("Earlier states of the RTL:", "")
    yield from (
        "| design | RTL | date | LUT | MHz, best | seeds | from | to |",
        "|---|---|---|---:|---:|---:|---|---|",
    )
    for record in records:
        seed, clock = best(record)
        path = record["seeds"][str(seed)].get("path", {})
        yield (
            f"| {record['design']} | {record['rtl']} | {record['date']} "
            f"| {area(record, 'TRELLIS_COMB')} | {clock:.1f} | {len(record['seeds'])} "
            f"| `{path.get('source', '')}` | `{path.get('sink', '')}` |"
        )


if __name__ == "__main__":
    main()
