"""A corpus: paths become files (`files`), and files become texts (`reader`).

Text, JSON lines and Parquet, also compressed, are read by `formats`. Reading can stop after any
text and resume from there. Records are skipped on demand only, and then counted. For many readers
at once, `plan` cuts a corpus into units.
"""

from zeton.corpus.encoding import warn_of_encodings
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
    "warn_of_encodings",
    "weights_of",
]
