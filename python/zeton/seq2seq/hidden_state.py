"""The hidden state that the encoder passes to the decoder, and each decoder step to the next."""

from typing import Literal, NamedTuple, TypeAlias

from torch import Tensor, nn

from zeton.seq2seq.errors import Seq2SeqError

__all__ = ["CELLS", "Cell", "HiddenState", "Memory", "recurrent"]

Cell: TypeAlias = Literal["rnn", "gru", "lstm"]
CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class Memory(NamedTuple):
    """The encoder's states, for attention."""

    states: Tensor
    """The state of every step: batch, steps, size."""
    keys: Tensor
    """The keys that queries are scored against: batch, steps, size."""
    mask: Tensor
    """True at tokens, False at padding: batch, steps."""


class HiddenState(NamedTuple):
    """The state of a recurrent cell, with the memory for attention if there is any."""

    state: Tensor
    """Layers, batch, size."""
    cell: Tensor | None = None
    """The cell state of an LSTM."""
    memory: Memory | None = None

    @classmethod
    def of(
        cls, final: Tensor | tuple[Tensor, Tensor], memory: Memory | None = None
    ) -> "HiddenState":
        """Wrap the final state of torch's cells: one tensor, or two of an LSTM."""
        if isinstance(final, tuple):
            return cls(final[0], final[1], memory)
        return cls(final, None, memory)

    @property
    def final(self) -> Tensor | tuple[Tensor, Tensor]:
        """The state as torch's cells take it."""
        return self.state if self.cell is None else (self.state, self.cell)

    def last(self, layers: int) -> "HiddenState":
        """Return the hidden state of the last layers only."""
        cell = None if self.cell is None else self.cell[-layers:].contiguous()
        return HiddenState(self.state[-layers:].contiguous(), cell, self.memory)

    def rows(self, numbers: Tensor) -> "HiddenState":
        """Return the hidden state of the numbered rows of the batch; rows may repeat."""
        state = self.state.index_select(1, numbers)
        cell = None if self.cell is None else self.cell.index_select(1, numbers)
        memory = None
        if self.memory is not None:
            memory = Memory(*(each.index_select(0, numbers) for each in self.memory))
        return HiddenState(state, cell, memory)


def recurrent(
    cell: Cell,
    size_in: int,
    size: int,
    layers: int,
    dropout: float,
    *,
    bidirectional: bool = False,
) -> nn.Module:
    """Make layers of a recurrent cell, batch first.

    The forget gates of an LSTM start open, because torch's initial gates are half closed: they
    forget the input within a dozen steps, and training starts slowly (Jozefowicz 2015).
    """
    if cell not in CELLS:
        raise Seq2SeqError(f"cell is {cell!r}; it is one of {', '.join(CELLS)}")
    between = dropout if layers > 1 else 0.0
    options = {"batch_first": True, "dropout": between, "bidirectional": bidirectional}
    made = CELLS[cell](size_in, size, layers, **options)
    if cell == "lstm":
        for name, each in made.named_parameters():
            if name.startswith("bias"):  # Gates: in, forget, cell, out. Two biases add up.
                nn.init.constant_(each[size : 2 * size], 0.5)
    return made
