"""What goes over the wire: texts → frames, and words → ids.

A batch is one packet of frames. A frame is a header of 64 bits and bytes of one text, filled up to
whole words; all frames of a text go to one lane. A word that comes back has 32 bits: its lane,
whether it is the last of its text, its kind, and a payload. What the card does not merge leaves it
as raw bytes, in stretches of one or more pieces, which are merged here.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import chain, pairwise, zip_longest
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zeton._engine import encode_pieces
from zeton.accel.errors import AnswerError

if TYPE_CHECKING:
    from zeton.accel.wire.packets import Words
    from zeton.tokenizer import Tokenizer

__all__ = [
    "BATCH",
    "FRAME_BYTES",
    "TEXT_BYTES_MAX",
    "Dealt",
    "Kind",
    "Vocab",
    "bytes_of_words",
    "deal",
    "read_words",
]

FRAME_BYTES = 2048
"""Bytes of a frame at most: short ones let lanes run together."""

TEXT_BYTES_MAX = (1 << 24) - 1
"""Bytes of a text at most: a payload tells a place in it."""

HEADER = 0xF7 << 56
LAST, LANE_LOW = 1 << 16, 24
"""Of a header: that the text ends with this frame; where the number of its lane begins."""

BATCH = 0x07 << 24
"""The word that ends a batch, and in its payload the count of batches."""

Numbers = NDArray[np.int64]


class Kind(IntEnum):
    """What a word is."""

    ID = 0
    BYTE = 1
    """A raw byte, which begins a stretch or goes on with it."""
    CUT = 2
    """A piece ends so many bytes after the start of the stretch."""
    CLOSE = 3
    """The stretch ends, and a piece with it."""
    NOTHING = 4
    """All of an empty text."""
    BATCH = 7


@dataclass(frozen=True, slots=True)
class Dealt:
    """A batch as it is sent, and which of its texts each lane has, in order."""

    texts: Sequence[bytes]
    packet: bytes
    lanes: tuple[tuple[int, ...], ...]

    @property
    def words_max(self) -> int:
        """Words that may come back at most: a byte is an id, or raw with a cut and a close."""
        return 3 * sum(map(len, self.texts)) + len(self.texts)


class Vocab:
    """What is needed of a tokenizer to read words: the bytes of each id, and its merging."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        """Measure all tokens."""
        ranks = tokenizer.ranks()
        ids = np.fromiter(ranks.values(), np.int64, len(ranks))
        self.lengths = np.zeros(ids.max() + 1, np.int64)
        self.lengths[ids] = np.fromiter(map(len, ranks), np.int64, len(ranks))
        self.tokenizer = tokenizer


def deal(texts: Sequence[bytes], lanes: int) -> Dealt:
    """Give each text to the lane that has the least to do, and make frames of all, in turn."""
    loads, dealt = [0] * lanes, [list[int]() for _ in range(lanes)]
    for at, text in enumerate(texts):
        lane = loads.index(min(loads))
        loads[lane] += len(text) + 1
        dealt[lane].append(at)
    queues = [_frames([texts[at] for at in mine], lane) for lane, mine in enumerate(dealt)]
    packet = b"".join(chain.from_iterable(zip_longest(*queues, fillvalue=b"")))
    return Dealt(texts, packet, tuple(map(tuple, dealt)))


def _frames(texts: Sequence[bytes], lane: int) -> Iterator[bytes]:
    head = HEADER | lane << LANE_LOW
    for text in texts:
        for start in range(0, len(text) or 1, FRAME_BYTES):
            content = text[start : start + FRAME_BYTES]
            last = LAST if start + FRAME_BYTES >= len(text) else 0
            header = (head | last | len(content)).to_bytes(8, "little")
            yield header + content + bytes(-len(content) % 8)


def read_words(words: "Words", dealt: Dealt, vocab: Vocab) -> list[list[int]]:
    """Return the ids of every text of a batch, whose words are all here; what cannot be is refused.

    Ids spell the text that was sent, or are refused. Where the card told cuts, or one that it told
    may be lost, they are compared with the software's. Not found out is a word that was spoiled on
    its way so that other tokens spell the same bytes, as a raw byte that became the id of its byte:
    words have no parity bit.
    """
    ids: list[list[int]] = [[]] * len(dealt.texts)
    of_lane = words >> np.uint32(28)
    if words.size and (unknown := int(of_lane.max())) >= len(dealt.lanes):
        raise AnswerError(f"a word is of lane {unknown}; the card has {len(dealt.lanes)}")
    for lane, mine in enumerate(dealt.lanes):
        own = words if len(dealt.lanes) == 1 else words[of_lane == lane]
        texts = [dealt.texts[at] for at in mine]
        try:
            found = _read_lane(own, texts, vocab)
        except AnswerError as error:
            raise AnswerError(f"lane {lane}: {error}") from None
        for at, text_ids in zip(mine, found, strict=True):
            ids[at] = text_ids
    return ids


def bytes_of_words(words: "Words", vocab: Vocab) -> int:
    """Return how many bytes of text words stand for, those that make sense."""
    kinds = words >> np.uint32(24) & np.uint32(7)
    ids = words[kinds == Kind.ID] & np.uint32(0xFFFFFF)
    known = ids[ids < len(vocab.lengths)]
    return int(vocab.lengths[known].sum()) + int(np.count_nonzero(kinds == Kind.BYTE))


def _read_lane(words: "Words", texts: list[bytes], vocab: Vocab) -> list[list[int]]:
    """Return the ids of all texts of a lane."""
    kinds = words >> np.uint32(24) & np.uint32(7)
    payloads = (words & np.uint32(0xFFFFFF)).astype(np.int64)
    last = (words >> np.uint32(27) & np.uint32(1)).astype(bool)
    _check_ends(kinds, last, len(texts))
    is_id = kinds == Kind.ID
    if (strange := payloads[is_id][payloads[is_id] >= len(vocab.lengths)]).size:
        raise AnswerError(f"a word is id {strange[0]}; the largest is {len(vocab.lengths) - 1}")
    counts = is_id.astype(np.int64)
    raw = list(_stretches(kinds, payloads))
    merged = [encode_pieces(vocab.tokenizer, pieces) for _, pieces in raw]
    for (close, _), ids in zip(raw, merged, strict=True):
        counts[close] = len(ids)
    places = np.cumsum(counts)
    found = np.zeros(places[-1] if places.size else 0, np.int64)
    found[places[is_id] - 1] = payloads[is_id]
    for (close, _), ids in zip(raw, merged, strict=True):
        found[places[close] - len(ids) : places[close]] = ids
    ends = places[last]
    _check_bytes(found, ends, texts, vocab)
    listed, starts = found.tolist(), [0, *ends.tolist()]
    by_text = [listed[start:end] for start, end in pairwise(starts)]
    text_of = np.cumsum(last) - last
    for at in {int(text_of[close]) for close, pieces in raw if _is_doubtful(pieces, vocab)}:
        if by_text[at] != vocab.tokenizer.encode(texts[at]):
            raise AnswerError(f"its text {at} was cut where the software does not cut it")
    return by_text


def _is_doubtful(pieces: list[bytes], vocab: Vocab) -> bool:
    """Tell whether a stretch may have ids that spell its text and yet are others.

    It may where the card told the cuts, and where one that was told is lost.
    """
    return len(pieces) > 1 or len(vocab.tokenizer.split(pieces[0])) > 1


def _check_ends(kinds: NDArray[np.uint32], last: NDArray[np.bool_], texts: int) -> None:
    """Refuse words that do not end so many texts, or end one where none can end."""
    if (unknown := kinds[kinds > Kind.NOTHING]).size:
        raise AnswerError(f"a word is of kind {unknown[0]}, which there is not within a batch")
    if last.sum() != texts:
        raise AnswerError(f"{last.sum()} texts ended in a batch that has {texts}")
    if last.size and not last[-1]:
        raise AnswerError("words came after the last text of a batch, or its end was lost")
    if np.any(last & ((kinds == Kind.BYTE) | (kinds == Kind.CUT))):
        raise AnswerError("a text ended within a raw stretch")
    alone = last & np.concatenate([[True], last[:-1]])
    if np.any((kinds == Kind.NOTHING) & ~alone):
        raise AnswerError("a text has nothing, and words")


def _stretches(kinds: NDArray[np.uint32], payloads: Numbers) -> Iterator[tuple[int, list[bytes]]]:
    """Yield where each raw stretch is closed, and its pieces."""
    is_raw = (kinds >= Kind.BYTE) & (kinds <= Kind.CLOSE)
    closed = kinds == Kind.CLOSE
    goes_on = is_raw & ~closed
    if np.any(goes_on & ~np.concatenate([is_raw[1:], [False]])):
        raise AnswerError("a raw stretch was not closed")
    starts = np.flatnonzero(is_raw & ~np.concatenate([[False], goes_on[:-1]]))
    if np.any(kinds[starts] != Kind.BYTE):
        raise AnswerError("a raw stretch has no byte before it is cut or closed")
    is_byte = kinds == Kind.BYTE
    if np.any(payloads[is_byte] > 0xFF):
        raise AnswerError("a raw byte has more than 8 bits")
    for start, close in zip(starts.tolist(), np.flatnonzero(closed).tolist(), strict=True):
        inside, values = is_byte[start:close], payloads[start:close]
        content = values[inside].astype(np.uint8).tobytes()
        yield close, _cut(content, values[~inside], np.cumsum(inside)[~inside])


def _cut(content: bytes, cuts: Numbers, arrived: Numbers) -> list[bytes]:
    """Cut a stretch where it was told to; of each cut, so many bytes had arrived before it."""
    if not cuts.size:
        return [content]
    if np.any(cuts > arrived) or np.any(np.diff(cuts, prepend=0) <= 0):
        raise AnswerError("a raw stretch is cut where it has no bytes, or twice at one place")
    ends = [*cuts.tolist(), len(content)]
    return [content[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]


def _check_bytes(found: Numbers, ends: Numbers, texts: list[bytes], vocab: Vocab) -> None:
    """Refuse ids that do not spell the texts."""
    lengths = vocab.lengths[found]
    if np.any(lengths == 0):
        raise AnswerError(f"a word is id {found[lengths == 0][0]}, which stands for no token")
    spelled = np.diff(np.concatenate([[0], np.cumsum(lengths)])[ends], prepend=0)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if (wrong := np.flatnonzero(spelled != sizes)).size:
        at = wrong[0]
        raise AnswerError(f"its text {at} came back with {spelled[at]} bytes of {sizes[at]}")
    if vocab.tokenizer.decode_bytes(found) != b"".join(texts):
        raise AnswerError("its texts came back with other bytes")
