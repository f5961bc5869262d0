"""A setup → a model that has learned it, kept in a folder, to go on from if it was stopped.

Beside the models are the counts of the pairs.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import torch

from dictionary import SALT, Shares
from setups import Setup
from zeton.seq2seq import Joint, Now, Pair, Tokens, learn
from zeton.seq2seq.checkpoint import is_kept
from zeton.seq2seq.model import MODEL
from zeton.seq2seq.pairs import place_of

__all__ = ["counted", "learned", "learned_together"]

COUNTS, SECONDS = "counts.safetensors", "counts.json"


def learned(name: str, setup: Setup, parts: Shares, folder: Path, *, threads: int = 1) -> Path:
    """Return where a model is: made before by this setup, or made now, or gone on with."""
    place = folder / name
    anew = False
    if (place / MODEL).exists():
        about = json.loads((place / MODEL).read_text())
        made_by = {"shape": asdict(setup.shape), "options": asdict(setup.options)}
        if all(about[key] == value for key, value in made_by.items()):
            return place
        anew = not is_kept(place)  # Or the learning anew was stopped, and goes on.
    torch.set_num_threads(threads)
    pairs = [pair for pair in parts.train if _is_in(pair, setup.share)]
    _, report = learn(
        pairs,
        validation=parts.validation,
        out=place,
        tokens=Tokens.train(pairs, setup.source_vocab, setup.target_vocab),
        shape=setup.shape,
        options=setup.options,
        restart=anew,
        progress=sys.stderr.isatty() or _lines(name),
    )
    print(f"{name}: learned in {report.seconds:.0f} s, best in epoch {report.best}")
    return place


def learned_together(
    setups: dict[str, Setup], parts: Shares, folder: Path, *, threads: int = 1
) -> list[Path]:
    """Return where models are that learn side by side, a process each, as many as cores."""
    learn_one = partial(learned, parts=parts, folder=folder, threads=threads)
    if len(setups) == 1:
        return [learn_one(name, setup) for name, setup in setups.items()]
    processes = min(len(setups), os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(learn_one, setups.keys(), setups.values()))


def counted(tokens: Tokens, parts: Shares, folder: Path) -> tuple[Joint, float]:
    """Return the counts of all pairs, made before or made now, and the seconds that they took."""
    place, told = folder / COUNTS, folder / SECONDS
    if not told.exists():
        start = time.monotonic()
        Joint.learn(parts.train, tokens).save(place)
        told.write_text(json.dumps(time.monotonic() - start))
    return Joint.load(place, tokens), json.loads(told.read_text())


def _is_in(pair: Pair, share: float) -> bool:
    return place_of(pair.source, f"{SALT} share") < share


def _lines(name: str) -> Callable[[Now], None]:
    """Return what says a line every two hundred steps, where there is no terminal for a bar."""

    def tell(now: Now) -> None:
        if now.step % 200 == 0:
            wrong = "" if now.text_error is None else f", wrong {100 * now.text_error:.1f} %"
            done = f"step {now.step} of {now.steps}, epoch {now.epoch}"
            print(f"{name}: {done}, loss {now.loss:.4f}{wrong}", file=sys.stderr, flush=True)

    return tell
