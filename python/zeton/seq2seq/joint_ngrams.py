"""Joint n-grams: the probability of a text with its answer, by counting instead of a network.

A pair is aligned to a row of units (`alignment.py`), and n-grams of units are counted (Bisani and
Ney 2008) with modified Kneser-Ney smoothing.
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
from zeton.seq2seq.alignment import IMPOSSIBLE, TARGET_IDS_MAX, Alignment, Rows
from zeton.seq2seq.errors import PairsError, Seq2SeqError
from zeton.seq2seq.model import WEIGHTS_BYTES_MAX
from zeton.seq2seq.pairs import Pair
from zeton.seq2seq.tokens import Tokens
from zeton.work.files import read_whole, require_path, write_whole

__all__ = ["JointNgrams"]

ROWS_MAX = 4096
"""Pairs that are aligned at once."""

BEGIN, END = 0, 1
"""Numbers of the marks before and after the units of a pair; the units have the next ones."""

MULTIPLIER = 0x5851F42D4C957F2D
"""The base of an n-gram's polynomial hash, modulo 2**64.

Among ten million n-grams, a collision happens once in a few hundred thousand corpora.
"""


class NgramTable(NamedTuple):
    """The n-grams of one length."""

    keys: Tensor
    """Hashes of the n-grams, sorted."""
    shares: Tensor
    """The discounted probability of each n-gram given its context."""
    contexts: Tensor
    """Hashes of the contexts (n-grams without their last unit), sorted."""
    rests: Tensor
    """The probability that each context leaves to shorter n-grams (back-off weight)."""


class JointNgrams:
    """A model of n-grams over units of source and target ids."""

    def __init__(self, tokens: Tokens, alignment: Alignment, counted: Sequence[NgramTable]) -> None:
        """Make a model of tables, the shortest n-grams first; `learn` makes them from pairs."""
        self.tokens, self.alignment, self.counted = tokens, alignment, counted

    @classmethod
    def learn(cls, pairs: Sequence[Pair], tokens: Tokens, order: int = 8) -> "JointNgrams":
        """Align pairs, and count n-grams of up to `order` units.

        A pair is skipped if its answer has more than `TARGET_IDS_MAX` ids per id of the text.
        """
        if order < 1:
            raise Seq2SeqError(f"order is {order}; it is 1 or more")
        every = [rows for _, rows in _by_length(pairs, tokens)]
        if not every:
            raise PairsError(
                f"every answer has more than {TARGET_IDS_MAX} ids per id of its text; give pairs "
                "of similar lengths"
            )
        alignment = Alignment.learn(every, tokens.target_size)
        windows = [_windows(alignment.units_of(rows), order).flatten(0, 1) for rows in every]
        return cls(tokens, alignment, _counted(torch.cat(windows)))

    def log_probabilities(self, pairs: Sequence[Pair]) -> list[float]:
        """Return the log probability of each pair, in nats.

        A pair that cannot be aligned, because its answer is too long, gets `IMPOSSIBLE`.
        """
        found = torch.full((len(pairs),), IMPOSSIBLE, dtype=torch.float64)
        for places, rows in _by_length(pairs, self.tokens):
            windows = _windows(self.alignment.units_of(rows), len(self.counted))
            kinds = len(self.alignment.units) + 2  # Plus an unseen unit and the end.
            likely = torch.full(windows.shape[:2], 1 / kinds, dtype=torch.float64)
            for each, key, context in zip(self.counted, *_keys(windows), strict=True):
                rests = _found(context, each.contexts, each.rests, 1.0)
                likely = likely * rests + _found(key, each.keys, each.shares, 0.0)
            found[places] = likely.log().sum(dim=1)
        likely_each: list[float] = found.tolist()
        return likely_each

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the tables to a file, atomically; return its path."""
        place = require_path(path)
        tensors = {"units": self.alignment.units, "weights": self.alignment.weights.detach()}
        for at, each in enumerate(self.counted):
            tensors |= {f"{at}.{name}": tensor for name, tensor in each._asdict().items()}
        write_whole(place, bytes_of({name: each.contiguous() for name, each in tensors.items()}))
        return place

    @classmethod
    def load(cls, path: str | os.PathLike[str], tokens: Tokens) -> "JointNgrams":
        """Read a saved model; `tokens` must be the tokenizers of its training."""
        place = require_path(path)
        try:
            tensors = tensors_of(read_whole(place, WEIGHTS_BYTES_MAX))
            alignment = Alignment(tensors["units"], tensors["weights"], tokens.target_size)
            order = (len(tensors) - 2) // len(NgramTable._fields)
            counted = [
                NgramTable(*(tensors[f"{at}.{name}"] for name in NgramTable._fields))
                for at in range(order)
            ]
        except (KeyError, SafetensorError) as error:
            raise FormatError(f"{place} is no file of joint n-grams: {error}") from None
        return cls(tokens, alignment, counted)


