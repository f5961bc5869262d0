"""The accelerator at scale, calculated: limits by lanes, links and hosts; cost of a terabyte.

Rates of the card are simulated (`results/accel.json`). Clocks and areas come from place and route
(`results/fpga.json`), rates of the software from `results/latest.json`. The host's own share of the
work is measured here (`--measure`). Each assumption has an option, and tables mark it as assumed.
The tables are part of `docs/accelerator-scale.md`.
"""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import zeton
from texts import SEPARATOR, data
from zeton.accel.configuration import Configuration, configuration
from zeton.accel.device import Device
from zeton.accel.transports.sim import SimTransport
from zeton.accel.wire.packets import Words
from zeton.accel.wire.words import BATCH, FRAME_BYTES, Vocab, deal, read_words

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "accelerator-scale.md"
HOST = RESULTS / "scale.json"
CARD = "cl100k_base on default"
GROUPS = {"en": "English", "code": "code", "multi": "other languages", "web": "web"}
"""The groups of real text in `accel.json`."""

HOST_FILES = {"en": "en/books", "code": "code/python", "multi": "multi/zh", "web": "web/html"}
HOST_BYTES = 200_000
ROUNDS = 20

PARTS = {"LUT": 1_303_680, "FF": 2_607_360, "block RAM": 2_016, "URAM": 960}
"""Cells of an Alveo U55C (XCU55C)."""

TOPS_MAX = 4
"""Channels of XDMA in each direction; a `top` needs one of each."""

Record = dict[str, Any]


def main() -> None:
    options = read_options()
    if options.measure:
        HOST.write_text(json.dumps(measured(), indent=1) + "\n")
    lines = "\n".join(tables(options))
    page = PAGE.read_text()
    made = re.sub(
        r"(<!-- tables -->\n).*?(<!-- end of tables -->)",
        lambda found: f"{found[1]}\n{lines}\n{found[2]}",
        page,
        flags=re.DOTALL,
    )
    PAGE.write_text(made)
    print(lines)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure the host's share again")
    parser.add_argument("--clock", type=float, default=250, help="of a data-centre card, MHz")
    parser.add_argument("--fill", type=float, default=0.75, help="share of its cells that is used")
    parser.add_argument("--link", type=float, default=6.7, help="GB/s in each direction")
    parser.add_argument("--card-watts", type=float, default=115)
    parser.add_argument("--chip-watts", type=float, default=3, help="an ECP5-85 on its board")
    parser.add_argument("--core-watts", type=float, default=8)
    parser.add_argument("--card-hour", type=float, default=1.65, help="dollars")
    parser.add_argument("--core-hour", type=float, default=0.05, help="dollars")
    return parser.parse_args()


# ---- the host's share ----


class Recorder(SimTransport):
    """A simulated card that records its words."""

    def __init__(self, shape: Configuration) -> None:
        super().__init__(shape)
        self.words: list[Words] = []

    def receive(self, words_max: int, timeout: float) -> Words:
        found = super().receive(words_max, timeout)
        self.words.append(found)
        return found


def measured() -> Record:
    """Return the rate of a host core that serves a card, by group: MB per CPU second."""
    import numpy as np  # noqa: PLC0415

    tokenizer = zeton.pretrained("cl100k_base")
    transport = Recorder(configuration("default"))
    device = Device(transport)
    device.load(tokenizer)
    vocab, found = Vocab(tokenizer), {}
    for group, name in HOST_FILES.items():
        content = (data() / "dev" / f"{name}.txt").read_bytes()[:HOST_BYTES]
        texts = content.split(SEPARATOR.encode())
        transport.words.clear()
        ids = device.encode_batch(texts)
        words = np.concatenate(transport.words)
        words = words[words >> np.uint32(24) & np.uint32(7) != BATCH >> 24]
        size = sum(map(len, texts)) / 1e6

        def drive(texts: list[bytes] = texts, words: Words = words) -> list[list[int]]:
            return read_words(words, deal(texts, 1), vocab)

        if drive() != ids or ids != tokenizer.encode_batch(texts):
            sys.exit(f"{name}: other ids")
        found[group] = {
            "file": name,
            "bytes": int(size * 1e6),
            "words": len(words),
            "raw": round(
                np.count_nonzero(words >> np.uint32(24) & np.uint32(7) == 1) / size / 1e6, 4
            ),
            "driver": round(size / least(drive), 1),
            "software": round(
                size / least(lambda texts=texts: tokenizer.encode_batch(texts, threads=1)), 1
            ),
        }
    return {"date": time.strftime("%Y-%m-%d"), "groups": found}


def least(call: Any) -> float:  # noqa: ANN401 - anything that can be called.
    """Return the CPU seconds of the fastest of some rounds."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


# ---- tables ----


def tables(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of all tables."""
    groups = simulated()
    yield from stream_table(groups, options)
    yield from lane_table(options)
    yield from card_table(groups, options)
    yield from host_table()
    yield from terabyte_table(groups, options)


