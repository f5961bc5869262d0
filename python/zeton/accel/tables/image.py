"""A tokenizer → the tables of a card, as one image of 64-bit words.

    63-60 table   59-40 address   39-0 data

For example, the word `0x4000610000000061` sets entry 97 of table 4 (bytes) to id 97. An image has
every entry of every table, so no entry of an earlier image survives a load.
"""

import hashlib
from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from zeton.accel.configuration import BANKS, Configuration
from zeton.accel.errors import FitError
from zeton.accel.tables.bridges import make_bridges
from zeton.accel.tables.pairs import make_banks

if TYPE_CHECKING:
    from zeton.pattern.grammar import Transducer
    from zeton.tokenizer import Tokenizer

__all__ = [
    "LAYOUT",
    "Table",
    "digest_image",
    "find_transducer",
    "make_image",
    "make_tables",
    "measure_sizes",
    "read_tables",
]

LAYOUT = 1
"""Version of the image; it rises when the same tokenizer and configuration give other bytes."""

STATES_MAX, CLASSES_MAX, BLOCKS_MAX = 64, 32, 256
BLOCK_POINTS = 128
BLOCKS_INDEXED = 4096
OTHER_PLANES = 2560
"""Index of the block that planes 4 to 13, 15 and 16 share."""

ADDRESS_LOW, SELECT_LOW = 40, 60
"""Lowest bit of the address and of the table number in a word of an image."""

SHOWN = 3
"""Number of tokens that an error message names."""


class Table(IntEnum):
    """Numbers of a lane's tables; the banks of pairs are `PAIRS` to `PAIRS + 3`."""

    BLOCKS = 0
    CLASSES = 1
    SPLIT = 2
    BRIDGES = 3
    BYTES = 4
    OPTIONS = 5
    PAIRS = 8


def make_image(tokenizer: "Tokenizer", configuration: Configuration) -> bytes:
    """Return the image of a tokenizer; `FitError` names the sizes needed and available."""
    words = []
    for table, entries in make_tables(tokenizer, configuration).items():
        addresses = np.arange(len(entries), dtype=np.uint64) << np.uint64(ADDRESS_LOW)
        words.append(entries | addresses | np.uint64(table << SELECT_LOW))
    return np.concatenate(words).astype("<u8").tobytes()


def digest_image(image: bytes) -> int:
    """Return the 64-bit digest of an image for the IMAGE registers; never 0."""
    return int.from_bytes(hashlib.sha256(image).digest()[:8], "little") or 1


def read_tables(image: bytes) -> dict[int, NDArray[np.uint64]]:
    """Return the entries of every table of an image, by table number."""
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


def make_tables(
    tokenizer: "Tokenizer", configuration: Configuration
) -> dict[int, NDArray[np.uint64]]:
    """Return all entries of every table, by table number."""
    transducer = find_transducer(tokenizer)
    ranks, merges = tokenizer.ranks(), tokenizer.merges()
    _check_sizes(transducer, ranks, merges, configuration)
    index, classes = class_tables(transducer.class_of)
    tables = {
        Table.BLOCKS: index,
        Table.CLASSES: classes,
        Table.SPLIT: _split_table(transducer),
        Table.BRIDGES: _bridge_words(make_bridges(ranks, configuration.bridge_bits)),
        Table.BYTES: np.array([ranks[bytes([byte])] for byte in range(256)]),
        Table.OPTIONS: np.array([_options(transducer)]),
    }
    banks = dict(enumerate(make_banks(merges, configuration), Table.PAIRS))
    return {number: table.astype(np.uint64) for number, table in (tables | banks).items()}


def measure_sizes(tokenizer: "Tokenizer") -> dict[str, int]:
    """Return the sizes that a tokenizer needs: `states`, `classes`, `id_bits`, `pairs`."""
    transducer = find_transducer(tokenizer)
    return {
        "states": len(transducer.states),
        "classes": len(transducer.next[0]),
        "id_bits": max(tokenizer.ranks().values()).bit_length(),
        "pairs": len(tokenizer.merges()),
    }


def class_tables(class_of: bytes) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the index from 128 code points to a block, and the classes of all blocks."""
    points = np.frombuffer(class_of, dtype=np.uint8)
    starts = range(0, len(class_of), BLOCK_POINTS)
    numbers: dict[bytes, int] = {}
    for start in starts:
        numbers.setdefault(class_of[start : start + BLOCK_POINTS], len(numbers))
    if len(numbers) > BLOCKS_MAX:
        raise FitError(
            f"its character classes need {len(numbers)} different blocks of {BLOCK_POINTS} code "
            f"points; the card has {BLOCKS_MAX}; give a pattern with fewer classes"
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
            f"its pattern gives {differ:,} code points of planes 4 to 13, 15 and 16 classes of "
            "their own; the card has one block for these planes; give a pattern without them"
        )
    return index, classes


def block_index(points: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the index of the block of each code point: planes 0 to 3, plane 14, then the rest.

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
    """Return the options: class of the end, class of bad bytes, and bit 16 for bridges."""
    return transducer.class_of_end | transducer.class_of_bad_byte << 8 | 1 << 16


def find_transducer(tokenizer: "Tokenizer") -> "Transducer":
    """Return the transducer of a tokenizer's pattern; `FitError` says why there is none."""
    path = tokenizer.info
    if path.split == "function":
        raise FitError(
            "its split is a Python function, which no card can run; give one with a pattern"
        )
    if (grammar := tokenizer.grammar) is not None:
        return grammar.transducer
    if tokenizer.rules is not None:
        raise FitError(
            "its rules need more than a transducer with two marks; give a tokenizer with a pattern "
            "of the family of gpt2, cl100k_base and o200k_base"
        )
    raise FitError(
        f"its pattern is outside the family of gpt2, cl100k_base and o200k_base ({path.why}); "
        "the card runs transducers with two marks; give a tokenizer with such a pattern"
    )


def _check_sizes(
    transducer: "Transducer",
    ranks: dict[bytes, int],
    merges: dict[tuple[int, int], int],
    configuration: Configuration,
) -> None:
    """Refuse a tokenizer that is larger than the tables."""
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
        yield f"its pattern has {classes} classes of characters; the card has {CLASSES_MAX}"
    if (largest := max(ranks.values())) >= 1 << configuration.id_bits:
        yield (
            f"its largest id is {largest:,}, which needs {largest.bit_length()} bits; "
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
            f"merges do not make {len(missing):,} of its tokens ({named}{more}); "
            "the card finds tokens by merging only"
        )
