"""Fault injection into every transport of a card: each fault ends in right ids or a typed error.

Each trial draws a fault and its moment; a fault that does not strike is not counted. Texts are
encoded while it strikes, and sometimes tables are loaded. Then the fault ends, the card is reset,
and texts are encoded again, with right ids. A trial that takes over a minute is a hang and ends
the run.
"""

import argparse
import faulthandler
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import TYPE_CHECKING, Any, Protocol

import zeton
from zeton.accel import AcceleratorError, Device, configuration
from zeton.accel.transports import nodes
from zeton.accel.transports.card_server import CardServer
from zeton.accel.transports.faults import (
    NODE_FAULTS,
    TRANSPORT_FAULTS,
    WIRE_FAULTS,
    FaultySystem,
    FaultyTransport,
    FaultyWire,
)
from zeton.accel.transports.names import open_transport
from zeton.accel.transports.nodes import NodesTransport
from zeton.accel.transports.pci import BarServer, BarTransport
from zeton.accel.transports.tcp import TcpTransport
from zeton.cli.options.samples import SAMPLES

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

RESULTS = Path(__file__).parent / "results" / "faults.json"
SHAPE = configuration("small", lanes=2, units=2, slots=8, wide_units=1, wide_slots=16, bytes_log=8)
WAIT_SECONDS = 0.5
"""Seconds until a card times out, which is the length of every stall."""

HANG_SECONDS = 60
ROUNDS = 3
"""Batches that are encoded while a fault strikes, and after it."""


class Faults(Protocol):
    """The object that injects faults."""

    has_struck: bool

    def spoil(self, fault: str, after: int, seed: int) -> None: ...

    def heal(self) -> None: ...


@dataclass
class Way:
    """A transport, and the faults that it can have."""

    name: str
    device: Device
    faults: dict[str, tuple[Faults, int]]
    """The injector of each fault and its latest moment, in calls or bytes."""
    is_near: bool = False
    """Whether registers answer at once."""


@dataclass
class Record:
    way: str
    fault: str
    seed: int
    struck: bool
    """False if the fault did not strike; then only a wrong end is recorded."""
    loading: bool
    """True if tables were loaded too."""
    ended: str
    """`right ids`, or the type of the error. `wrong ids` and errors of other types are failures."""
    said: str
    seconds: float


def main() -> None:
    options = parse()
    draw = random.Random(options.seed)  # noqa: S311
    texts = [text.decode() for text in SAMPLES.values()]
    tokenizers = [zeton.train(texts, vocab_size=1500), zeton.train(texts[::2], vocab_size=900)]
    records: list[Record] = []
    with TemporaryDirectory(prefix="zeton-faults-") as folder, ExitStack() as stack:
        every = [stack.enter_context(way(Path(folder))) for way in ways(options.card)]
        for way in every:
            way.device.load(tokenizers[0])
        for at in count():
            way = every[at % len(every)]
            fault = list(way.faults)[at // len(every) % len(way.faults)]
            record = injected(way, fault, draw.getrandbits(32), tokenizers)
            if record.struck or not is_right(record):
                records.append(record)
                shown(records)
            if len(records) == options.faults:
                break
    write(records, options)
    bad = [record for record in records if not is_right(record)]
    for record in bad:
        print(f"{record.way}, {record.fault}, seed {record.seed}: {record.ended}: {record.said}")
    sys.exit(bool(bad))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="faults.py", description=__doc__)
    parser.add_argument("--faults", type=int, default=1000)
    parser.add_argument("--card", choices=["reference", "sim"], default="reference")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


# ---- transports ----


