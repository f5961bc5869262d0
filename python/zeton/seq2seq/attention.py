"""Where to look in the text that was read, at each step of what is written."""

from torch import Tensor, nn

from zeton.seq2seq.hidden import Memory

__all__ = ["Additive"]


class Additive(nn.Module):
    """Scores of a small network over the sum of a query and a key (Bahdanau and others, 2014)."""

    def __init__(self, size: int) -> None:
        """Make the layers for states and queries of one size; keys have half of it."""
        super().__init__()
        half = (size + 1) // 2
        self.keys = nn.Linear(size, half, bias=False)
        self.query = nn.Linear(size, half)
        self.score = nn.Linear(half, 1, bias=False)

    def remember(self, states: Tensor, mask: Tensor) -> Memory:
        """Make the memory of the encoder's states; keys are computed once."""
        return Memory(states, self.keys(states), mask)

    def forward(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return what was seen, and how much of it was where.

        Queries are batch, steps, size; the weights are batch, steps, steps of the text.
        """
        sums = self.query(queries)[:, :, None] + memory.keys[:, None]
        scores = self.score(sums.tanh())[..., 0]
        scores = scores.masked_fill(~memory.mask[:, None], float("-inf"))
        weights = scores.softmax(dim=-1)
        return weights @ memory.states, weights
