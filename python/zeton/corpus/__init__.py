"""Files become texts: which files (`files`), how each is read (`formats`), in order (`reader`).

Text, JSON lines and Parquet; text and JSON lines also as `.gz`, `.zst` and `.xz`; folders and globs
of them. Reading can stop after any text and go on from there; nothing is left out unless asked for,
and then it is counted. For many readers at once, `units` are what each one reads.
"""

from zeton.corpus.files import (
    AnyPath,
    are_plain,
    files,
    identity,
    standard_library,
    warn_of_doubles,
    weights_of,
)
from zeton.corpus.plan import Unit, plan
from zeton.corpus.reader import OnError, Part, Position, Reader, Skipped, parts, texts

__all__ = [
    "AnyPath",
    "OnError",
    "Part",
    "Position",
    "Reader",
    "Skipped",
    "Unit",
    "are_plain",
    "files",
    "identity",
    "parts",
    "plan",
    "standard_library",
    "texts",
    "warn_of_doubles",
    "weights_of",
]
