"""A batch of texts on its way to a card and back.

Specials never reach the card. For example, `"low<|end|>"` with `<|end|>` allowed becomes the card's
text `b"low"` and the id of the special; `Batch.assemble` joins the ids in the order of the text.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from zeton.accel.wire.texts import Specials, Text, cut_specials
from zeton.accel.wire.words import TEXT_BYTES_MAX, DealtBatch, Vocab, deal

__all__ = ["Batch", "End", "Options", "plan_batch"]

End: TypeAlias = int | str | None
"""An id, or the name of a special, that is added before or behind each text."""


class Options(NamedTuple):
    """The keywords of `Tokenizer.encode`."""

    allowed_special: Specials = None
    prepend: End = None
    append: End = None


@dataclass(slots=True, eq=False)
class Batch:
    """The texts of a batch, later its answer."""

    parts: list[list[list[int] | int]]
    """For each text its ids in order: a list of ids, or the index of a text on the card."""
    dealt: DealtBatch
    vocab: Vocab
    answer: list[list[int]] | None = None
    """The ids of each text on the card."""
    is_lost: bool = False

    def assemble(self, answer: list[list[int]]) -> list[list[int]]:
        """Return the ids of each text from the ids of the texts on the card."""
        found = []
        for parts in self.parts:
            ids: list[int] = []
            for part in parts:
                ids += answer[part] if isinstance(part, int) else part
            found.append(ids)
        return found


def plan_batch(
    texts: Iterable[Text],
    options: Options,
    vocab: Vocab,
    lanes: int,
    encode_long: Callable[[bytes], list[int]],
) -> Batch:
    """Cut specials out of texts, and deal the rest to lanes.

    `encode_long` encodes a text that is longer than a card takes.
    """
    tokenizer = vocab.tokenizer
    before = tokenizer.encode(b"", prepend=options.prepend)
    after = tokenizer.encode(b"", append=options.append)
    on_card: list[bytes] = []
    parts: list[list[list[int] | int]] = []
    for text in texts:
        own: list[list[int] | int] = [before]
        for part in cut_specials(tokenizer, text, options.allowed_special):
            if isinstance(part, int):
                own.append([part])
            elif len(part) > TEXT_BYTES_MAX:
                own.append(encode_long(part))
            else:
                own.append(len(on_card))
                on_card.append(part)
        parts.append([*own, after])
    return Batch(parts, deal(on_card, lanes), vocab)
