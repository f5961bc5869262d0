"""`zeton accel serve` under load: every id verified, nothing lost, latency, memory, throughput.

The run has three parts: the card alone, the service with many clients, and the card alone again.
Some clients are killed. Shares are relative to the mean of both parts without the service. At the
end the service itself is killed and restarted under its clients. On a busy machine the share by CPU
time is more reliable than the one by the clock. A simulated card is the bottleneck of its service;
`--card software` measures the service and the clients.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import re
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zeton
from texts import groups
from zeton import accel
from zeton.accel.service import AsyncClient

RESULTS = Path(__file__).parent / "results" / "service.json"
VOCAB = 4096
TRAIN_CHARACTERS = 4_000_000
TEXTS = 2000
TEXT_CHARACTERS = (100, 1500)
BARE_ROUNDS = 1
WARM_UP_SECONDS = 5.0
KILL_SECONDS = 2.0

Record = dict[str, Any]


@dataclass
class Load:
    """The requests and errors of clients."""

    texts: list[bytes]
    ids: list[list[int]]
    seconds: list[float] = field(default_factory=list)
    asked: int = 0
    """Requests of clients that were not killed."""
    answered: int = 0
    killed: int = 0
    wrong: int = 0
    size: int = 0
    connections: int = 0
    texts_of_request: tuple[int, int] = (1, 4)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


def main() -> None:
    options = read_options()
    with tempfile.TemporaryDirectory() as name:
        record = asyncio.run(measure(options, Path(name)))
    records = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    key = (record["card"], record["texts_of_request"])
    records = [each for each in records if (each["card"], each["texts_of_request"]) != key]
    records.append(record)
    RESULTS.write_text(json.dumps(records, indent=1) + "\n")
    RESULTS.with_suffix(".md").write_text("\n".join(page(records)) + "\n")
    print(RESULTS.with_suffix(".md").read_text())
    if record["wrong"] or record["lost"]:
        sys.exit(f"{record['wrong']} wrong, {record['lost']} lost")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--card", default="sim", help="sim, software, or another card's name")
    parser.add_argument("--config", default="small", help="the configuration of the card")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument(
        "--texts",
        type=int,
        nargs=2,
        default=[1, 4],
        metavar="N",
        help="smallest and largest number of texts in a request",
    )
    parser.add_argument("--restarts", type=int, default=3, help="kills of the service at the end")
    return parser.parse_args()


async def measure(options: argparse.Namespace, folder: Path) -> Record:
    """Run all parts, and return the record."""
    corpus = [text for texts in groups([]).values() for text in texts]
    chosen = random.Random(1)  # noqa: S311 - no secret.
    chosen.shuffle(corpus)
    tokenizer = zeton.train([shortened(text) for text in corpus[:200]], vocab_size=VOCAB)
    tokenizer.save(folder / "bench.zeton")
    texts = [part.encode() for part in parts_of(corpus[200:], chosen)]
    request = (options.texts[0], options.texts[1])
    load = Load(texts, tokenizer.encode_batch(texts), texts_of_request=request)
    before = bare_rates(options, tokenizer, load)
    record = await loaded(options, folder, load)
    after = bare_rates(options, tokenizer, load)
    again = Load(load.texts, load.ids, texts_of_request=request)
    record |= await restarted(options, folder, again)
    share = record["mb_per_second"] / statistics.mean([before[0], after[0]])
    cpu_share = record["mb_per_cpu_second"] / statistics.mean([before[1], after[1]])
    record |= {
        "bare": [round(rate, 4) for rate in (before[0], after[0])],
        "bare_cpu": [round(rate, 4) for rate in (before[1], after[1])],
        "share": round(share, 3),
        "cpu_share": round(cpu_share, 3),
    }
    return {
        "card": options.card if options.card == "software" else f"{options.card} {options.config}",
        "texts_of_request": options.texts,
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[1], 1),
        **record,
    }


def shortened(text: str) -> str:
    return text[: TRAIN_CHARACTERS // 200]


def parts_of(corpus: list[str], chosen: random.Random) -> Iterator[str]:
    """Return parts of a corpus, of some length, as texts."""
    for _ in range(TEXTS):
        text = chosen.choice(corpus)
        length = chosen.randint(*TEXT_CHARACTERS)
        start = chosen.randrange(max(1, len(text) - length))
        yield text[start : start + length]


# ---- the card alone ----


def bare_rates(
    options: argparse.Namespace, tokenizer: zeton.Tokenizer, load: Load
) -> tuple[float, float]:
    """Return the MB/s of the card by itself, by the clock and by CPU time."""
    if options.card == "software":
        return rates(load, 20, lambda: tokenizer.encode_batch(load.texts))
    with accel.open(options.card, config=options.config) as device:
        device.load(tokenizer)
        return rates(load, BARE_ROUNDS, lambda: device.encode_batch(load.texts))


def rates(load: Load, rounds: int, encode: Callable[[], list[list[int]]]) -> tuple[float, float]:
    """Return the MB/s of some rounds, by the clock and by CPU time."""
    start, start_cpu = time.perf_counter(), time.process_time()
    for _ in range(rounds):
        if encode() != load.ids:
            sys.exit("what encodes gives other ids by itself")
    size = rounds * sum(map(len, load.texts)) / 1e6
    return size / (time.perf_counter() - start), size / (time.process_time() - start_cpu)


# ---- the service ----


@asynccontextmanager
async def service(
    options: argparse.Namespace, folder: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start the service as a process, and end it by SIGTERM."""
    started = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "zeton", "accel", "serve"),
        *("-t", str(folder / "bench.zeton"), "--card", options.card, "--config", options.config),
        *("--listen", f"unix:{folder / 'socket'}"),
        stderr=asyncio.subprocess.PIPE,
    )
    if started.stderr is None or b"listening" not in await started.stderr.readline():
        sys.exit("the service did not start")
    try:
        yield started
    finally:
        if started.returncode is None:
            started.send_signal(signal.SIGTERM)
            said = (await started.communicate())[1].decode()
            if started.returncode:
                sys.exit(f"the service ended so: {said}")


