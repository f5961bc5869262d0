"""The decoder: a hidden state becomes ids, one at a time."""

from typing import Literal, TypeAlias

import torch
from torch import Tensor, nn

from zeton.seq2seq.attention import AdditiveAttention
from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.hidden_state import Cell, HiddenState, recurrent

__all__ = ["ATTENTIONS", "Attention", "Decoder"]

Attention: TypeAlias = Literal["additive"]
ATTENTIONS = {"additive": AdditiveAttention}


class Decoder(nn.Module):
    """A recurrent cell that predicts the next id, with or without attention to the encoder."""

    def __init__(
        self,
        vocab_size: int,
        *,
        begin: int,
        end: int,
        embedding_size: int = 128,
        size: int = 256,
        cell: Cell = "gru",
        layers: int = 1,
        attention: Attention | None = None,
        dropout: float = 0.0,
    ) -> None:
        """Make the layers; the id `begin` precedes every answer, and `end` follows it."""
        super().__init__()
        if attention is not None and attention not in ATTENTIONS:
            raise Seq2SeqError(f"attention is {attention!r}; it is None or 'additive'")
        self.begin, self.end = begin, end
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.dropout = nn.Dropout(dropout)
        self.recurrent = recurrent(cell, embedding_size, size, layers, dropout)
        self.attention = None if attention is None else ATTENTIONS[attention](size)
        self.join = None if attention is None else nn.Linear(2 * size, size)
        self.logits = nn.Linear(size, vocab_size)

    def forward(self, hidden: HiddenState, length_max: int, target: Tensor | None = None) -> Tensor:
        """Return the logits of every step: batch, steps, vocabulary.

        Without a target, ids are generated greedily, until every row has ended or has `length_max`
        ids. With a target, its ids are the inputs (teacher forcing), so that one pass is enough.
        """
        if target is not None:
            target = target[:, :length_max]
            return self.run(self.shift_right(target), hidden)[0]
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

    def step(self, id: Tensor, hidden: HiddenState) -> tuple[Tensor, HiddenState]:  # noqa: A002 - our word.
        """Return the logits after one more id in each row, and the new hidden state."""
        logits, hidden = self.run(id[:, None], hidden)
        return logits[:, 0], hidden

    def run(self, ids: Tensor, hidden: HiddenState) -> tuple[Tensor, HiddenState]:
        """Return the logits after each id of the rows, and the last hidden state."""
        outputs, final = self.recurrent(self.dropout(self.embedding(ids)), hidden.final)
        memory = hidden.memory
        if self.attention is not None and self.join is not None:
            if memory is None:
                raise Seq2SeqError(
                    "the decoder has attention, but the hidden state has no encoder states; "
                    "make it by Seq2Seq.encode"
                )
            context, _ = self.attention(outputs, memory)
            outputs = self.join(torch.cat([outputs, context], dim=-1)).tanh()
        return self.logits(self.dropout(outputs)), HiddenState.of(final, memory)

    def attention_weights(self, ids: Tensor, hidden: HiddenState) -> Tensor:
        """Return the attention weights that predict each id: batch, steps, steps of the text."""
        if self.attention is None or hidden.memory is None:
            raise Seq2SeqError('the model has no attention; make it with attention="additive"')
        outputs, _ = self.recurrent(self.embedding(self.shift_right(ids)), hidden.final)
        weights: Tensor = self.attention(outputs, hidden.memory)[1]
        return weights

    def shift_right(self, target: Tensor) -> Tensor:
        """Return the decoder's inputs for a target: `begin`, then all of its ids but the last."""
        begin = torch.full_like(target[:, :1], self.begin)
        return torch.cat([begin, target[:, :-1]], dim=1)
