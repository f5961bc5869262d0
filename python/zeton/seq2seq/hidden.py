"""What the encoder hands to the decoder, and each step of the decoder to the next."""

from typing import Literal, NamedTuple, TypeAlias

from torch import Tensor, nn

from zeton.seq2seq.errors import Seq2SeqError

__all__ = ["CELLS", "Cell", "Hidden", "Memory", "recurrent"]

Cell: TypeAlias = Literal["rnn", "gru", "lstm"]
CELLS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class Memory(NamedTuple):
    """What attention looks at: every step of the encoder."""

    states: Tensor
    """A row of steps for each text: batch, steps, size."""
    keys: Tensor
    """What queries are compared with: batch, steps, size."""
    mask: Tensor
    """Whether there is a token, or only padding: batch, steps."""


class Hidden(NamedTuple):
    """The state of a recurrent cell; with attention, also what it looks at."""

    state: Tensor
    """Layers, batch, size."""
    cell: Tensor | None = None
    """The other half of an LSTM's state."""
    memory: Memory | None = None

    @classmethod
    def of(cls, final: Tensor | tuple[Tensor, Tensor], memory: Memory | None = None) -> "Hidden":
        """Take what torch's cells return: one tensor, or an LSTM's two."""
        if isinstance(final, tuple):
            return cls(final[0], final[1], memory)
        return cls(final, None, memory)

    @property
    def final(self) -> Tensor | tuple[Tensor, Tensor]:
        """What torch's cells take."""
        return self.state if self.cell is None else (self.state, self.cell)

    def last(self, layers: int) -> "Hidden":
        """Return the hidden state of the last layers only."""
        cell = None if self.cell is None else self.cell[-layers:].contiguous()
        return Hidden(self.state[-layers:].contiguous(), cell, self.memory)

    def rows(self, numbers: Tensor) -> "Hidden":
        """Return the hidden state of some rows of the batch, in that order, also repeated."""
        state = self.state.index_select(1, numbers)
        cell = None if self.cell is None else self.cell.index_select(1, numbers)
        memory = None
        if self.memory is not None:
            memory = Memory(*(each.index_select(0, numbers) for each in self.memory))
        return Hidden(state, cell, memory)


def recurrent(
    cell: Cell,
    size_in: int,
    size: int,
    layers: int,
    dropout: float,
    *,
    bidirectional: bool = False,
) -> nn.Module:
    """Make layers of a recurrent cell that take batches of rows of steps.

    The forget gates of an LSTM start open: half closed, as torch makes them, they would lose in a
    dozen steps what was read, and nothing would be learned at first (Jozefowicz and others, 2015).
    """
    if cell not in CELLS:
        raise Seq2SeqError(f"cell is {cell!r}; it is one of {', '.join(CELLS)}")
    between = dropout if layers > 1 else 0.0
    options = {"batch_first": True, "dropout": between, "bidirectional": bidirectional}
    made = CELLS[cell](size_in, size, layers, **options)
    if cell == "lstm":
        for name, each in made.named_parameters():
            if name.startswith("bias"):  # Of the gates in, forget, cell and out; two are added.
                nn.init.constant_(each[size : 2 * size], 0.5)
    return made
