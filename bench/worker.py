"""Measure one cell of one peer in a process of its own, and print one line of JSON.

`peers.py` starts it with a job as its only argument. A failure is a status, not a crash.
"""

import gc
import json
import os
import resource
import subprocess
import sys
import time
import timeit
from collections.abc import Callable
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import numpy as np

from adapters import PEERS, Batch, Encoder, offsets_of
from cells import HELLO, Cell, ids_file, text_file
from texts import SEPARATOR

BENCH = Path(__file__).parent

MEMORY_MAX = 16 << 30
"""The memory limit of a peer, because the machine may have other users."""

REASON_MAX = 300
HELLO_CALLS = 20_000
HELLO_REPEATS = 7
BEFORE_SMALL = 2_000
"""Characters of each text that warms up a batch."""

Figures: TypeAlias = dict[str, float]


class Differs(Exception):  # noqa: N818 - a finding about a peer.
    """A peer's result differs from tiktoken's."""


def main() -> None:
    job = json.loads(sys.argv[1])
    confine(job["cores"])
    with redirect_stdout(sys.stderr):
        outcome = work(job["peer"], Cell(**job["cell"]), Path(job["folder"]), expect=job["expect"])
    print(json.dumps(outcome))


def confine(cores: list[int]) -> None:
    """Limit this process to some cores and to a maximum of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def work(name: str, cell: Cell, folder: Path, *, expect: bool) -> dict[str, Any]:
    """Import, load and measure; return the status, and figures or the reason why not."""
    peer = PEERS[name]
    status = "absent"
    try:
        import_module(peer.module)
        bare = peak_memory()
        status = "refuses"
        start = time.perf_counter()
        encoder = peer.load(cell.vocab, folder)
        figures = {"load": time.perf_counter() - start}
        status = "fails"
        if expect:
            write_ids(encoder, cell, folder)
        else:
            figures |= measure(encoder, cell, folder, bare)
    except Differs as error:
        return {"status": "differs", "reason": str(error)}
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of PyO3 is no Exception.
        return {"status": status, "reason": reason(error, folder)}
    return {"status": "ok", "figures": figures}


def reason(error: BaseException, folder: Path) -> str:
    """Return an error's message as one line."""
    told = " ".join(f"{type(error).__name__}: {error}".split())
    return told.replace(str(folder), "…")[:REASON_MAX]


def measure(encoder: Encoder, cell: Cell, folder: Path, bare: float) -> Figures:
    match cell.task:
        case "load":
            return {"memory": peak_memory() - bare}
        case "hello":
            return measure_hello(encoder, cell, folder)
        case "decode":
            return measure_decode(encoder, cell, folder)
        case _:
            return measure_encode(encoder, cell, folder, bare)


def measure_encode(encoder: Encoder, cell: Cell, folder: Path, bare: float) -> Figures:
    """Warm up with other text, then encode the cell's text with a cold and with a warm cache."""
    run = runner(encoder, cell)
    clock = time.perf_counter if cell.task == "batch" else time.process_time
    figures = {}
    group = "en" if cell.task == "hostile" else cell.texts
    before = (folder / f"{group}.before").read_bytes().decode()
    if cell.task in ("small", "batch"):
        run([before[at : at + BEFORE_SMALL] for at in range(0, len(before), BEFORE_SMALL)])
    else:
        run(before)
    touch_memory()
    if cell.task == "hostile":
        figures["english"], _ = timed(run, (folder / "english").read_bytes().decode(), clock)
    for name in ("first", "warm"):
        # Read again, because a str caches its UTF-8 after the first use.
        texts = read_texts(cell, folder)
        figures[name], result = timed(run, texts, clock)
        figures.setdefault("memory", peak_memory() - bare)
        batch = flat(result)
        del result  # Otherwise the second run could reuse less memory.
        verify(batch, encoder, cell, folder)
    return figures


def measure_decode(encoder: Encoder, cell: Cell, folder: Path) -> Figures:
    text = read_texts(cell, folder)
    ids = np.load(folder / ids_file(cell))["ids"]
    encoder.decode(ids[:1000].tolist())
    touch_memory()
    figures = {}
    for name in ("first", "warm"):
        given = ids.tolist() if cell.form == "list" else ids.copy()
        figures[name], result = timed(encoder.decode, given, time.process_time)
        if result != text:
            raise Differs(f"decodes to another text, {len(result)} for {len(text)} characters")
    return figures


