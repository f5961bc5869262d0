"""The cost of counting, cutting and streaming: `python bench/services.py`, a minute.

Counting and encoding the same text take turns, with cold and with warm caches. Cuts and streams are
verified against `encode` outside the clock.
"""

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import zeton
from texts import groups

ROUNDS = 3

TEXT_CHARACTERS = 10_000_000


def verify(equal: bool) -> None:  # noqa: FBT001
    """Exit if a result differs from the result of `encode`."""
    if not equal:
        sys.exit("a result differs from that of encode")


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of a function."""
    start = time.process_time()
    work()
    return time.process_time() - start


def best(work: Callable[[], object], times: int) -> float:
    """Return the smallest number of CPU seconds of several tries."""
    return min(cpu(work) for _ in range(times))


def first_seen(text: str, name: str) -> dict[str, float]:
    """Measure counting against encoding in fresh processes, in turns."""
    ratios = []
    for _ in range(ROUNDS):
        took = {}
        for call in ("count", "encode_array"):
            code = (
                "import zeton, sys, time; text = sys.stdin.read(); "
                f"tok = zeton.pretrained({name!r}); tok.encode_array('warm up'); "
                f"start = time.process_time(); tok.{call}(text, threads=1); "
                "print(time.process_time() - start)"
            )
            run = subprocess.run(
                [sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True
            )
            took[call] = float(run.stdout)
        ratios.append(took["encode_array"] / took["count"])
    return {"count, first seen, times encode_array": statistics.median(ratios)}


def counting(tok: zeton.Tokenizer, text: str) -> dict[str, float]:
    """Measure counting against encoding with warm caches."""
    verify(tok.count(text) == len(tok.encode_array(text)))
    ratios = [
        cpu(lambda: tok.encode_array(text, threads=1)) / cpu(lambda: tok.count(text, threads=1))
        for _ in range(ROUNDS)
    ]
    return {"count, warm, times encode_array": statistics.median(ratios)}


def cutting(tok: zeton.Tokenizer, text: str, whole: str) -> dict[str, float]:
    """Measure counting to a limit and cutting."""
    head, tail = tok.truncate(text, n=8000), tok.truncate(text, n=8000, side="start")
    verify(text.startswith(head))
    verify(text.endswith(tail))
    verify(max(tok.count(head), tok.count(tail)) <= 8000)
    verify(tok.count(whole, limit=1000) == 1000)
    chunks = tok.chunk(text, n=512)
    verify("".join(chunk.text for chunk in chunks) == text)
    return {
        "count to 1,000 of 100 MB, ms": best(lambda: tok.count(whole, limit=1000), 50) * 1e3,
        "truncate to 8,000, end, ms": best(lambda: tok.truncate(text, n=8000), 20) * 1e3,
        "truncate to 8,000, start, ms": best(lambda: tok.truncate(text, n=8000, side="start"), 20)
        * 1e3,
        "truncate to 8,000, middle, ms": best(lambda: tok.truncate(text, n=8000, side="middle"), 20)
        * 1e3,
        "chunk into 512s, MB/s": len(text.encode()) / best(lambda: tok.chunk(text, n=512), 3) / 1e6,
    }


def streaming(tok: zeton.Tokenizer, text: str) -> dict[str, float]:
    """Measure the streams."""
    ids = tok.encode(text)
    batches = [ids[at : at + 1000] for at in range(0, len(ids), 1000)]
    decoder = tok.decoder()
    verify("".join(map(decoder.push, batches)) + decoder.finish() == text)
    some = ids[:100_000]

    def push_each() -> None:
        push = decoder.push
        for each in some:
            push(each)

    parts = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    encoder = tok.encoder()
    pushed = [each for part in parts for each in encoder.push(part)]
    verify(pushed + encoder.finish() == ids)
    lists = best(lambda: [decoder.push(batch) for batch in batches], 5)
    return {
        "decoder, lists of 1,000, million ids/s": len(ids) / lists / 1e6,
        "decoder, one id, ns": best(push_each, 5) / len(some) * 1e9,
        "encoder, 4 KB at a time, times encode": best(lambda: tok.encode(text), 3)
        / best(lambda: [encoder.push(part) for part in parts], 3),
    }


def main() -> None:
    """Print all figures as JSON."""
    results: dict[str, Any] = {}
    for name in ("cl100k_base", "o200k_base"):
        tok = zeton.pretrained(name)
        for kind, texts in groups(sys.argv[1:]).items():
            text = "\n\n".join(texts)[:TEXT_CHARACTERS]
            whole = text * (100_000_000 // len(text))
            results[f"{name}, {kind}"] = (
                first_seen(text, name)
                | counting(tok, text)
                | cutting(tok, text, whole)
                | streaming(tok, text)
            )
    print(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
