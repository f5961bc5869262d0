"""Pairs, aligned and counted → how likely a text and its answer are together, without a network.

A pair is a row of units (`aligning`), and n-grams of units are counted (Bisani and Ney, 2008), with
the discounts of Kneser and Ney.
"""

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor, nn

from zeton.errors import FormatError
from zeton.seq2seq.aligning import IMPOSSIBLE, WIDEST, Alignment, Rows
from zeton.seq2seq.errors import PairsError, Seq2SeqError
from zeton.seq2seq.model import WEIGHTS_BYTES_MAX
from zeton.seq2seq.pairs import Pair
from zeton.seq2seq.tokens import Tokens
from zeton.work.files import given, read_whole, write_whole

__all__ = ["Joint"]

ROWS_MAX = 4096
"""Pairs that are aligned at once."""

BEGIN, END = 0, 1
"""What stands before and after the units of a pair; their own numbers follow."""

MULTIPLIER = 0x5851F42D4C957F2D
"""An n-gram is known by a polynomial in this, modulo two to the 64th: that two of ten million have
the same happens once in a few hundred thousand corpora."""


class Counted(NamedTuple):
    """The n-grams of one length."""

    keys: Tensor
    """Sorted."""
    shares: Tensor
    """Of each, among those that begin alike, after the discount."""
    contexts: Tensor
    """The keys of all their beginnings, sorted."""
    rests: Tensor
    """What the discount left for shorter n-grams, after each."""


