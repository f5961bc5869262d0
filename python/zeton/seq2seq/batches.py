"""Pairs as padded batches of tensors: similar lengths together, in an order given by a seed."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from zeton.seq2seq.pairs import Pair
from zeton.seq2seq.tokens import Tokens, padded

__all__ = ["Batch", "Batches"]

POOL = 64
"""Batches whose rows are shuffled together, then sorted by length, so that padding stays small."""


@dataclass(frozen=True)
class Batch:
    """Padded rows of source and target ids."""

    source: Tensor
    source_lengths: Tensor
    target: Tensor
    target_lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """True at target ids, False at padding: batch, steps."""
        steps = torch.arange(self.target.shape[1])
        return (steps[None] < self.target_lengths[:, None]).to(self.target.device)


class Batches:
    """The pairs of a training run, encoded once; every epoch has an order of its own."""

    def __init__(
        self, pairs: Sequence[Pair], tokens: Tokens, size: int, device: torch.device
    ) -> None:
        """Encode the pairs."""
        self.sources = tokens.sources([pair.source for pair in pairs])
        self.targets = tokens.targets([pair.target for pair in pairs])
        self.target_bytes = sum(len(pair.target.encode()) for pair in pairs)
        self.size, self.device = size, device

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""
        return (len(self.sources) + self.size - 1) // self.size

    @property
    def target_longest(self) -> int:
        """The largest number of ids in a target, end included."""
        return max(map(len, self.targets))

    def epoch(self, seed: int, epoch: int, start: int = 0) -> Iterator[Batch]:
        """Yield the batches of an epoch from batch `start` on; a seed always gives one order."""
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
