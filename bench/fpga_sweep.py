"""The accelerator's parameters: bytes per cycle by language, clock and area, point by point.

Every point is simulated. The points named below are also placed and routed by one seed, or taken
from bench/fpga.py if it has the same design. Points that are recorded for the same RTL are skipped,
so a run is resumable.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

import fpga
from fpga import SMALL, VOCABS
from fpga_flow import (
    ECP5_85,
    Design,
    FlowError,
    Record,
    let_others_go_first,
    read_records,
    route,
    rtl_state,
    state,
    synthesize,
    versions,
    write_records,
)
from fpga_rates import measure_rates
from zeton.accel.configuration import Configuration
from zeton.accel.transports import build
from zeton.training.report.charts import number

RESULTS = Path(__file__).parent / "results" / "fpga-sweep.json"
SEED = 1

SIMULATED_BYTES = 120_000
"""Bytes of each language."""

POINTS: list[dict[str, int]] = [
    *({"units": units, "wide_units": wide} for units in (4, 6, 8, 10, 12) for wide in (2, 4)),
    *({"units": units, "wide_units": wide} for units, wide in ((7, 1), (8, 1), (16, 4))),
    *({"units": units, "wide_units": 0} for units in (2, 4, 6, 8, 12)),
    *({"slots": slots} for slots in (8, 32)),
    *({"wide_slots": slots} for slots in (16, 64)),
    *({"bridge_bits": bits} for bits in (10, 12, 16)),
    {"bank_bits": 12},
    *({"bytes_log": bits} for bits in (8, 9, 12)),
    *({"units": 7, "wide_units": 1, "lanes": lanes} for lanes in (2, 3)),
]
"""Changes to the small design."""

ROUTED: list[dict[str, int]] = [
    {"units": 10, "wide_units": 2},
    {"units": 2, "wide_units": 0},
    {"units": 4, "wide_units": 0},
    {"units": 6, "wide_units": 0},
    {"units": 8, "wide_units": 0},
    {"units": 4, "wide_units": 2},
    {"units": 7, "wide_units": 1},
    {"units": 12, "wide_units": 4},
    {"units": 6, "wide_units": 2},
    {"units": 8, "wide_units": 2},
    {"units": 7, "wide_units": 1, "lanes": 3},
]
"""Points that are placed and routed, in this order: known ones first, then small ones."""

PICTURE = (640, 420, 70, 24, 150, 50)
"""Width, height, and the margins left, above, right, below."""


build.FAST = "-O1"
"""A low optimization level, because a model runs for seconds and its compiler for minutes."""


def main() -> None:
    options = read_options()
    let_others_go_first()
    records = read_records(RESULTS)
    try:
        if options.kind != "route":
            for changes in named(POINTS, options.only)[: options.points]:
                records = simulate(records, changes)
        if options.kind != "simulate":
            for changes in named(ROUTED, options.only)[: options.points]:
                records = implement(simulate(records, changes), changes)
    except FlowError as error:
        sys.exit(str(error))
    publish(records)
    print(RESULTS.with_suffix(".md").read_text())


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", nargs="?", choices=["simulate", "route", "all"], default="all")
    parser.add_argument("--points", type=int, help="the first N points of each kind")
    parser.add_argument("--only", metavar="POINT", help="one point, as the page names it: '6 + 2'")
    return parser.parse_args()


# ---- points ----


def named(points: list[dict[str, int]], only: str | None) -> list[dict[str, int]]:
    """Return the points of a name, or all."""
    shapes = [asdict(SMALL.with_parameters(**changes)) for changes in points]
    names = [label({"configuration": shape}) for shape in shapes]
    return [each for each, name in zip(points, names, strict=True) if only in (None, name)]


def simulate(records: list[Record], changes: dict[str, int]) -> list[Record]:
    """Measure the rates of a point, unless they are recorded."""
    chosen = SMALL.with_parameters(**changes)
    record = look_up(records, chosen)
    if "rates" in record:
        return records
    vocab = VOCABS["small"]
    record |= {"vocab": vocab, "rates": measure_rates(chosen, vocab, SIMULATED_BYTES)}
    print(f"{label(record)}: {record['rates']['English']['rate']}", file=sys.stderr, flush=True)
    return put(records, record)


def implement(records: list[Record], changes: dict[str, int]) -> list[Record]:
    """Place and route a point, unless that is recorded."""
    chosen = SMALL.with_parameters(**changes)
    record = look_up(records, chosen)
    if "megahertz" in record:
        return records
    design = Design("point", chosen)
    if known := design_of(design):
        found = known["seeds"][str(SEED)] | {
            name: known[name] for name in ("cells", "used", "room")
        }
    else:
        found = {"cells": synthesize(design)["cells"], **route(design, SEED)}
    record |= {"seed": SEED, **found}
    print(f"{label(record)}: {record['megahertz']} MHz", file=sys.stderr, flush=True)
    return put(records, record)


def design_of(point: Design) -> Record | None:
    """Return bench/fpga.py's record of the same netlist on the same part."""
    for record in read_records(fpga.RESULTS):
        if record["state"] == state(point) and record["part"] == ECP5_85.name:
            return record if str(SEED) in record.get("seeds", {}) else None
    return None


