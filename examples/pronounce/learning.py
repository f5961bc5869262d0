"""Training of a setup's model in a folder, resumable; and n-gram counts of the same pairs."""

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
from zeton.seq2seq import JointNgrams, Pair, StepProgress, Tokens, learn
from zeton.seq2seq.checkpoint import has_checkpoint
from zeton.seq2seq.model import MODEL
from zeton.seq2seq.pairs import hash_fraction

__all__ = ["count_ngrams", "train_model", "train_models"]

COUNTS, SECONDS = "counts.safetensors", "counts.json"


def train_model(name: str, setup: Setup, parts: Shares, folder: Path, *, threads: int = 1) -> Path:
    """Return the folder of a setup's model; train or resume it unless it is there already."""
    place = folder / name
    restart = False
    if (place / MODEL).exists():
        about = json.loads((place / MODEL).read_text())
        made_by = {"shape": asdict(setup.shape), "options": asdict(setup.options)}
        if all(about[key] == value for key, value in made_by.items()):
            return place
        restart = not has_checkpoint(place)  # With a checkpoint, the new training resumes.
    torch.set_num_threads(threads)
    pairs = [pair for pair in parts.train if _is_in(pair, setup.share)]
    _, report = learn(
        pairs,
        validation=parts.validation,
        out=place,
        tokens=Tokens.train(pairs, setup.source_vocab, setup.target_vocab),
        shape=setup.shape,
        options=setup.options,
        restart=restart,
        progress=sys.stderr.isatty() or _lines(name),
    )
    print(f"{name}: learned in {report.seconds:.0f} s, best in epoch {report.best}")
    return place


def train_models(
    setups: dict[str, Setup], parts: Shares, folder: Path, *, threads: int = 1
) -> list[Path]:
    """Train models side by side, a process each, at most one per core; return their folders."""
    learn_one = partial(train_model, parts=parts, folder=folder, threads=threads)
    if len(setups) == 1:
        return [learn_one(name, setup) for name, setup in setups.items()]
    processes = min(len(setups), os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(learn_one, setups.keys(), setups.values()))


def count_ngrams(tokens: Tokens, parts: Shares, folder: Path) -> tuple[JointNgrams, float]:
    """Return the n-gram counts of all pairs, cached in the folder, and the seconds they took."""
    place, seconds = folder / COUNTS, folder / SECONDS
    if not seconds.exists():
        start = time.monotonic()
        JointNgrams.learn(parts.train, tokens).save(place)
        seconds.write_text(json.dumps(time.monotonic() - start))
    return JointNgrams.load(place, tokens), json.loads(seconds.read_text())


def _is_in(pair: Pair, share: float) -> bool:
    return hash_fraction(pair.source, f"{SALT} share") < share


def _lines(name: str) -> Callable[[StepProgress], None]:
    """Return a progress function that prints a line every 200 steps, without a terminal."""

    def tell(now: StepProgress) -> None:
        if now.step % 200 == 0:
            wrong = "" if now.text_error is None else f", wrong {100 * now.text_error:.1f} %"
            done = f"step {now.step} of {now.steps}, epoch {now.epoch}"
            print(f"{name}: {done}, loss {now.loss:.4f}{wrong}", file=sys.stderr, flush=True)

    return tell
