"""Alignment of pairs: each id of a text joins zero to two ids of its answer, as one unit.

For example, `x` → `K S` is the unit (`x`, `K S`), and a silent letter is (`e`, nothing).
Expectation maximization estimates the probability of each unit; the Viterbi algorithm then finds
the likeliest alignment of a pair.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["IMPOSSIBLE", "TARGET_IDS_MAX", "Alignment", "Rows"]

TARGET_IDS_MAX = 2
"""The largest number of answer ids in one unit; the smallest is zero."""

ROUNDS = 8
"""Rounds of expectation maximization."""

IMPOSSIBLE, NEVER = -1e9, -1e3
"""Log probabilities of impossible alignments and of unseen units.

Both are finite because an infinity has no derivative.
"""


class Rows(NamedTuple):
    """Pairs that all have the same two lengths."""

    sources: Tensor
    """Ids of the texts: rows, steps."""
    targets: Tensor
    """Ids of the answers: rows, at most `TARGET_IDS_MAX` times as many steps."""


class Alignment(NamedTuple):
    """The units of the training pairs, and the probability of each."""

    units: Tensor
    """The code of each unit, sorted."""
    weights: Tensor
    """The log probability of each unit, then that of an unseen unit."""
    target_size: int

    @classmethod
    def learn(cls, every: Sequence[Rows], target_size: int) -> "Alignment":
        """Estimate unit probabilities by expectation maximization over all alignments.

        The expected count of a unit is the derivative of the pairs' log probability by the unit's
        own, so torch's autograd computes it.
        """
        seen = [code.unique() for rows in every for code in _codes(rows, target_size)]
        units = torch.cat(seen).unique()
        alignment = cls(units, torch.zeros(len(units) + 1, dtype=torch.float64), target_size)
        for _ in range(ROUNDS):
            weights = alignment.weights.requires_grad_()
            expected = torch.zeros_like(weights)
            for rows in every:
                expected += torch.autograd.grad(alignment._total(rows), weights)[0]
            shares = expected / expected.sum()
            alignment = alignment._replace(weights=shares.log().clamp_min(NEVER))
        return alignment

    def units_of(self, rows: Rows) -> Tensor:
        """Return the likeliest alignment (Viterbi): the unit's number for each id of the texts.

        An unseen unit has the number after the last known one.
        """
        numbers = self._numbers(rows)
        weights = [self.weights[each] for each in numbers]
        count, steps, places = weights[0].shape
        scores, choices = _start(count, places), []
        for step in range(steps):
            scores, chosen = _ways(scores, weights, step).max(dim=0)
            choices.append(chosen)
        found = torch.empty((count, steps), dtype=torch.long)
        every, place = torch.arange(count), torch.full((count,), places - 1)
        for step in reversed(range(steps)):
            width = choices[step][every, place]
            place = place - width
            for wide, each in enumerate(numbers):
                here = every[width == wide]
                found[here, step] = each[here, step, place[here]]
        return found

    def _total(self, rows: Rows) -> Tensor:
        """Return the log probability of the rows, over all their alignments."""
        weights = [self.weights[each] for each in self._numbers(rows)]
        count, steps, places = weights[0].shape
        scores = _start(count, places)
        for step in range(steps):
            scores = _ways(scores, weights, step).logsumexp(dim=0)
        return scores[:, -1].sum()

    def _numbers(self, rows: Rows) -> list[Tensor]:
        """Return the number of each possible unit, by its width: rows, step, position."""
        numbers = []
        for codes in _codes(rows, self.target_size):
            at = torch.searchsorted(self.units, codes.contiguous())
            is_known = self.units[at.clamp_max(len(self.units) - 1)] == codes
            numbers.append(torch.where(is_known, at, len(self.units)))
        return numbers


def _codes(rows: Rows, target_size: int) -> list[Tensor]:
    """Return a unique code of each possible unit, by its width: rows, step, answer position."""
    base, places = target_size + 1, rows.targets.shape[1] + 1
    sources = (rows.sources * base**TARGET_IDS_MAX)[:, :, None]
    codes = []
    for width in range(TARGET_IDS_MAX + 1):
        count = max(places - width, 0)
        ids = torch.zeros((len(rows.targets), count), dtype=torch.long)
        for at in range(width):
            ids = ids * base + rows.targets[:, at : at + count] + 1
        codes.append(sources + ids[:, None])
    return codes


def _start(count: int, places: int) -> Tensor:
    scores = torch.full((count, places), IMPOSSIBLE, dtype=torch.float64)
    scores[:, 0] = 0.0
    return scores


def _ways(scores: Tensor, weights: Sequence[Tensor], step: int) -> Tensor:
    """Return the log probability of reaching each answer position by a unit of each width.

    A unit of two ids counts its log probability twice. Otherwise a silent unit beside a wide one
    would beat two units of one id each.
    """
    ways = []
    for width, each in enumerate(weights):
        reached = scores[:, : each.shape[2]] + each[:, step] * max(width, 1)
        missing = scores.shape[1] - each.shape[2]
        ways.append(nn.functional.pad(reached, (missing, 0), value=IMPOSSIBLE))
    return torch.stack(ways)