async def one_client(address: str, load: Load, seed: int) -> None:
    """Send requests until the end, and verify every answer."""
    chosen = random.Random(seed)  # noqa: S311 - no secret.
    async with AsyncClient(address, in_flight=1, patience=120) as client:
        while not load.ended.is_set():
            which = [chosen.randrange(TEXTS) for _ in range(chosen.randint(*load.texts_of_request))]
            load.asked += 1
            start = time.perf_counter()
            try:
                found = await client.encode_batch([load.texts[at] for at in which])
            except asyncio.CancelledError:
                load.asked -= 1
                if client._writer is not None:  # noqa: SLF001 - as when it is killed.
                    client._writer.transport.abort()  # noqa: SLF001
                raise
            load.seconds.append(time.perf_counter() - start)
            load.answered += 1
            load.wrong += found != [load.ids[at] for at in which]
            load.size += sum(len(load.texts[at]) for at in which)
        load.connections += client.connections


async def clients(options: argparse.Namespace, folder: Path, load: Load) -> None:
    """Keep a number of clients busy; every two seconds one is killed and replaced."""
    address = f"unix:{folder / 'socket'}"
    seeds = iter(range(1 << 30))
    tasks = [
        asyncio.create_task(one_client(address, load, next(seeds))) for _ in range(options.clients)
    ]
    chosen = random.Random(2)  # noqa: S311 - no secret.
    while not load.ended.is_set():
        await asyncio.sleep(KILL_SECONDS)
        at = chosen.randrange(len(tasks))
        if not tasks[at].done() and not load.ended.is_set():
            tasks[at].cancel()
            await asyncio.gather(tasks[at], return_exceptions=True)
            load.killed += 1
            tasks[at] = asyncio.create_task(one_client(address, load, next(seeds)))
    for error in await asyncio.gather(*tasks, return_exceptions=True):
        if isinstance(error, Exception):
            raise error


