"""The host's settings: bytes and texts in a batch, and batches on the card at once.

English texts on the simulated card, ids compared; bytes per cycle of its clock. The time of link
and host is excluded, because the simulated card waits for neither. Writes results/fpga-batches.*.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import fpga_rates
from fpga import SMALL, VOCABS
from fpga_flow import Record, rtl_state, write_records
from zeton import accel
from zeton.accel.transports.sim import SimTransport

RESULTS = Path(__file__).parent / "results" / "fpga-batches.json"

TEXT_BYTES = (64, 512, 4_096)
BATCH_BYTES = (1_024, 4_096, 16_384, 65_536)
IN_FLIGHT = (1, 2, 4)
ALL_BYTES = 131_072
LANES = 2
"""Lanes; with more than one, they may wait for each other at the end of a batch."""


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    records = list(measure())
    write_records(RESULTS, records)
    page = "\n".join(tables(records)) + "\n"
    RESULTS.with_suffix(".md").write_text(page)
    print(page)


def measure() -> Iterator[Record]:
    """Yield a record for each way to cut the same text into texts and batches."""
    shape = SMALL.with_parameters(lanes=LANES)
    vocab = VOCABS["small"]
    tokenizer = fpga_rates.vocabulary(vocab)
    whole = b"".join(fpga_rates.texts_of("English"))[:ALL_BYTES]
    told: Record = {"rtl": rtl_state(), "date": time.strftime("%Y-%m-%d"), "vocab": vocab}
    told |= {"configuration": asdict(shape)}
    with accel.Device(SimTransport(shape), timeout=600) as device:
        device.load(tokenizer)
        for text_bytes in TEXT_BYTES:
            texts = list(cut(whole, text_bytes))
            expected = tokenizer.encode_batch(texts)
            for batch_bytes in BATCH_BYTES:
                count = batch_bytes // text_bytes
                if count == 0:
                    continue
                batches = [texts[at : at + count] for at in range(0, len(texts), count)]
                for in_flight in IN_FLIGHT:
                    before = device.counters()
                    found = list(chain(*device.encode_iter(batches, in_flight=in_flight)))
                    after = device.counters()
                    if found != expected:
                        sys.exit(f"wrong ids with batches of {batch_bytes}, {in_flight} in flight")
                    cycles = after["cycles"] - before["cycles"]
                    taken = after["bytes"] - before["bytes"]
                    yield told | {
                        "text_bytes": text_bytes,
                        "batch_texts": count,
                        "batch_bytes": text_bytes * count,
                        "in_flight": in_flight,
                        "bytes": taken,
                        "cycles": cycles,
                        "rate": round(taken / cycles / LANES, 4),
                    }


def cut(whole: bytes, length: int) -> Iterator[bytes]:
    """Cut bytes into texts of one length; a text may end inside a character."""
    return (whole[at : at + length] for at in range(0, len(whole), length))


def tables(records: Iterable[Record]) -> Iterator[str]:
    records = list(records)
    yield from ("# Batches", "")
    yield (
        f"Made by `python bench/fpga_batches.py`; the RTL is {records[0]['rtl']}. Bytes per cycle "
        f"and lane of {LANES} lanes (small), {ALL_BYTES:,} bytes of English, ids compared; cycles "
        "are those that the simulated card was clocked for. Link and host are not in it."
    )
    yield from ("", "| bytes a text | texts a batch | bytes a batch | " + heads() + " |")
    yield "|---:|---:|---:|" + "---:|" * len(IN_FLIGHT)
    ways = dict.fromkeys((r["text_bytes"], r["batch_texts"], r["batch_bytes"]) for r in records)
    for text_bytes, count, batch_bytes in ways:
        rates = [
            f"{r['rate']:.3f}"
            for r in records
            if (r["text_bytes"], r["batch_texts"]) == (text_bytes, count)
        ]
        yield f"| {text_bytes:,} | {count:,} | {batch_bytes:,} | {' | '.join(rates)} |"


def heads() -> str:
    return " | ".join(f"{count} in flight" for count in IN_FLIGHT)


if __name__ == "__main__":
    main()
