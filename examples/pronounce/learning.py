"""A setup → a model that has learned it, kept in a folder, to go on from if it was stopped."""

import sys
from collections.abc import Callable
from pathlib import Path

import torch

from dictionary import SALT, Shares
from jeton.seq2seq import Now, Pair, Tokens, learn
from jeton.seq2seq.model import MODEL
from jeton.seq2seq.pairs import place_of
from setups import Setup

__all__ = ["learned"]


def learned(name: str, setup: Setup, parts: Shares, folder: Path, *, threads: int = 1) -> Path:
    """Return where a model is: made before, or made now, or gone on with."""
    place = folder / name
    if (place / MODEL).exists():
        return place
    torch.set_num_threads(threads)
    pairs = [pair for pair in parts.train if _is_in(pair, setup.share)]
    _, report = learn(
        pairs,
        validation=parts.validation,
        out=place,
        tokens=Tokens.train(pairs, setup.source_vocab, setup.target_vocab),
        shape=setup.shape,
        options=setup.options,
        progress=sys.stderr.isatty() or _lines(name),
    )
    print(f"{name}: learned in {report.seconds:.0f} s, best in epoch {report.best}")
    return place


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
