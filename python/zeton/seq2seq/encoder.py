"""The encoder: ids of a text become the state of every step and the final hidden state."""

from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.hidden_state import Cell, HiddenState, recurrent

__all__ = ["Encoder"]


class Encoder(nn.Module):
    """A recurrent cell over ids, in one direction, or in both with half of the size each."""

    def __init__(
        self,
        vocab_size: int,
        *,
        embedding_size: int = 128,
        size: int = 256,
        cell: Cell = "gru",
        layers: int = 1,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ) -> None:
        """Make the layers; `size` is the size of the state, both directions together."""
        super().__init__()
        if bidirectional and size % 2:
            raise Seq2SeqError(f"size is {size}; a bidirectional encoder needs an even size")
        self.bidirectional = bidirectional
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.dropout = nn.Dropout(dropout)
        each = size // 2 if bidirectional else size
        self.recurrent = recurrent(
            cell, embedding_size, each, layers, dropout, bidirectional=bidirectional
        )

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> HiddenState:
        """Return the final hidden state for ids (batch, steps); `lengths` excludes padding."""
        return self.run(ids, lengths)[1]

    def states(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the state of every step (batch, steps, size), with zeros at padding."""
        return self.run(ids, lengths)[0]

    def run(self, ids: Tensor, lengths: Tensor | None = None) -> tuple[Tensor, HiddenState]:
        """Return the state of every step, and the final hidden state.

        Padded rows are packed, so that padding does not affect either.
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
        hidden = HiddenState.of(final)
        if self.bidirectional:
            cell = None if hidden.cell is None else _joined(hidden.cell)
            hidden = HiddenState(_joined(hidden.state), cell)
        return states, hidden


def _joined(state: Tensor) -> Tensor:
    """Concatenate the states of both directions: layers, batch, size."""
    directions, batch, size = state.shape
    layers = directions // 2
    return state.view(layers, 2, batch, size).transpose(1, 2).reshape(layers, batch, 2 * size)