def simulated() -> dict[str, Record]:
    """Return the sums of real text by group: bytes per cycle, and words back per byte."""
    records = json.loads((RESULTS / "accel.json").read_text())["records"]
    found = {}
    for group in GROUPS:
        own = [
            record
            for record in records
            if (record["card"], record["kind"], record["regime"]) == (CARD, "real", "free")
            and record["name"].startswith(f"{group}/")
        ]
        total = {
            name: sum(record[name] for record in own)
            for name in ("bytes", "cycles", "ids", "raw_bytes", "texts")
        }
        size = total["bytes"]
        found[group] = {
            "rate": size / total["cycles"],
            "ids": total["ids"] / size,
            "raw": total["raw_bytes"] / size,
            "to": 1 + 8 / FRAME_BYTES + 8 * total["texts"] / size,
            "back": (total["ids"] + total["raw_bytes"]) / size,
        }
    return found


def lanes_of(record: Record) -> float:
    """Return the number of lanes that fill a `top`: 8 bytes in, one word out per cycle."""
    return float(min(8 / record["to"], 1 / record["back"]) / record["rate"])


def stream_table(groups: dict[str, Record], options: argparse.Namespace) -> Iterator[str]:
    yield (
        "*Streams of one `top`* (simulated, cl100k on `default`; words back: ids and fallback "
        "bytes):"
    )
    yield ""
    yield from head(
        "text",
        "bytes per cycle and lane",
        "ids per byte",
        "fallback",
        "words back per byte",
        "lanes that fill the words out",
        f"GB/s of one `top` at {options.clock:g} MHz, assumed",
    )
    for group, record in groups.items():
        most = lanes_of(record)
        rate = most * record["rate"] * options.clock / 1000
        yield (
            f"| {GROUPS[group]} | {record['rate']:.3f} | {record['ids']:.3f} "
            f"| {100 * record['raw']:.1f} % | {record['back']:.3f} | {most:.1f} | {rate:.2f} |"
        )


def lane_table(options: argparse.Namespace) -> Iterator[str]:
    """Yield the numbers of lanes that fit the cells of a card."""
    newest = {record["design"]: record for record in fpga_records()}
    sized = [newest[name] for name in ("cl100k", "o200k") if name in newest]
    yield ""
    if not sized:
        yield from by_memory(options)
        return
    share = f"{100 * options.fill:g} %"
    yield f"*Lanes by cells*, {share} of a U55C used (assumed); a lane as synthesized, not placed:"
    yield ""
    yield from head("design", *(f"{kind}: a lane, lanes" for kind in PARTS), "lanes")
    for record in sized:
        needed = cells_of(record["cells"])
        lanes = {kind: options.fill * PARTS[kind] / max(needed[kind], 0.5) for kind in PARTS}
        cells = " | ".join(f"{needed[kind]:,.0f}, {lanes[kind]:.0f}" for kind in PARTS)
        yield f"| {record['design']} | {cells} | {min(lanes.values()):.0f} |"


def cells_of(cells: dict[str, int]) -> dict[str, float]:
    """Sum the cells of UltraScale+ by the resources of a part."""

    def of(*starts: str) -> float:
        return float(sum(count for kind, count in cells.items() if kind.startswith(starts)))

    return {
        "LUT": of("LUT", "RAM32", "RAM64", "RAM128", "RAM256", "SRL"),
        "FF": of("FD"),
        "block RAM": of("RAMB36") + of("RAMB18") / 2,
        "URAM": of("URAM"),
    }


def by_memory(options: argparse.Namespace) -> Iterator[str]:
    """Yield the numbers of lanes that fit the memory of a card; used without synthesis."""
    yield (
        "*Lanes by memory*: `python bench/fpga.py cl100k o200k` has recorded no cells yet, so the "
        "pair table alone is counted: four banks, each as deep as 4,096 entries of 72 bits a URAM:"
    )
    yield ""
    yield from head("vocabulary", "entries", "bits of an entry", "URAM a lane", "lanes by URAM")
    for name, vocab in (("default", "cl100k"), ("large", "o200k")):
        shape = configuration(name)
        urams = 4 * max(1 << shape.bank_bits - 12, 1)
        lanes = options.fill * PARTS["URAM"] / urams
        yield f"| {vocab} | {shape.pairs_max:,} | {shape.entry_bits} | {urams} | {lanes:.0f} |"


def card_rate(record: Record, options: argparse.Namespace) -> tuple[float, str]:
    """Return the GB/s of a card, and its bottleneck."""
    limits = {
        f"{TOPS_MAX} streams of words": TOPS_MAX * options.clock / 1000 / record["back"],
        "link to the card": options.link / record["to"],
        "link back": options.link / (4 * record["back"]),
    }
    bound = min(limits, key=lambda name: limits[name])
    return limits[bound], bound


