"""A hidden state → ids, one at a time."""

from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from zeton.seq2seq.attention import Additive
from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.hidden import Cell, Hidden, recurrent

__all__ = ["ATTENTIONS", "Attention", "Decoder"]

Attention: TypeAlias = Literal["additive"]
ATTENTIONS = {"additive": Additive}


class Decoder(nn.Module):
    """A recurrent cell that writes ids; with attention, it looks at what the encoder read."""

    def __init__(
        self,
        vocab_size: int,
        *,
        begin: int,
        end: int,
        embedding: int = 128,
        size: int = 256,
        cell: Cell = "gru",
        layers: int = 1,
        attention: Attention | None = None,
        dropout: float = 0.0,
    ) -> None:
        """Make the layers; `begin` is the id before the first one, `end` the one after the last."""
        super().__init__()
        if attention is not None and attention not in ATTENTIONS:
            raise Seq2SeqError(f"attention is {attention!r}; it is None or 'additive'")
        self.begin, self.end = begin, end
        self.embedding = nn.Embedding(vocab_size, embedding)
        self.dropout = nn.Dropout(dropout)
        self.recurrent = recurrent(cell, embedding, size, layers, dropout)
        self.attention = None if attention is None else ATTENTIONS[attention](size)
        self.join = None if attention is None else nn.Linear(2 * size, size)
        self.logits = nn.Linear(size, vocab_size)

    def forward(self, hidden: Hidden, length_max: int, target: Tensor | None = None) -> Tensor:
        """Return the logits of every step: batch, steps, vocabulary.

        Without a target, ids are generated one at a time, each the likeliest, until every row has
        its end or there are `length_max`. With one, each step is told the target's ids before it,
        whatever it would have chosen: teacher forcing, in one pass.
        """
        if target is not None:
            target = target[:, :length_max]
            return self.whole(self.shifted(target), hidden)[0]
        ids = torch.full((hidden.state.shape[1],), self.begin, device=hidden.state.device)
        ended = torch.zeros_like(ids, dtype=torch.bool)
        steps: list[Tensor] = []
        while len(steps) < length_max and not bool(ended.all()):
            logits, hidden = self.step(ids, hidden)
            steps.append(logits)
            ids = logits.argmax(dim=-1)
            ended |= ids == self.end
        if not steps:
            return hidden.state.new_zeros((len(ids), 0, self.logits.out_features))
        return torch.stack(steps, dim=1)

    def step(self, id: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:  # noqa: A002 - our word.
        """Take one id for each row; return the logits of the next, and the hidden state."""
        logits, hidden = self.whole(id[:, None], hidden)
        return logits[:, 0], hidden

    def whole(self, ids: Tensor, hidden: Hidden) -> tuple[Tensor, Hidden]:
        """Take rows of ids at once; return the logits after each, and the last hidden state."""
        outputs, final = self.recurrent(self.dropout(self.embedding(ids)), hidden.final)
        memory = hidden.memory
        if self.attention is not None and self.join is not None:
            if memory is None:
                raise Seq2SeqError("the decoder has attention, and the hidden state no memory")
            seen, _ = self.attention(outputs, memory)
            outputs = self.join(torch.cat([outputs, seen], dim=-1)).tanh()
        return self.logits(self.dropout(outputs)), Hidden.of(final, memory)

    def weights(self, ids: Tensor, hidden: Hidden) -> Tensor:
        """Return where attention looks before each of the ids: batch, steps, steps of the text."""
        if self.attention is None or hidden.memory is None:
            raise Seq2SeqError("there is no attention to look at; make the model with one")
        outputs, _ = self.recurrent(self.embedding(self.shifted(ids)), hidden.final)
        weights: Tensor = self.attention(outputs, hidden.memory)[1]
        return weights

    def shifted(self, target: Tensor) -> Tensor:
        """Return what each step is told: the begin, and all ids of the target but the last."""
        begin = torch.full_like(target[:, :1], self.begin)
        return torch.cat([begin, target[:, :-1]], dim=1)