def ways(card: str) -> "list[Callable[[Path], Any]]":
    """Return the functions that open each transport that this machine has."""

    def made() -> "Transport":
        return open_transport(card, SHAPE)

    @contextmanager
    def in_process(_: Path) -> Iterator[Way]:
        way = opened(card, made(), {})
        way.is_near = True
        yield way

    @contextmanager
    def over_tcp(_: Path) -> Iterator[Way]:
        with CardServer(made()) as server, FaultyWire(server.port) as wire:
            transport = TcpTransport("127.0.0.1", wire.port, timeout=WAIT_SECONDS)
            way = opened("tcp", transport, dict.fromkeys(WIRE_FAULTS, (wire, 2000)))
            yield way
            way.device.close()

    @contextmanager
    def over_memory(folder: Path) -> Iterator[Way]:
        file = folder.with_name(f"{folder.name}.bar")
        with BarServer(made(), file):
            transport = BarTransport(file, timeout=4 * WAIT_SECONDS)
            try:
                yield opened("pci", transport, {})
            finally:
                transport.close()
                file.unlink()

    @contextmanager
    def over_nodes(folder: Path) -> Iterator[Way]:
        system: Any = FaultySystem()
        with fake_card(folder, card) as prefix:
            transport = NodesTransport(prefix, timeout=4 * WAIT_SECONDS)
            nodes.os = system  # type: ignore[attr-defined]
            try:
                yield opened("nodes", transport, dict.fromkeys(NODE_FAULTS, (system, 3)))
            finally:
                nodes.os = os  # type: ignore[attr-defined]
                transport.close()

    found: list[Callable[[Path], Any]] = [in_process, over_tcp, over_memory]
    if os.access("/dev/fuse", os.R_OK | os.W_OK) and shutil.which("fusermount3"):
        found.append(over_nodes)
    else:
        print("nodes are left out: FUSE is not here", file=sys.stderr)
    return found


def opened(name: str, transport: "Transport", own: dict[str, tuple[Faults, int]]) -> Way:
    """Open a device with fault injection in its transport and in the layer below."""
    faulty = FaultyTransport(transport)
    common: dict[str, tuple[Faults, int]] = dict.fromkeys(TRANSPORT_FAULTS, (faulty, 2))
    named = {f"{fault} ({name})": made for fault, made in own.items()}
    return Way(name, Device(faulty, timeout=WAIT_SECONDS), common | named)


@contextmanager
def fake_card(folder: Path, card: str) -> Iterator[str]:
    """Serve nodes in another process."""
    shape = [
        part
        for key, value in asdict(SHAPE).items()
        for part in (f"--{key.replace('_', '-')}", str(value))
    ]
    command = [sys.executable, "-m", "zeton", "accel", "fake-card", str(folder), "--card", card]
    with subprocess.Popen([*command, *shape], stdout=subprocess.DEVNULL) as process:
        try:
            while not (folder / "card_user").exists() and process.poll() is None:
                time.sleep(0.05)
            yield f"{folder}/card"
        finally:
            process.terminate()


# ---- a fault ----


def injected(way: Way, named: str, seed: int, tokenizers: list[zeton.Tokenizer]) -> Record:
    """Inject a fault while texts are encoded; heal it, reset the card, and encode again."""
    draw = random.Random(seed)  # noqa: S311
    faults, latest = way.faults[named]
    fault = named.partition(" (")[0]
    start = time.monotonic()
    faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
    # A packet that changes below the transport's checks is found by reading the tables back, which
    # takes minutes if each register needs a round trip.
    is_below = isinstance(faults, FaultyTransport)
    loading = draw.random() < 0.4 and (way.is_near or not is_below)
    tokenizer = tokenizers[loading]
    latest *= 20 if loading and latest > 100 else 1
    faults.spoil(fault, draw.randrange(latest + 1), seed)
    ended, said = encoded(way.device, draw, tokenizer, loading=loading, verifying=is_below)
    struck = faults.has_struck
    faults.heal()
    if ended == "right ids":  # Late words of the fault may still arrive.
        ended, said = encoded(way.device, draw, tokenizer)
    try:
        way.device.reset()
        way.device.load(tokenizer := tokenizers[0])
        after = encoded(way.device, draw, tokenizer)
    except AcceleratorError as error:
        after = "no reset", str(error)
    if after[0] != "right ids":
        ended, said = f"after the reset: {after[0]}", after[1]
    faulthandler.cancel_dump_traceback_later()
    seconds = round(time.monotonic() - start, 3)
    said = said.replace(gettempdir(), "…")  # A record has no paths of this machine.
    return Record(way.name, fault, seed, struck, loading, ended, said, seconds)


