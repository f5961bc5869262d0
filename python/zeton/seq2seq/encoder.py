"""Ids of a text → the state that a recurrent cell ends in, and that of every step."""

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.hidden import Cell, Hidden, recurrent

__all__ = ["Encoder"]


class Encoder(nn.Module):
    """A recurrent cell that reads ids, in one direction or, half its size each, in both."""

    def __init__(
        self,
        vocab_size: int,
        *,
        embedding: int = 128,
        size: int = 256,
        cell: Cell = "gru",
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        """Make the layers; `size` is that of the state, both directions together."""
        super().__init__()
        if bidirectional and size % 2:
            raise Seq2SeqError(f"size is {size}; two directions need an even one")
        self.bidirectional = bidirectional
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.dropout = nn.Dropout(dropout)
        each = size // 2 if bidirectional else size
        self.recurrent = recurrent(
            cell, embedding, each, layers, dropout, bidirectional=bidirectional
        )

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Hidden:
        """Return the final hidden state for ids of batch, steps; `lengths` says what is padding."""
        return self.run(ids, lengths)[1]

    def states(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the state of every step: batch, steps, size; zeros where there is padding."""
        return self.run(ids, lengths)[0]

    def run(self, ids: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, Hidden]:
        """Return the state of every step, and the final one.

        Padded rows are packed, so that padding reaches neither.
        """
        embedded = self.dropout(self.embedding(ids))
        if lengths is None:
            states, final = self.recurrent(embedded)
        else:
            packed = pack_padded_sequence(
                embedded, lengths.cpu(), batch_first=True, enforce_sorted=False
            )
            states, final = self.recurrent(packed)
            states, _ = pad_packed_sequence(states, batch_first=True, total_length=ids.shape[1])
        hidden = Hidden.of(final)
        if self.bidirectional:
            cell = None if hidden.cell is None else _joined(hidden.cell)
            hidden = Hidden(_joined(hidden.state), cell)
        return states, hidden


def _joined(state: Tensor) -> Tensor:
    """Put the states of both directions side by side: layers, batch, size."""
    directions, batch, size = state.shape
    layers = directions // 2
    return state.view(layers, 2, batch, size).transpose(1, 2).reshape(layers, batch, 2 * size)