def card_table(groups: dict[str, Record], options: argparse.Namespace) -> Iterator[str]:
    yield ""
    yield (
        f"*A card*, {TOPS_MAX} `top`s with enough lanes at {options.clock:g} MHz (assumed), "
        f"PCIe 3.0 x8 with {options.link:g} GB/s each way (assumed):"
    )
    yield ""
    yield from head(
        "text",
        "words out, GB/s of text",
        "link to the card",
        "link back",
        "lanes for that",
        "bound by",
    )
    for group, record in groups.items():
        rate, bound = card_rate(record, options)
        lanes = rate * 1000 / options.clock / record["rate"]
        yield (
            f"| {GROUPS[group]} | {TOPS_MAX * options.clock / 1000 / record['back']:.2f} "
            f"| {options.link / record['to']:.2f} | {options.link / (4 * record['back']):.2f} "
            f"| {lanes:.0f} | {bound} |"
        )


def host_table() -> Iterator[str]:
    host = json.loads(HOST.read_text())
    yield ""
    yield (
        "*The host's share*, measured: the rate of one core that runs only the driver (`deal` and "
        "`read_words`: frames, merges of fallback bytes, checks, lists of ids), and of the "
        f"software without a card, warm, {host['date']}:"
    )
    yield ""
    yield from head(
        "text", "fallback", "driver, MB a CPU second", "software", "driver's time by the software's"
    )
    for group, found in host["groups"].items():
        yield (
            f"| {GROUPS[group]}: {found['file']} | {100 * found['raw']:.1f} % "
            f"| {found['driver']:.0f} | {found['software']:.0f} "
            f"| {found['software'] / found['driver']:.1f} |"
        )


def terabyte_table(groups: dict[str, Record], options: argparse.Namespace) -> Iterator[str]:
    yield ""
    yield (
        f"*A terabyte*: software on cores of {options.core_watts:g} W and "
        f"${options.core_hour:g} an hour; a card of {options.card_watts:g} W and "
        f"${options.card_hour:g} an hour; a chip of {options.chip_watts:g} W (all assumed). "
        "Hours: a million MB by the MB/s; kWh: hours times W. Without the host's share:"
    )
    yield ""
    yield from head("encoder", "text", "MB/s", "from", "kWh", "$")
    for group, rate in software().items():
        yield terabyte(
            "software, a core",
            GROUPS[group],
            rate,
            "measured, `latest.json`",
            (options.core_watts, options.core_hour),
        )
    for design, language, rate in routed():
        yield terabyte(
            f"ECP5-85, `{design}`",
            language,
            rate,
            "simulated rate, routed clock, `fpga.json`",
            (options.chip_watts, None),
        )
    for group, record in groups.items():
        rate, _ = card_rate(record, options)
        yield terabyte(
            "U55C",
            GROUPS[group],
            rate * 1000,
            "estimate, above",
            (options.card_watts, options.card_hour),
        )


def terabyte(
    what: str, text: str, rate: float, source: str, assumed: tuple[float, float | None]
) -> str:
    watts, dollars = assumed
    hours = 1e6 / rate / 3600
    cost = "" if dollars is None else f"{hours * dollars:.2f}"
    energy = f"{hours * watts / 1000:.3f}"
    return f"| {what} | {text} | {rate:,.0f} | {source} | {energy} | {cost} |"


def software() -> dict[str, float]:
    """Return the engine's MB per CPU second on a large text, to arrays, with a cold cache."""
    records = json.loads((RESULTS / "latest.json").read_text())["records"]
    found = {}
    for record in records:
        key = (record["task"], record["vocab"], record["form"], record["peer"])
        if key == ("large", "cl100k_base", "array", "zeton") and record["texts"] in GROUPS:
            found[record["texts"]] = record["bytes"] / 1e6 / min(record["figures"]["first"])
    return found


def fpga_records() -> list[Record]:
    return list(json.loads((RESULTS / "fpga.json").read_text())["records"])


def routed() -> Iterator[tuple[str, str, float]]:
    """Yield the MB/s of the newest routed designs, by language."""
    newest = {record["design"]: record for record in fpga_records()}
    for name in ("small", "small-3", "gpt2"):
        record = newest.get(name, {})
        if record.get("seeds") and record.get("rates"):
            clock = max(seed["megahertz"] for seed in record["seeds"].values())
            for language in ("English", "code"):
                yield name, language, record["rates"][language]["rate"] * clock


def head(*names: str) -> Iterator[str]:
    yield f"| {' | '.join(names)} |"
    yield "|---|" + "---:|" * (len(names) - 1)


if __name__ == "__main__":
    main()
