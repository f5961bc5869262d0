"""Search for the likeliest ids of an answer: greedy, beam search, or greedy as a stream."""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from zeton.seq2seq.decoder import Decoder
from zeton.seq2seq.hidden_state import HiddenState

__all__ = ["Hypothesis", "beam", "greedy", "stream"]


class Hypothesis(NamedTuple):
    """The ids of an answer without the end, and their score."""

    ids: list[int]
    score: float


def greedy(decoder: Decoder, hidden: HiddenState, length_max: int) -> list[list[int]]:
    """Return the ids of each row up to its end, by taking the likeliest id at each step.

    Rows that have ended leave the batch, so they cost no more time.
    """
    count = hidden.state.shape[1]
    written: list[list[int]] = [[] for _ in range(count)]
    rows = list(range(count))
    ids = _begins(decoder, hidden)
    for _ in range(length_max):
        if not rows:
            break
        logits, hidden = decoder.step(ids, hidden)
        ids = logits.argmax(dim=-1)
        going = []
        for at, (row, each) in enumerate(zip(rows, ids.tolist(), strict=True)):
            if each != decoder.end:
                written[row].append(each)
                going.append(at)
        if len(going) < len(rows):
            kept = torch.tensor(going, dtype=torch.long, device=ids.device)
            ids, hidden = ids[kept], hidden.rows(kept)
            rows = [rows[at] for at in going]
    return written


def beam(
    decoder: Decoder, hidden: HiddenState, width: int, length_max: int, *, length_power: float = 0.0
) -> list[list[Hypothesis]]:
    """Return the hypotheses of a beam search of some width for each row, the best first.

    The score is the log probability, divided by the length to the power `length_power`.
    """
    count, device = hidden.state.shape[1], hidden.state.device
    every = torch.arange(count, device=device)
    hidden = hidden.rows(every.repeat_interleave(width))
    ids = _begins(decoder, hidden)
    # All hypotheses of a row begin alike, so only the first one has a finite score.
    scores = torch.full((count, width), float("-inf"), device=device)
    scores[:, 0] = 0
    ended = torch.zeros((count, width), dtype=torch.bool, device=device)
    written = torch.zeros((count, width, 0), dtype=torch.long, device=device)
    for _ in range(length_max):
        if bool(ended.all()):
            break
        logits, hidden = decoder.step(ids, hidden)
        steps = _after_end(logits.log_softmax(dim=-1).view(count, width, -1), ended, decoder.end)
        sums = (scores[:, :, None] + steps).view(count, -1)
        scores, best = sums.topk(width, dim=1)
        parents, chosen = best // steps.shape[2], best % steps.shape[2]
        ended = ended.gather(1, parents) | (chosen == decoder.end)
        kept = parents[:, :, None].expand(-1, -1, written.shape[2])
        written = torch.cat([written.gather(1, kept), chosen[:, :, None]], dim=2)
        ids = chosen.view(-1)
        hidden = hidden.rows((every[:, None] * width + parents).view(-1))
    lengths = 1 + (written != decoder.end).sum(dim=2)
    scores, order = (scores / lengths**length_power).sort(dim=1, descending=True, stable=True)
    written = written.gather(1, order[:, :, None].expand_as(written))
    return [
        [
            Hypothesis(_up_to(decoder.end, ids), score)
            for ids, score in zip(*each, strict=True)
            if score > float("-inf")
        ]
        for each in zip(written.tolist(), scores.tolist(), strict=True)
    ]


def stream(decoder: Decoder, hidden: HiddenState, length_max: int) -> Iterator[int]:
    """Yield the ids of one row as they are generated greedily, up to its end."""
    ids = _begins(decoder, hidden)
    for _ in range(length_max):
        logits, hidden = decoder.step(ids, hidden)
        ids = logits.argmax(dim=-1)
        if (found := int(ids)) == decoder.end:
            return
        yield found


def _begins(decoder: Decoder, hidden: HiddenState) -> Tensor:
    return torch.full((hidden.state.shape[1],), decoder.begin, device=hidden.state.device)


def _after_end(steps: Tensor, ended: Tensor, end: int) -> Tensor:
    """Let an ended hypothesis only repeat its end, with log probability 0."""
    steps = steps.masked_fill(ended[:, :, None], float("-inf"))
    steps[:, :, end] = steps[:, :, end].masked_fill(ended, 0.0)
    return steps


def _up_to(end: int, ids: list[int]) -> list[int]:
    return ids[: ids.index(end)] if end in ids else ids