def _by_length(pairs: Sequence[Pair], tokens: Tokens) -> Iterator[tuple[Tensor, Rows]]:
    """Yield alignable pairs, grouped by their two lengths, with their positions in `pairs`."""
    sources = tokens.sources([source for source, _ in pairs])
    targets = tokens.targets([target for _, target in pairs])
    places = defaultdict(list)
    for place, (source, target) in enumerate(zip(sources, targets, strict=True)):
        lengths = len(source) - 1, len(target) - 1  # Without their ends.
        if lengths[1] <= TARGET_IDS_MAX * lengths[0]:
            places[lengths].append(place)
    for every in places.values():
        for at in range(0, len(every), ROWS_MAX):
            some = every[at : at + ROWS_MAX]
            read = torch.tensor([sources[place][:-1] for place in some], dtype=torch.long)
            written = torch.tensor([targets[place][:-1] for place in some], dtype=torch.long)
            yield torch.tensor(some), Rows(read, written)


def _windows(units: Tensor, order: int) -> Tensor:
    """Return the n-gram that ends at each unit, last unit first: rows, steps, order."""
    row = nn.functional.pad(units + 2, (0, 1), value=END)
    return nn.functional.pad(row, (order - 1, 0), value=BEGIN).unfold(1, order, 1).flip(-1)


def _keys(windows: Tensor) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    """Return the hashes of the n-grams of each length, and of their contexts."""
    powers = [1]
    while len(powers) < windows.shape[-1]:
        powers.append((powers[-1] * MULTIPLIER) % (1 << 64))
    signed = torch.tensor([each - (1 << 64) * (each >> 63) for each in powers])
    keys = ((windows + 1) * signed).cumsum(dim=-1)
    return keys.unbind(-1), (keys - (windows[..., :1] + 1)).unbind(-1)


def _counted(windows: Tensor) -> list[NgramTable]:
    """Count the n-grams of each length (Kneser and Ney 1995).

    The longest n-grams count their occurrences. A shorter one counts the different units before
    it, because it is only used where the longer n-gram is unseen. An n-gram at the beginning of a
    row has no unit before it, so it counts its occurrences. Padding with more than one begin mark
    is skipped.
    """
    keys, contexts = _keys(windows)
    order = windows.shape[1]
    counted: list[NgramTable] = []
    for at in range(order):
        numbers, places, uses = _first(keys[at])
        if at + 1 < order:
            longer = _first(keys[at + 1])[1]
            after = keys[at][longer].unique(return_counts=True)[1]
            uses = torch.where(windows[places, at] == BEGIN, uses, after)
        is_new = windows[places, max(at - 1, 0)] != BEGIN
        if not bool(is_new.any()):
            break  # No row is that long.
        counted.append(_discounted(numbers[is_new], contexts[at][places][is_new], uses[is_new]))
    return counted


def _first(keys: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct keys, sorted, the first position of each, and its number of uses."""
    numbers, inverse, uses = keys.unique(return_inverse=True, return_counts=True)
    places = torch.full_like(numbers, len(keys))
    places.scatter_reduce_(0, inverse, torch.arange(len(keys)), "amin")
    return numbers, places, uses


def _discounted(keys: Tensor, contexts: Tensor, uses: Tensor) -> NgramTable:
    """Discount the counts of 1, 2 and 3 or more, to leave probability for unseen n-grams.

    The discounts follow from the numbers of n-grams with counts 1 to 4 (Chen and Goodman 1998).
    """
    once, *more = (max(int((uses == count).sum()), 1) for count in range(1, 5))
    share, parts, before = once / (once + 2 * more[0]), [0.0], once
    for count, ngrams in enumerate(more, 1):
        parts.append(min(max(count - (count + 1) * share * ngrams / before, 0.1), count))
        before = ngrams
    taken = torch.tensor(parts, dtype=torch.float64)[uses.clamp_max(3)]
    numbers, inverse = contexts.unique(return_inverse=True)
    sums = torch.zeros((2, len(numbers)), dtype=torch.float64)
    totals, rests = sums.index_add_(1, inverse, torch.stack([uses.double(), taken]))
    return NgramTable(keys, (uses - taken) / totals[inverse], numbers, rests / totals)


def _found(keys: Tensor, known: Tensor, values: Tensor, otherwise: float) -> Tensor:
    """Look up the values of keys; an unknown key gets `otherwise`."""
    at = torch.searchsorted(known, keys.contiguous()).clamp_max(len(known) - 1)
    return torch.where(known[at] == keys, values[at], otherwise)
