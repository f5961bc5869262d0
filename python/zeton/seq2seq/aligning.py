"""Pairs of ids → rows of units: each id of a text with the ids of its answer that it stands for."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

__all__ = ["IMPOSSIBLE", "WIDEST", "Alignment", "Rows"]

WIDEST = 2
"""The most ids of an answer that one id of its text stands for; the least is none."""

ROUNDS = 8
"""How often units are weighed anew."""

IMPOSSIBLE, NEVER = -1e9, -1e3
"""The log probabilities of what cannot be, and of what was never met: of infinities, nothing could
be derived."""


class Rows(NamedTuple):
    """Pairs of the same two lengths."""

    sources: Tensor
    """Rows, ids of the text."""
    targets: Tensor
    """Rows, ids of the answer: `WIDEST` times as many at most."""


class Alignment(NamedTuple):
    """The units that were met, and how likely each is."""

    units: Tensor
    """The code of each, sorted."""
    weights: Tensor
    """The log probability of each, and of one that was never met."""
    target_size: int

    @classmethod
    def learn(cls, every: Sequence[Rows], target_size: int) -> "Alignment":
        """Weigh units by how often they are met in all alignments of all pairs, again and again.

        The derivative of the pairs' log probability by that of a unit is how often it is expected:
        torch finds it.
        """
        met = [code.unique() for rows in every for code in _codes(rows, target_size)]
        units = torch.cat(met).unique()
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
        """Return the likeliest alignment: the number of each id's unit, the last if it is new."""
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
        """Return for each width the number of every unit there may be: rows, step, place."""
        numbers = []
        for codes in _codes(rows, self.target_size):
            at = torch.searchsorted(self.units, codes.contiguous())
            is_met = self.units[at.clamp_max(len(self.units) - 1)] == codes
            numbers.append(torch.where(is_met, at, len(self.units)))
        return numbers


def _codes(rows: Rows, target_size: int) -> list[Tensor]:
    """Return for each width a number that no other unit has: rows, step, place in the answer."""
    base, places = target_size + 1, rows.targets.shape[1] + 1
    sources = (rows.sources * base**WIDEST)[:, :, None]
    codes = []
    for width in range(WIDEST + 1):
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
    """Return how likely each place of the answer is reached by a unit of each width.

    A unit of two ids weighs as two units: else silence and a wide unit would be met where two
    narrow ones do.
    """
    ways = []
    for width, each in enumerate(weights):
        reached = scores[:, : each.shape[2]] + each[:, step] * max(width, 1)
        missing = scores.shape[1] - each.shape[2]
        ways.append(nn.functional.pad(reached, (missing, 0), value=IMPOSSIBLE))
    return torch.stack(ways)