def look_up(records: Sequence[Record], chosen: Configuration) -> Record:
    """Return the record of a point of this RTL."""
    shape, rtl = asdict(chosen), rtl_state()
    for record in records:
        if record["configuration"] == shape and record["rtl"] == rtl:
            return record
    return {
        "configuration": shape,
        "rtl": rtl,
        "date": time.strftime("%Y-%m-%d"),
        "tools": versions(),
    }


def put(records: list[Record], record: Record) -> list[Record]:
    """Replace the record of the same point, and write all records."""
    key = (record["configuration"], record["rtl"])
    others = [each for each in records if (each["configuration"], each["rtl"]) != key]
    records = [*others, record]
    publish(records)
    return records


def label(record: Record) -> str:
    """Return the differences between a point and the small design, units first."""
    shape, base = record["configuration"], asdict(SMALL)
    parts = [f"{shape['units']} + {shape['wide_units']}"]
    if shape["lanes"] > 1:
        parts.insert(0, f"{shape['lanes']} lanes")
    known = ("lanes", "units", "wide_units")
    parts += [f"{n} {v}" for n, v in shape.items() if n not in known and v != base[n]]
    return ", ".join(parts)


# ---- the page ----


def publish(records: list[Record]) -> None:
    """Write all records, and page and picture of the newest of each point."""
    write_records(RESULTS, records)
    records = list({str(record["configuration"]): record for record in records}.values())
    RESULTS.with_suffix(".md").write_text("\n".join(tables(records)) + "\n")
    routed = [record for record in records if "megahertz" in record and "rates" in record]
    if routed:
        RESULTS.with_suffix(".svg").write_text(picture(routed))


def tables(records: list[Record]) -> Iterator[str]:
    yield from ("# The accelerator's parameters", "")
    yield (
        "Made by `python bench/fpga_sweep.py`; RTL is a hash of the sources. Points change the "
        "design `small`, with the first 4,096 tokens of cl100k. Rates are bytes per cycle of all "
        "lanes, simulated; raw is the share that the host merges. "
        f"Clock and area are nextpnr's for an ECP5-85, speed grade 8, seed {SEED}. Nothing here "
        "ran on a board."
    )
    records = [record for record in records if "rates" in record]
    if not records:
        return
    languages = list(records[0]["rates"])
    head = " | ".join(f"{language}, raw" for language in languages)
    yield from ("", f"| units + wide | {head} | MHz | LUT | FF | block RAM | MB/s English | RTL |")
    yield "|---|" + "---:|" * (len(languages) + 5) + "---|"
    best = {id(record) for record in front([r for r in records if "megahertz" in r])}
    for record in sorted(records, key=order):
        rates = [f"{r['rate']:.3f}, {100 * r['raw']:.2f} %" for r in record["rates"].values()]
        cells = ["", "", "", "", ""]
        if "megahertz" in record:
            used = record["used"]
            speed = f"{megabytes(record):.0f}"
            cells = [
                f"{record['megahertz']:.1f}",
                f"{used['TRELLIS_COMB']:,}",
                f"{used['TRELLIS_FF']:,}",
                f"{used['DP16KD']}",
                f"**{speed}**" if id(record) in best else speed,
            ]
        yield f"| {label(record)} | {' | '.join([*rates, *cells, record['rtl']])} |"
    yield from ("", "Bold: no other point has as many MB/s with fewer LUTs.")
    if known := design_of(Design("point", SMALL)):
        clocks = {seed: found["megahertz"] for seed, found in known["seeds"].items()}
        told = ", ".join(f"seed {seed}: {clock:.1f} MHz" for seed, clock in clocks.items())
        yield from ("", f"The chosen point, {label({'configuration': asdict(SMALL)})}, by {told}.")