class Joint:
    """N-grams of the units that texts and their answers are made of."""

    def __init__(self, tokens: Tokens, alignment: Alignment, counted: Sequence[Counted]) -> None:
        """Take what was counted, the shortest n-grams first; `learn` counts."""
        self.tokens, self.alignment, self.counted = tokens, alignment, counted

    @classmethod
    def learn(cls, pairs: Sequence[Pair], tokens: Tokens, order: int = 8) -> "Joint":
        """Align pairs, and count n-grams of up to so many units.

        Pairs whose answers have more than `WIDEST` ids for each of the text are left out.
        """
        if order < 1:
            raise Seq2SeqError(f"order is {order}; it is 1 or more")
        every = [rows for _, rows in _by_length(pairs, tokens)]
        if not every:
            raise PairsError(
                f"no answer has at most {WIDEST} ids for each of its text's; give other pairs"
            )
        alignment = Alignment.learn(every, tokens.target_size)
        windows = [_windows(alignment.units_of(rows), order).flatten(0, 1) for rows in every]
        return cls(tokens, alignment, _counted(torch.cat(windows)))

    def log_probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        """Return how likely each text and its answer are together, in nats.

        An answer that is too long for its text to be aligned is as good as impossible.
        """
        found = torch.full((len(pairs),), IMPOSSIBLE, dtype=torch.float64)
        for places, rows in _by_length(pairs, self.tokens):
            windows = _windows(self.alignment.units_of(rows), len(self.counted))
            kinds = len(self.alignment.units) + 2  # With a new one, and the end.
            likely = torch.full(windows.shape[:2], 1 / kinds, dtype=torch.float64)
            for each, key, context in zip(self.counted, *_keys(windows), strict=True):
                rests = _found(context, each.contexts, each.rests, 1.0)
                likely = likely * rests + _found(key, each.keys, each.shares, 0.0)
            found[places] = likely.log().sum(dim=1)
        likely_each: list[float] = found.tolist()
        return likely_each

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write what was counted to a file, whole or not at all; return its path."""
        place = given(path)
        tensors = {"units": self.alignment.units, "weights": self.alignment.weights.detach()}
        for at, each in enumerate(self.counted):
            tensors |= {f"{at}.{name}": tensor for name, tensor in each._asdict().items()}
        write_whole(place, bytes_of({name: each.contiguous() for name, each in tensors.items()}))
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str], tokens: Tokens) -> "Joint":
        """Read what was saved, for the tokens that it was counted with."""
        place = given(path)
        try:
            tensors = tensors_of(read_whole(place, WEIGHTS_BYTES_MAX))
            alignment = Alignment(tensors["units"], tensors["weights"], tokens.target_size)
            order = (len(tensors) - 2) // len(Counted._fields)
            counted = [
                Counted(*(tensors[f"{at}.{name}"] for name in Counted._fields))
                for at in range(order)
            ]
        except (KeyError, SafetensorError) as error:
            raise FormatError(f"{place} has no counts of pairs: {error}") from None
        return cls(tokens, alignment, counted)


def _by_length(pairs: Sequence[Pair], tokens: Tokens) -> Iterator[tuple[Tensor, Rows]]:
    """Yield the pairs that can be aligned, those of the same lengths together, and their places."""
    sources = tokens.sources([source for source, _ in pairs])
    targets = tokens.targets([target for _, target in pairs])
    places = defaultdict(list)
    for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
        lengths = len(source) - 1, len(target) - 1  # Without their ends.
        if lengths[1] <= WIDEST * lengths[0]:
            places[lengths].append(place)
    for every in places.values():
        for at in range(0, len(every), ROWS_MAX):
            some = every[at : at + ROWS_MAX]
            read = torch.tensor([sources[place][:-1] for place in some], dtype=torch.long)
            written = torch.tensor([targets[place][:-1] for place in some], dtype=torch.long)
            yield torch.tensor(some), Rows(read, written)


def _windows(units: Tensor, order: int) -> Tensor:
    """Return for each unit, and for the end, itself and those before it: rows, steps, order."""
    row = nn.functional.pad(units + 2, (0, 1), value=END)
    return nn.functional.pad(row, (order - 1, 0), value=BEGIN).unfold(1, order, 1).flip(-1)


def _keys(windows: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """Return the keys of the n-grams of each length, and those of what stands before their ends."""
    powers = [1]
    while len(powers) < windows.shape[-1]:
        powers.append((powers[-1] * MULTIPLIER) % (1 << 64))
    signed = torch.tensor([each - (1 << 64) * (each >> 63) for each in powers])
    keys = ((windows + 1) * signed).cumsum(dim=-1)
    return keys.unbind(-1), (keys - (windows[..., :1] + 1)).unbind(-1)


def _counted(windows: Tensor) -> list[Counted]:
    """Count the n-grams of each length, the longest as often as they are met.

    A shorter one counts for each unit that it is met after: only then does it help where a longer
    one is not known (Kneser and Ney, 1995). What begins a row has nothing before it, and counts as
    often as it is met; with more than one begin it is no other n-gram, and is left out.
    """
    keys, contexts = _keys(windows)
    order = windows.shape[1]
    counted: list[Counted] = []
    for at in range(order):
        numbers, places, met = _first(keys[at])
        if at + 1 < order:
            longer = _first(keys[at + 1])[1]
            after = keys[at][longer].unique(return_counts=True)[1]
            met = torch.where(windows[places, at] == BEGIN, met, after)
        is_new = windows[places, max(at - 1, 0)] != BEGIN
        if not bool(is_new.any()):
            break  # No row is that long.
        counted.append(_discounted(numbers[is_new], contexts[at][places][is_new], met[is_new]))
    return counted


def _first(keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the keys, sorted, each once; where each is met first; and how often it is met."""
    numbers, inverse, met = keys.unique(return_inverse=True, return_counts=True)
    places = torch.full_like(numbers, len(keys))
    places.scatter_reduce_(0, inverse, torch.arange(len(keys)), "amin")
    return numbers, places, met


def _discounted(keys: Tensor, contexts: Tensor, met: Tensor) -> Counted:
    """Take a part of every count, for what was not met: of one, of two, and of three and more.

    How many are met once, twice, three and four times says how much (Chen and Goodman, 1998).
    """
    once, *more = (max(int((met == count).sum()), 1) for count in range(1, 5))
    share, parts, before = once / (once + 2 * more[0]), [0.0], once
    for count, those in enumerate(more, 1):
        parts.append(min(max(count - (count + 1) * share * those / before, 0.1), count))
        before = those
    taken = torch.tensor(parts, dtype=torch.float64)[met.clamp_max(3)]
    numbers, inverse = contexts.unique(return_inverse=True)
    sums = torch.zeros((2, len(numbers)), dtype=torch.float64)
    totals, rests = sums.index_add_(1, inverse, torch.stack([met.double(), taken]))
    return Counted(keys, (met - taken) / totals[inverse], numbers, rests / totals)


def _found(keys: Tensor, known: Tensor, values: Tensor, otherwise: float) -> Tensor:
    """Look up the values of keys."""
    at = torch.searchsorted(known, keys.contiguous()).clamp_max(len(known) - 1)
    return torch.where(known[at] == keys, values[at], otherwise)
