"""A tokenizer → the tables of a card, as an image: words of 64 bits, exactly as they are streamed.

Every entry of every table is in it, so that nothing is left of what was loaded before.
"""

import hashlib
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zeton.accel.configuration import BANKS, Configuration
from zeton.accel.errors import FitError
from zeton.accel.tables.bridges import bridge_bits
from zeton.accel.tables.pairs import pair_banks

if TYPE_CHECKING:
    from zeton.pattern.grammar import Transducer
    from zeton.tokenizer import Tokenizer

__all__ = [
    "LAYOUT",
    "Table",
    "digest_of",
    "image_of",
    "sizes_needed",
    "tables_in",
    "tables_of",
    "transducer_of",
]

LAYOUT = 1
"""It rises when the same tokenizer and configuration make another image."""

STATES_MAX, CLASSES_MAX, BLOCKS_MAX = 64, 32, 256
BLOCK_POINTS = 128
BLOCKS_INDEXED = 4096
OTHER_PLANES = 2560
"""The index of all code points of planes 4 to 13, 15 and 16, which share a block."""

ADDRESS_LOW, SELECT_LOW = 40, 60
"""Where in a word of an image the address of an entry begins, and the number of its table."""

SHOWN = 3
"""Tokens that a refusal names."""


class Table(IntEnum):
    """The tables of a lane by their numbers; the banks of pairs are `PAIRS` and the three after."""

    BLOCKS = 0
    CLASSES = 1
    SPLIT = 2
    BRIDGES = 3
    BYTES = 4
    OPTIONS = 5
    PAIRS = 8


def image_of(tokenizer: "Tokenizer", configuration: Configuration) -> bytes:
    """Return the image of a tokenizer for a card, or refuse with the sizes needed and available."""
    words = []
    for table, entries in tables_of(tokenizer, configuration).items():
        addresses = np.arange(len(entries), dtype=np.uint64) << np.uint64(ADDRESS_LOW)
        words.append(entries | addresses | np.uint64(table << SELECT_LOW))
    return np.concatenate(words).astype("<u8").tobytes()


def digest_of(image: bytes) -> int:
    """Return 64 bits by which a card's registers tell images apart; never zero."""
    return int.from_bytes(hashlib.sha256(image).digest()[:8], "little") or 1


def tables_in(image: bytes) -> dict[int, NDArray[np.uint64]]:
    """Return the entries of every table of an image, by the table's number."""
    words = np.frombuffer(image, "<u8")
    selects = words >> np.uint64(SELECT_LOW)
    addresses = words >> np.uint64(ADDRESS_LOW) & np.uint64((1 << SELECT_LOW - ADDRESS_LOW) - 1)
    entries = words & np.uint64((1 << ADDRESS_LOW) - 1)
    found = {}
    for select in np.unique(selects).tolist():
        mine = selects == select
        table = np.zeros(np.count_nonzero(mine), np.uint64)
        table[addresses[mine]] = entries[mine]
        found[select] = table
    return found


def tables_of(
    tokenizer: "Tokenizer", configuration: Configuration
) -> dict[int, NDArray[np.uint64]]:
    """Return all entries of every table by its number."""
    transducer = transducer_of(tokenizer)
    ranks, merges = tokenizer.ranks(), tokenizer.merges()
    _check_sizes(transducer, ranks, merges, configuration)
    index, classes = class_tables(transducer.class_of)
    tables = {
        Table.BLOCKS: index,
        Table.CLASSES: classes,
        Table.SPLIT: _split_table(transducer),
        Table.BRIDGES: _bridge_words(bridge_bits(ranks, configuration.bridge_bits)),
        Table.BYTES: np.array([ranks[bytes([byte])] for byte in range(256)]),
        Table.OPTIONS: np.array([_options(transducer)]),
    }
    banks = dict(enumerate(pair_banks(merges, configuration), Table.PAIRS))
    return {number: table.astype(np.uint64) for number, table in (tables | banks).items()}


def sizes_needed(tokenizer: "Tokenizer") -> dict[str, int]:
    """Return what a tokenizer needs of a card: `states`, `classes`, `id_bits`, `pairs`."""
    transducer = transducer_of(tokenizer)
    return {
        "states": len(transducer.states),
        "classes": len(transducer.next[0]),
        "id_bits": max(tokenizer.ranks().values()).bit_length(),
        "pairs": len(tokenizer.merges()),
    }