def encoded(
    device: Device,
    draw: random.Random,
    tokenizer: zeton.Tokenizer,
    *,
    loading: bool = False,
    verifying: bool = False,
) -> tuple[str, str]:
    """Encode drawn texts; return the outcome and the error's message."""
    batches = [[drawn(draw) for _ in range(draw.randrange(1, 5))] for _ in range(ROUNDS)]
    try:
        if loading:
            device.load(tokenizer)
            if verifying:
                device.verify()
        found = list(device.encode_iter(batches, in_flight=draw.randrange(1, 4)))
        device.counters()
    except AcceleratorError as error:
        return type(error).__name__, str(error)
    except Exception as error:  # noqa: BLE001 - a failure, which is recorded.
        return f"untyped {type(error).__name__}", str(error)
    return (
        "right ids"
        if found == [tokenizer.encode_batch(batch) for batch in batches]
        else "wrong ids"
    ), ""


def drawn(draw: random.Random) -> bytes:
    """Draw a text: a sample, odd bytes, a long run, or an empty text."""
    kind = draw.randrange(8)
    if kind == 0:
        return b""
    if kind == 1:
        return draw.randbytes(draw.randrange(60))
    if kind == 2:
        return bytes([draw.choice(b" \na")]) * draw.randrange(700) + b"x"
    sample = draw.choice(list(SAMPLES.values()))
    start = draw.randrange(len(sample))
    return sample[start : start + draw.randrange(200)]


def is_right(record: Record) -> bool:
    return record.ended in ("right ids", "DeviceError", "DeviceTimeoutError", "AnswerError")


# ---- results ----


def shown(records: list[Record]) -> None:
    if len(records) % 50 == 0:
        bad = sum(not is_right(record) for record in records)
        print(f"{len(records)} faults, {bad} ended wrong", file=sys.stderr, flush=True)


def write(records: list[Record], options: argparse.Namespace) -> None:
    """Write one record per line, and tables of the outcomes of faults."""
    ends = Counter(record.ended for record in records)
    head = {
        "date": time.strftime("%Y-%m-%d"),
        "card": options.card,
        "seed": options.seed,
        "configuration": asdict(SHAPE),
        "python": platform.python_version(),
        "faults": len(records),
        "ends": dict(ends.most_common()),
    }
    lines = ",\n".join(json.dumps(asdict(record)) for record in records)
    content = json.dumps({**head, "records": []}, indent=1)
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(content.replace('"records": []', f'"records": [\n{lines}\n]') + "\n")
    wrong = sum(not is_right(record) for record in records)
    table = [
        f"`python bench/faults.py --card {options.card} --seed {options.seed}`, {head['date']}:",
        f"{len(records)} faults struck; {wrong} ended in wrong ids, an untyped error or a hang.",
        "",
        "| way | fault | times | right ids | typed error |",
        "|---|---|---|---|---|",
    ]
    for way, fault in sorted({(record.way, record.fault) for record in records}):
        own = [record for record in records if (record.way, record.fault) == (way, fault)]
        right = sum(record.ended == "right ids" for record in own)
        typed = sum(is_right(record) for record in own) - right
        table.append(f"| {way} | {fault} | {len(own)} | {right} | {typed} |")
    options.out.with_suffix(".md").write_text("\n".join(table) + "\n")
    print(", ".join(f"{count} {end}" for end, count in ends.most_common()))


if __name__ == "__main__":
    main()