def measure_hello(encoder: Encoder, cell: Cell, folder: Path) -> Figures:
    """Return CPU nanoseconds per call, and of the cheapest call that takes a str."""
    encode = getattr(encoder, f"encode_{cell.form}")
    verify(flat(encode(HELLO)), encoder, cell, folder)
    figures = {}
    for name, call in (("first", encode), ("empty", len)):
        times = timeit.repeat(
            "call(text)",
            globals={"call": call, "text": HELLO},
            timer=time.process_time,
            number=HELLO_CALLS,
            repeat=HELLO_REPEATS,
        )
        figures[name] = median(times) / HELLO_CALLS * 1e9
    return figures


def runner(encoder: Encoder, cell: Cell) -> Callable[[Any], Any]:
    """Return the function that encodes a cell's text or texts."""
    if cell.task == "batch":
        batch: Callable[[Any], Any] = getattr(encoder, f"batch_{cell.form}")
        return batch
    encode: Callable[[Any], Any] = getattr(encoder, f"encode_{cell.form}")
    if cell.task == "small":
        return lambda texts: [encode(text) for text in texts]
    return encode


def touch_memory() -> None:
    """Let another process allocate memory, write to it and free it.

    The host of a virtual machine may provide memory on first use, and reclaim free memory after
    some seconds. Without this call, that time would count as encoding.
    """
    subprocess.run([sys.executable, BENCH / "touch.py"], check=True)


def timed(
    run: Callable[[Any], Any], given: object, clock: Callable[[], float]
) -> tuple[float, Any]:
    gc.collect()
    gc.disable()
    start = clock()
    result = run(given)
    seconds = clock() - start
    gc.enable()
    return seconds, result


def read_texts(cell: Cell, folder: Path) -> Any:  # noqa: ANN401 - a text or a list of them.
    text = (folder / text_file(cell)).read_bytes().decode()
    return text.split(SEPARATOR) if cell.task in ("small", "batch") else text


def flat(result: Any) -> Batch:  # noqa: ANN401 - of one text or many, lists or arrays.
    """Return any result as a batch: all ids, and the offset of each text."""
    if isinstance(result, tuple):
        return result
    many = result if isinstance(result, list) and not isinstance(result[0], int) else [result]
    return np.concatenate([np.asarray(ids, np.uint32) for ids in many]), offsets_of(many)


def verify(batch: Batch, encoder: Encoder, cell: Cell, folder: Path) -> None:
    """Compare with tiktoken's ids; without any, the ids must decode to the text."""
    ids, offsets = batch
    file = folder / ids_file(cell)
    if not file.exists():
        if encoder.decode(ids.tolist()) != read_texts(cell, folder):
            raise Differs("does not give the text back; tiktoken has no ids to compare with")
        return
    expected = np.load(file)
    if not np.array_equal(ids, expected["ids"]):
        shared = min(len(ids), len(expected["ids"]))
        wrong = np.flatnonzero(ids[:shared] != expected["ids"][:shared])
        at = int(wrong[0]) if len(wrong) else shared
        raise Differs(f"{len(ids)} ids for tiktoken's {len(expected['ids'])}, other from id {at}")
    if not np.array_equal(offsets, expected["offsets"]):
        raise Differs("the ids are tiktoken's, but not those of each text")


def write_ids(encoder: Encoder, cell: Cell, folder: Path) -> None:
    """Write the ids that all peers are compared with."""
    texts = read_texts(cell, folder)
    many = texts if isinstance(texts, list) else [texts]
    ids, offsets = flat([encoder.encode_array(text) for text in many])
    np.savez(folder / ids_file(cell), ids=ids, offsets=offsets)


def peak_memory() -> float:
    """Return the peak memory of this process, in MB.

    It is the kernel's VmHWM if it has one, because ru_maxrss includes the parent's memory.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) * 1024 / 1e6
    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage / 1e6 if sys.platform == "darwin" else usage * 1024 / 1e6


if __name__ == "__main__":
    main()
