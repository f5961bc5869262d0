"""Attention: a weighted mean of the encoder's states at each step of the decoder."""

from torch import Tensor, nn

from zeton.seq2seq.hidden_state import Memory

__all__ = ["AdditiveAttention"]


class AdditiveAttention(nn.Module):
    """Additive attention: a small network scores a query against each key (Bahdanau 2014)."""

    def __init__(self, size: int) -> None:
        """Make the layers: states and queries have `size` numbers, keys half as many."""
        super().__init__()
        half = (size + 1) // 2
        self.keys = nn.Linear(size, half, bias=False)
        self.query = nn.Linear(size, half)
        self.score = nn.Linear(half, 1, bias=False)

    def remember(self, states: Tensor, mask: Tensor) -> Memory:
        """Return the encoder's states with their keys, which are computed once per text."""
        return Memory(states, self.keys(states), mask)

    def forward(self, queries: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return the context vectors and the attention weights.

        Queries and contexts are batch, steps, size; weights are batch, steps, steps of the text.
        """
        sums = self.query(queries)[:, :, None] + memory.keys[:, None]
        scores = self.score(sums.tanh())[..., 0]
        scores = scores.masked_fill(~memory.mask[:, None], float("-inf"))
        weights = scores.softmax(dim=-1)
        return weights @ memory.states, weights