def order(record: Record) -> list[int]:
    shape = record["configuration"]
    return [shape["lanes"], shape["units"], shape["wide_units"], *shape.values()]


def megabytes(record: Record) -> float:
    """Return MB/s of English: simulated bytes per cycle times the routed clock."""
    return float(record["rates"]["English"]["rate"] * record["megahertz"])


def luts(record: Record) -> int:
    return int(record["used"]["TRELLIS_COMB"])


def front(records: Sequence[Record]) -> list[Record]:
    """Return the Pareto front in MB/s and LUTs, smallest first."""
    kept: list[Record] = []
    for record in sorted(records, key=lambda record: (luts(record), -megabytes(record))):
        if not kept or megabytes(record) > megabytes(kept[-1]):
            kept.append(record)
    return kept


# ---- the picture ----


def picture(records: Sequence[Record]) -> str:
    """Draw MB/s over LUTs, with a line along the Pareto front."""
    width, height, left, top, right, below = PICTURE
    most_luts = 1.1 * max(map(luts, records))
    most_speed = 1.1 * max(map(megabytes, records))

    def place(record: Record) -> tuple[float, float]:
        across = left + (width - left - right) * luts(record) / most_luts
        down = height - below - (height - top - below) * megabytes(record) / most_speed
        return across, down

    size = f'width="{width}" height="{height}"'
    look = 'font-family="sans-serif" font-size="12" role="img"'
    title = 'aria-label="MB/s of English over LUTs, by point"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {look} {title}>',
        f'<rect {size} fill="#ffffff"/>',
        f'<path d="M{left} {top}V{height - below}H{width - right}" stroke="#888888" fill="none"/>',
    ]
    for share in (0.25, 0.5, 0.75, 1.0):
        across = left + (width - left - right) * share / 1.1
        down = height - below - (height - top - below) * share / 1.1
        parts.append(text(across, height - below + 18, number(round(most_luts * share / 1.1, -2))))
        parts.append(text(left - 22, down + 4, number(round(most_speed * share / 1.1))))
    parts.append(text((left + width - right) / 2, height - 10, "LUTs of an ECP5-85 (of 83,640)"))
    parts.append(text(left + 40, top - 8, "MB/s, English"))
    best = front(records)
    points = " ".join(f"{across:.1f},{down:.1f}" for across, down in map(place, best))
    parts.append(f'<polyline points="{points}" fill="none" stroke="#c8102e" stroke-width="1.5"/>')
    for record in records:
        across, down = place(record)
        color = "#c8102e" if record in best else "#9aa5b1"
        told = f"{label(record)}: {megabytes(record):.0f} MB/s, {record['megahertz']:.0f} MHz"
        parts.append(
            f'<circle cx="{across:.1f}" cy="{down:.1f}" r="4" fill="{color}">'
            f"<title>{escape(told)}</title></circle>"
        )
        parts.append(
            f'<text x="{across + 8:.1f}" y="{down + 4:.1f}">{escape(label(record))}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


def text(x: float, y: float, content: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(content)}</text>'


if __name__ == "__main__":
    main()
