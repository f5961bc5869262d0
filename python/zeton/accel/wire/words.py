"""The streams of a card: texts → frames, and words → ids.

A batch is one packet of frames. A frame is a header of 64 bits and bytes of one text, padded to
whole words; all frames of a text go to one lane:

    header   63-56 `0xF7`   31-24 lane   16 last frame of its text   15-0 bytes in the frame
    word     31-28 lane     27 last word of its text   26-24 kind   23-0 payload

For example, the text `low` with id 257 comes back from lane 0 as the word `0x08000101`. Parts that
the card does not merge come back as raw stretches of bytes, and `read_words` merges them here.
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
    "DealtBatch",
    "Kind",
    "Vocab",
    "count_bytes",
    "deal",
    "read_words",
]

FRAME_BYTES = 2048
"""Largest frame in bytes; short frames keep all lanes busy."""

TEXT_BYTES_MAX = (1 << 24) - 1
"""Longest text in bytes, because a payload of 24 bits holds a position in it."""

HEADER = 0xF7 << 56
LAST, LANE_LOW = 1 << 16, 24
"""Bit of a header that marks the last frame of a text, and lowest bit of the lane."""

BATCH = 0x07 << 24
"""The word that ends a batch; its payload counts batches."""

Numbers = NDArray[np.int64]


class Kind(IntEnum):
    """Kinds of words."""

    ID = 0
    BYTE = 1
    """A raw byte, which starts or continues a raw stretch."""
    CUT = 2
    """A piece ends `payload` bytes after the start of the raw stretch."""
    CLOSE = 3
    """The raw stretch ends, and a piece with it."""
    NOTHING = 4
    """The only word of an empty text."""
    BATCH = 7


@dataclass(frozen=True, slots=True)
class DealtBatch:
    """A batch dealt to lanes: its packet, and the texts of each lane in order."""

    texts: Sequence[bytes]
    packet: bytes
    lanes: tuple[tuple[int, ...], ...]

    @property
    def words_max(self) -> int:
        """Largest number of words of the batch: a byte makes an id, or BYTE, CUT and CLOSE."""
        return 3 * sum(map(len, self.texts)) + len(self.texts)


class Vocab:
    """A tokenizer with the length of each token, which reading words needs."""

    def __init__(self, tokenizer: "Tokenizer") -> None:
        """Measure all tokens."""
        ranks = tokenizer.ranks()
        ids = np.fromiter(ranks.values(), np.int64, len(ranks))
        self.lengths = np.zeros(ids.max() + 1, np.int64)
        self.lengths[ids] = np.fromiter(map(len, ranks), np.int64, len(ranks))
        self.tokenizer = tokenizer


def deal(texts: Sequence[bytes], lanes: int) -> DealtBatch:
    """Deal each text to the lane with the fewest bytes, and interleave the frames of all lanes."""
    loads, dealt = [0] * lanes, [list[int]() for _ in range(lanes)]
    for at, text in enumerate(texts):
        lane = loads.index(min(loads))
        loads[lane] += len(text) + 1
        dealt[lane].append(at)
    queues = [_frames([texts[at] for at in mine], lane) for lane, mine in enumerate(dealt)]
    packet = b"".join(chain.from_iterable(zip_longest(*queues, fillvalue=b"")))
    return DealtBatch(texts, packet, tuple(map(tuple, dealt)))


def _frames(texts: Sequence[bytes], lane: int) -> Iterator[bytes]:
    head = HEADER | lane << LANE_LOW
    for text in texts:
        for start in range(0, len(text) or 1, FRAME_BYTES):
            content = text[start : start + FRAME_BYTES]
            last = LAST if start + FRAME_BYTES >= len(text) else 0
            header = (head | last | len(content)).to_bytes(8, "little")
            yield header + content + bytes(-len(content) % 8)


def read_words(words: "Words", dealt: DealtBatch, vocab: Vocab) -> list[list[int]]:
    """Return the ids of every text of a batch from all its words.

    Ids that do not spell the text raise `AnswerError`. Texts with cuts inside a raw stretch are
    compared with the software's ids, because a lost cut changes ids without changing bytes.

    Words have no parity bit, so one kind of damage stays undetected: a word changed on its way into
    one that spells the same bytes, for example a raw byte into the id of that byte.
    """
    ids: list[list[int]] = [[]] * len(dealt.texts)
    of_lane = words >> np.uint32(28)
    if words.size and (unknown := int(of_lane.max())) >= len(dealt.lanes):
        raise AnswerError(f"a word names lane {unknown}; the card has {len(dealt.lanes)} lanes")
    for lane, mine in enumerate(dealt.lanes):
        own = words if len(dealt.lanes) == 1 else words[of_lane == lane]
        texts = [dealt.texts[at] for at in mine]
        try:
            found = _read_lane(own, texts, vocab)
        except AnswerError as error:
            raise AnswerError(f"lane {lane}: {error}; reset the device") from None
        for at, text_ids in zip(mine, found, strict=True):
            ids[at] = text_ids
    return ids


def count_bytes(words: "Words", vocab: Vocab) -> int:
    """Return the number of text bytes that words spell; invalid words count as 0."""
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
        raise AnswerError(f"a word has id {strange[0]}; the largest is {len(vocab.lengths) - 1}")
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
            raise AnswerError(
                f"text {at} has other ids than the software gives; its cuts are wrong"
            )
    return by_text


def _is_doubtful(pieces: list[bytes], vocab: Vocab) -> bool:
    """Return whether a lost or wrong cut could give this raw stretch other ids for its bytes.

    That is so if the card sent cuts, and if the software would cut the only piece.
    """
    return len(pieces) > 1 or len(vocab.tokenizer.split(pieces[0])) > 1


def _check_ends(kinds: NDArray[np.uint32], last: NDArray[np.bool_], texts: int) -> None:
    """Refuse words with another number of text ends, or with an end at an impossible place."""
    if (unknown := kinds[kinds > Kind.NOTHING]).size:
        raise AnswerError(f"a word inside a batch has kind {unknown[0]}; expected 0 to 4")
    if last.sum() != texts:
        raise AnswerError(f"{last.sum()} texts ended in a batch of {texts}")
    if last.size and not last[-1]:
        raise AnswerError(
            "words follow the last text of a batch, or the end of that text is missing"
        )
    if np.any(last & ((kinds == Kind.BYTE) | (kinds == Kind.CUT))):
        raise AnswerError("a text ended inside a raw stretch; expected CLOSE first")
    alone = last & np.concatenate([[True], last[:-1]])
    if np.any((kinds == Kind.NOTHING) & ~alone):
        raise AnswerError("a text has the word NOTHING beside other words; expected it alone")


def _stretches(kinds: NDArray[np.uint32], payloads: Numbers) -> Iterator[tuple[int, list[bytes]]]:
    """Yield the index of the CLOSE word of each raw stretch, and its pieces."""
    is_raw = (kinds >= Kind.BYTE) & (kinds <= Kind.CLOSE)
    closed = kinds == Kind.CLOSE
    goes_on = is_raw & ~closed
    if np.any(goes_on & ~np.concatenate([is_raw[1:], [False]])):
        raise AnswerError("a raw stretch has no CLOSE word")
    starts = np.flatnonzero(is_raw & ~np.concatenate([[False], goes_on[:-1]]))
    if np.any(kinds[starts] != Kind.BYTE):
        raise AnswerError("a raw stretch begins with CUT or CLOSE; expected BYTE")
    is_byte = kinds == Kind.BYTE
    if np.any(payloads[is_byte] > 0xFF):
        raise AnswerError("the payload of a BYTE word is more than 255")
    for start, close in zip(starts.tolist(), np.flatnonzero(closed).tolist(), strict=True):
        inside, values = is_byte[start:close], payloads[start:close]
        content = values[inside].astype(np.uint8).tobytes()
        yield close, _cut(content, values[~inside], np.cumsum(inside)[~inside])


def _cut(content: bytes, cuts: Numbers, arrived: Numbers) -> list[bytes]:
    """Cut a raw stretch at the given positions; `arrived` counts the bytes before each CUT."""
    if not cuts.size:
        return [content]
    if np.any(cuts > arrived) or np.any(np.diff(cuts, prepend=0) <= 0):
        raise AnswerError("a raw stretch is cut beyond its bytes, or twice at one position")
    ends = [*cuts.tolist(), len(content)]
    return [content[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]


def _check_bytes(found: Numbers, ends: Numbers, texts: list[bytes], vocab: Vocab) -> None:
    """Raise `AnswerError` for ids that do not spell the texts."""
    lengths = vocab.lengths[found]
    if np.any(lengths == 0):
        raise AnswerError(f"a word has id {found[lengths == 0][0]}, which has no token")
    spelled = np.diff(np.concatenate([[0], np.cumsum(lengths)])[ends], prepend=0)
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    if (wrong := np.flatnonzero(spelled != sizes)).size:
        at = wrong[0]
        raise AnswerError(f"the ids of text {at} spell {spelled[at]} bytes; expected {sizes[at]}")
    if vocab.tokenizer.decode_bytes(found) != b"".join(texts):
        raise AnswerError("the ids spell other bytes than the texts")