def class_tables(class_of: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the blocks of 128 code points by index, and the classes of all blocks."""
    points = np.frombuffer(class_of, dtype=np.uint8)
    starts = range(0, len(class_of), BLOCK_POINTS)
    numbers: dict[bytes, int] = {}
    for start in starts:
        numbers.setdefault(class_of[start : start + BLOCK_POINTS], len(numbers))
    if len(numbers) > BLOCKS_MAX:
        raise FitError(
            f"the classes of its characters make {len(numbers)} different blocks of {BLOCK_POINTS} "
            f"code points; the card has {BLOCKS_MAX}"
        )
    index = np.zeros(BLOCKS_INDEXED, dtype=np.uint64)
    index[block_index(np.array(starts))] = [
        numbers[class_of[start : start + BLOCK_POINTS]] for start in starts
    ]
    classes = np.zeros(BLOCKS_MAX * BLOCK_POINTS, dtype=np.uint64)
    used = np.frombuffer(b"".join(numbers), dtype=np.uint8)
    classes[: len(used)] = used
    every = np.arange(len(points))
    addresses = index[block_index(every)].astype(np.int64) * BLOCK_POINTS + every % BLOCK_POINTS
    if differ := np.flatnonzero(classes[addresses] != points).size:
        raise FitError(
            f"{differ:,} code points of planes 4 to 13, 15 and 16 have classes of their own; "
            "the card has one block for all of these planes"
        )
    return index, classes


def block_index(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the blocks of code points are looked up: planes 0 to 3, plane 14, all others.

    >>> block_index(np.array([0x7F, 0x3FFFF, 0xE0000, 0x10FFFF])).tolist()
    [0, 2047, 2048, 2560]
    """
    low, in_14 = points < 0x40000, points >> 16 == 14
    return np.where(low, points >> 7, np.where(in_14, 2048 + (points >> 7 & 511), OTHER_PLANES))


def _split_table(transducer: "Transducer") -> NDArray[np.uint64]:
    table = np.zeros((STATES_MAX, CLASSES_MAX), dtype=np.uint64)
    for state, (following, actions) in enumerate(
        zip(transducer.next, transducer.actions, strict=True)
    ):
        row = np.frombuffer(following, np.uint8) | np.frombuffer(actions, np.uint8) * np.uint64(64)
        table[state, : len(row)] = row
    return table.ravel()


def _bridge_words(bits: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.packbits(bits, bitorder="little").view("<u4").astype(np.uint64)


def _options(transducer: "Transducer") -> int:
    """Return the classes of what is no character; bridges are used, as merges reach all tokens."""
    return transducer.class_of_end | transducer.class_of_bad_byte << 8 | 1 << 16


def transducer_of(tokenizer: "Tokenizer") -> "Transducer":
    """Return the transducer of a tokenizer's pattern, or say why it has none."""
    path = tokenizer.info
    if path.split == "function":
        raise FitError("its split is a Python function, which no card runs; give one of a pattern")
    if (grammar := tokenizer.grammar) is not None:
        return grammar.transducer
    if tokenizer.rules is not None:
        raise FitError(
            "its rules cut where a transducer of two marks cannot; the card runs patterns of the "
            "family of gpt2, cl100k_base and o200k_base"
        )
    raise FitError(
        f"its pattern is outside the family of gpt2, cl100k_base and o200k_base ({path.why}); "
        "the card runs transducers of two marks only"
    )


def _check_sizes(
    transducer: "Transducer",
    ranks: dict[bytes, int],
    merges: dict[tuple[int, int], int],
    configuration: Configuration,
) -> None:
    """Refuse what the tables have no room for."""
    refusals = list(_refusals(transducer, ranks, merges, configuration))
    if refusals:
        raise FitError("; ".join(refusals))


def _refusals(
    transducer: "Transducer",
    ranks: dict[bytes, int],
    merges: dict[tuple[int, int], int],
    configuration: Configuration,
) -> Iterator[str]:
    states, classes = len(transducer.states), len(transducer.next[0])
    if states > STATES_MAX:
        yield f"its pattern has {states} states; the card has {STATES_MAX}"
    if classes > CLASSES_MAX:
        yield f"its pattern tells {classes} classes of characters apart; the card {CLASSES_MAX}"
    if (largest := max(ranks.values())) >= 1 << configuration.id_bits:
        yield (
            f"its largest id is {largest:,}, which takes {largest.bit_length()} bits; "
            f"the card's ids have {configuration.id_bits}"
        )
    if len(merges) > configuration.pairs_max:
        yield (
            f"its merges have {len(merges):,} pairs; "
            f"the card holds {configuration.pairs_max:,} in {BANKS} banks"
        )
    reached = set(merges.values())
    missing = [token for token, id in ranks.items() if len(token) > 1 and id not in reached]  # noqa: A001
    if missing:
        named = ", ".join(map(repr, missing[:SHOWN]))
        more = ", …" if len(missing) > SHOWN else ""
        yield (
            f"no merge reaches {len(missing):,} of its tokens ({named}{more}); the card only merges"
        )
