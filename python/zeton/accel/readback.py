"""The tables of a card, read back through registers.

Each entry costs three register accesses or more. A lane of the default configuration has 172,289
entries.
"""

import numpy as np

from zeton.accel.configuration import BANKS, Configuration
from zeton.accel.errors import AnswerError
from zeton.accel.tables.image import Table, read_tables
from zeton.accel.tables.pairs import read_pairs, spell
from zeton.accel.wire.link import Link

__all__ = ["check_tables", "read_tokens"]


def read_tokens(link: Link, configuration: Configuration, lane: int) -> dict[bytes, int]:
    """Return token → id from the tables of bytes and pairs of a lane."""
    ids = link.read_table(Table.BYTES, 256, lane).tolist()
    spelled = {id_: bytes([byte]) for byte, id_ in enumerate(ids)}
    merges: dict[tuple[int, int], int] = {}
    for bank in range(BANKS):
        entries = link.read_table(Table.PAIRS + bank, 1 << configuration.bank_bits, lane)
        merges |= read_pairs(bank, entries, configuration)
    return {token: id_ for id_, token in spell(spelled, merges).items()}


def check_tables(link: Link, lanes: int, image: bytes) -> None:
    """Raise `AnswerError` if an entry of any lane differs from an image."""
    for lane in range(lanes):
        for table, entries in read_tables(image).items():
            found = link.read_table(table, len(entries), lane)
            if (wrong := np.flatnonzero(found != entries)).size:
                link.note(0)  # So that a reset loads the tables again.
                raise AnswerError(
                    f"{wrong.size} of {len(entries):,} entries of table {table} in lane {lane} "
                    "differ from the loaded image; reset the device"
                )
