"""Pairs as batches of tensors: rows of like length together, in an order that a seed gives."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zeton.seq2seq.pairs import Pair
from zeton.seq2seq.tokens import Tokens, padded

__all__ = ["Batch", "Batches"]

POOL = 64
"""Batches are made of so many batches' rows, sorted by length: little is padded, much is mixed."""


@dataclass(frozen=True)
class Batch:
    """Rows of ids to read and to write, padded."""

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """Whether there is an id to write, or only padding: batch, steps."""
        steps = torch.arange(self.target.shape[1])
        return (steps[None] < self.target_lengths[:, None]).to(self.target.device)


class Batches:
    """The pairs of a training, encoded once; every epoch has its own order."""

    def __init__(
        self, pairs: Sequence[Pair], tokens: Tokens, size: int, device: torch.device
    ) -> None:
        """Encode the pairs."""
        self.sources = tokens.sources([pair.source for pair in pairs])
        self.targets = tokens.targets([pair.target for pair in pairs])
        self.target_bytes = sum(len(pair.target.encode()) for pair in pairs)
        self.size, self.device = size, device

    def __len__(self) -> int:
        """Return how many batches an epoch has."""
        return (len(self.sources) + self.size - 1) // self.size

    @property
    def target_longest(self) -> int:
        """The most ids that a target has, its end included."""
        return max(map(len, self.targets))

    def epoch(self, seed: int, epoch: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch from one on; the same seed gives the same order."""
        draw = random.Random(f"{seed}/{epoch}")  # noqa: S311 - no secret.
        order = list(range(len(self.sources)))
        draw.shuffle(order)
        batches: list[list[int]] = []
        for at in range(0, len(order), self.size * POOL):
            batches += self._sorted(order[at : at + self.size * POOL])
        draw.shuffle(batches)
        yield from map(self._batch, batches[start:])

    def all(self) -> Iterator[Batch]:
        """Yield every pair once, the shortest first."""
        yield from map(self._batch, self._sorted(list(range(len(self.sources)))))

    def _sorted(self, rows: list[int]) -> list[list[int]]:
        rows.sort(key=lambda row: (len(self.sources[row]), len(self.targets[row]), row))
        return [rows[at : at + self.size] for at in range(0, len(rows), self.size)]

    def _batch(self, rows: list[int]) -> Batch:
        source, source_lengths = padded([self.sources[row] for row in rows], self.device)
        target, target_lengths = padded([self.targets[row] for row in rows], self.device)
        return Batch(source, source_lengths, target, target_lengths)