async def loaded(options: argparse.Namespace, folder: Path, load: Load) -> Record:
    """Run clients for some time, and return their results."""
    async with service(options, folder) as _:
        asking = asyncio.create_task(clients(options, folder, load))
        async with AsyncClient(f"unix:{folder / 'socket'}", patience=120) as monitor:
            await asyncio.sleep(WARM_UP_SECONDS)
            first = await values(monitor)
            load.size, load.seconds, start = 0, [], time.perf_counter()
            memory = [first["process_resident_memory_bytes"]]
            while (elapsed := time.perf_counter() - start) < options.seconds:
                await asyncio.sleep(min(2.0, options.seconds - elapsed + 0.01))
                memory.append((await values(monitor))["process_resident_memory_bytes"])
            size, seconds, elapsed = load.size, sorted(load.seconds), time.perf_counter() - start
            last = await values(monitor)
            load.ended.set()
            await asking
    busy, used = "zeton_card_busy_seconds_total", "process_cpu_seconds_total"
    return {
        "clients": options.clients,
        "seconds": round(elapsed, 1),
        "requests": load.answered,
        "lost": load.asked - load.answered,
        "wrong": load.wrong,
        "killed_clients": load.killed,
        "mb_per_second": round(size / elapsed / 1e6, 4),
        "mb_per_cpu_second": round(size / (last[used] - first[used]) / 1e6, 4),
        "p50": round(seconds[len(seconds) // 2], 4),
        "p99": round(seconds[len(seconds) * 99 // 100], 4),
        "memory_mb": [round(each / 1e6) for each in (memory[0], max(memory), memory[-1])],
        "busy": round((last[busy] - first[busy]) / elapsed, 3),
    }


async def values(monitor: AsyncClient) -> dict[str, float]:
    """Return the sums of all metrics over their labels."""
    found: dict[str, float] = {}
    for line in (await monitor.metrics()).splitlines():
        if match := re.match(r"(\w+)(?:\{.*\})? (\S+)$", line):
            found[match[1]] = found.get(match[1], 0) + float(match[2])
    return found


async def restarted(options: argparse.Namespace, folder: Path, load: Load) -> Record:
    """Kill and restart the service under its clients, several times."""
    asking = None
    for _ in range(options.restarts):
        async with service(options, folder) as started:
            asking = asking or asyncio.create_task(clients(options, folder, load))
            await asyncio.sleep(5)
            started.kill()
            await started.communicate()
    async with service(options, folder):
        await asyncio.sleep(3)
        load.ended.set()
        if asking is not None:
            await asking
    return {
        "restarts": options.restarts,
        "restart_requests": load.answered,
        "restart_lost": load.asked - load.answered,
        "restart_wrong": load.wrong,
    }


# ---- the page ----


def page(records: list[Record]) -> Iterator[str]:
    """Return the records as a table in Markdown."""
    yield (
        "`python bench/service.py`: requests of some texts of 100 to 1,500 characters; "
        "every answer is compared."
    )
    yield ""
    rows: dict[str, Callable[[Record], str]] = {
        "texts of a request": lambda r: "{} to {}".format(*r["texts_of_request"]),
        "clients, seconds": lambda r: f"{r['clients']}, {r['seconds']:g}",
        "requests answered": lambda r: f"{r['requests']:,}",
        "lost, wrong": lambda r: f"{r['lost']}, {r['wrong']}",
        "clients killed meanwhile": lambda r: str(r["killed_clients"]),
        "MB/s": lambda r: f"{r['mb_per_second']:.3f}",
        "MB/s alone, before and after": lambda r: " and ".join(f"{x:.3f}" for x in r["bare"]),
        "share of it": lambda r: f"{100 * r['share']:.0f} %",
        "MB per second of CPU": lambda r: f"{r['mb_per_cpu_second']:.3f}",
        "the same alone": lambda r: " and ".join(f"{x:.3f}" for x in r["bare_cpu"]),
        "share of that": lambda r: f"{100 * r['cpu_share']:.0f} %",
        "of the time, a card had a batch": lambda r: f"{100 * r['busy']:.0f} %",
        "p50, p99 (s)": lambda r: f"{r['p50']:.3f}, {r['p99']:.3f}",
        "memory: first, most, last (MB)": lambda r: ", ".join(map(str, r["memory_mb"])),
        "service killed and started again": lambda r: f"{r['restarts']} times",
        "requests answered over that; lost, wrong": lambda r: (
            f"{r['restart_requests']:,}; {r['restart_lost']}, {r['restart_wrong']}"
        ),
        "machine, load of others included": lambda r: f"{r['machine']}, {r['load']}",
        "date": lambda r: r["date"],
    }
    yield "| card | " + " | ".join(record["card"] for record in records) + " |"
    yield "|---|" + "---|" * len(records)
    for name, spell in rows.items():
        yield f"| {name} | " + " | ".join(spell(record) for record in records) + " |"


if __name__ == "__main__":
    main()
