"""The table of pairs: a cuckoo hash table in four banks, from two ids to the id they merge to.

A pair (left, right) is at index `right_high ^ H_b(tag)` of bank b, with the tag (left, right_low).
An entry, for example with 17-bit ids and banks of 2**15 entries:

    36 valid   35-17 tag (left, right_low)   16-0 merged id

Index and tag determine the pair, because `right_high` is `index ^ H_b(tag)`. So an entry with a
matching tag is that pair, and a short tag gives exact answers.
"""

from collections import deque

import numpy as np
from numpy.typing import NDArray

from zeton.accel.configuration import BANKS, Configuration
from zeton.accel.errors import AnswerError, FitError
from zeton.accel.tables.hashes import hash_many

__all__ = ["make_banks", "read_pairs", "spell"]

Numbers = NDArray[np.uint64]


def make_banks(
    merges: dict[tuple[int, int], int], configuration: Configuration
) -> list[NDArray[np.uint64]]:
    """Return the entries of every bank; an empty entry is 0."""
    pairs = np.array(list(merges), dtype=np.uint64).reshape(-1, 2)
    ids = np.fromiter(merges.values(), dtype=np.uint64, count=len(merges))
    low = np.uint64(configuration.low_bits)
    tags = pairs[:, 0] << low | pairs[:, 1] & ((np.uint64(1) << low) - np.uint64(1))
    high = pairs[:, 1] >> low
    bits, tag_bits = configuration.bank_bits, configuration.tag_bits
    places = [high ^ hash_many(bank, bits, tags, tag_bits) for bank in range(BANKS)]
    valid = np.uint64(1 << configuration.entry_bits - 1)
    entries = valid | tags << np.uint64(configuration.id_bits) | ids
    banks = []
    for owners in _settle(np.stack(places).astype(np.int64), 1 << bits):
        taken = owners >= 0
        bank = np.zeros(1 << bits, dtype=np.uint64)
        bank[taken] = entries[owners[taken]]
        banks.append(bank)
    return banks


def read_pairs(
    bank: int, entries: Numbers, configuration: Configuration
) -> dict[tuple[int, int], int]:
    """Return the pairs in a bank's entries, with the id that each merges to."""
    indexes = np.flatnonzero(entries >> np.uint64(configuration.entry_bits - 1) & np.uint64(1))
    found = entries[indexes]
    id_bits, low = np.uint64(configuration.id_bits), np.uint64(configuration.low_bits)
    one = np.uint64(1)
    tags = found >> id_bits & ((one << np.uint64(configuration.tag_bits)) - one)
    hashed = hash_many(bank, configuration.bank_bits, tags, configuration.tag_bits)
    left = tags >> low
    right = (indexes.astype(np.uint64) ^ hashed) << low | tags & ((one << low) - one)
    ids = found & ((one << id_bits) - one)
    return dict(zip(zip(left.tolist(), right.tolist(), strict=True), ids.tolist(), strict=True))


def spell(spelled: dict[int, bytes], merges: dict[tuple[int, int], int]) -> dict[int, bytes]:
    """Return the bytes of all ids; refuse merges of ids that have no bytes themselves."""
    waiting = sorted(merges.items(), key=lambda merge: merge[1])
    while waiting:
        left_over = []
        for (left, right), id_ in waiting:
            if left in spelled and right in spelled:
                spelled[id_] = spelled[left] + spelled[right]
            else:
                left_over.append(((left, right), id_))
        if len(left_over) == len(waiting):
            (left, right), id_ = waiting[0]
            raise AnswerError(
                f"the card merges {left} and {right} to {id_}, but has no bytes for one of them; "
                "reset the device"
            )
        waiting = left_over
    return spelled


def _settle(places: NDArray[np.int64], bank_size: int) -> NDArray[np.int64]:
    """Assign every pair to a free place, one candidate per bank; -1 marks an empty place.

    Pairs first take free places bank by bank. Each remaining pair is inserted along a shortest
    chain of moves; if there is no chain, no assignment exists.
    """
    owners = np.full((BANKS, bank_size), -1, dtype=np.int64)
    left_over = np.arange(places.shape[1])
    for bank in range(BANKS):
        taken, first = np.unique(places[bank, left_over], return_index=True)
        owners[bank, taken] = left_over[first]
        left_over = np.delete(left_over, first)
    if not left_over.size:
        return owners
    chosen, settled = places.T.tolist(), owners.ravel().tolist()
    for pair in left_over.tolist():
        if not _insert(pair, chosen, settled, bank_size):
            raise FitError(
                f"its {places.shape[1]:,} merges do not fit into {BANKS} banks of {bank_size:,} "
                "entries; give a card with more bank_bits"
            )
    return np.array(settled, dtype=np.int64).reshape(BANKS, bank_size)


def _insert(pair: int, places: list[list[int]], owners: list[int], bank_size: int) -> bool:
    """Insert a pair by a shortest chain of moves; return whether there is one."""
    came_from: dict[int, tuple[int, int] | None] = {}
    waiting: deque[tuple[int, int | None]] = deque([(pair, None)])
    while waiting:
        moved, held = waiting.popleft()
        for bank, index in enumerate(places[moved]):
            place = bank * bank_size + index
            if place in came_from:
                continue
            came_from[place] = None if held is None else (held, moved)
            if owners[place] >= 0:
                waiting.append((owners[place], place))
                continue
            while (step := came_from[place]) is not None:
                owners[place], place = step[1], step[0]
            owners[place] = pair
            return True
    return False
