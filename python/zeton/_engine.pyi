# The compiled engine. Hand-written; stubtest holds it against what was built.

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DEFAULT_PATTERN",
    "FILE_BYTES_MAX",
    "IMAGE_ENGINE",
    "VERSION",
    "Counter",
    "Decoder",
    "Encoder",
    "Finder",
    "FinderMany",
    "PhraseFinder",
    "RawCounts",
    "RawMerges",
    "Texts",
    "TokenizerCore",
    "ZstdReader",
    "check_rules",
    "describe_grammar",
    "describe_path",
    "encode_invalid_utf8_tail",
    "encode_piece",
    "encode_pieces",
    "encode_unstable",
    "encode_with_places",
    "explain",
    "explain_piece",
    "find_chunks",
    "find_completions",
    "find_special",
    "find_specials",
    "find_token",
    "fit_end",
    "fit_start",
    "from_file",
    "from_image",
    "from_merges",
    "from_ranks",
    "heal",
    "place_ids",
    "scripts_of",
    "spell_phrase",
    "to_file",
    "with_specials",
    "write_image",
]

_Text: TypeAlias = str | bytes | bytearray | memoryview
_AllowedSpecial: TypeAlias = str | Iterable[str] | None
_Merged: TypeAlias = tuple[list[int], bool, list[tuple[int, int, int, int, int, int]]]

VERSION: str
DEFAULT_PATTERN: str
FILE_BYTES_MAX: int
IMAGE_ENGINE: str

def from_ranks(
    ranks: dict[bytes, int],
    pattern: str,
    specials: list[tuple[str, int]],
    notes: dict[str, str],
    by_function: bool = False,
) -> TokenizerCore: ...
def from_merges(
    merges: RawMerges,
    count: int,
    pattern: str,
    specials: list[tuple[str, int]],
    notes: dict[str, str],
    by_function: bool = False,
) -> TokenizerCore: ...
def from_file(file: bytes, by_function: bool = False) -> TokenizerCore: ...
def check_rules(spelled: str) -> str | None: ...
def scripts_of(text: str) -> list[str]: ...
def from_image(file: bytes, image: int) -> TokenizerCore | None: ...
def write_image(engine: TokenizerCore, file: bytes, image: int) -> None: ...
def with_specials(
    engine: TokenizerCore, specials: list[tuple[str, int]], notes: dict[str, str]
) -> TokenizerCore: ...
def find_special(
    engine: TokenizerCore, text: str, allowed_special: _AllowedSpecial
) -> str | None: ...
def find_token(engine: TokenizerCore, token: bytes) -> int | None: ...
def find_specials(
    engine: TokenizerCore, text: _Text, allowed_special: _AllowedSpecial, characters: bool
) -> list[tuple[int, int, int]]: ...
def to_file(engine: TokenizerCore) -> bytes: ...
def describe_path(engine: TokenizerCore) -> dict[str, Any]: ...
def describe_grammar(engine: TokenizerCore) -> dict[str, Any] | None: ...
def encode_piece(engine: TokenizerCore, piece: bytes) -> list[int]: ...
def encode_pieces(engine: TokenizerCore, pieces: Sequence[bytes]) -> list[int]: ...
def encode_invalid_utf8_tail(engine: TokenizerCore, bytes: bytes) -> list[int]: ...  # noqa: A002
def encode_unstable(
    engine: TokenizerCore, text: bytes, allowed_special: _AllowedSpecial
) -> tuple[list[int], list[list[int]]]: ...
def fit_end(
    engine: TokenizerCore, text: _Text, n: int, at: str, allowed_special: _AllowedSpecial
) -> int: ...
def fit_start(
    engine: TokenizerCore,
    text: _Text,
    n: int,
    at: str,
    allowed_special: _AllowedSpecial,
    before: _Text,
) -> int: ...
def find_chunks(
    engine: TokenizerCore,
    text: _Text,
    n: int,
    overlap: int,
    at: str,
    allowed_special: _AllowedSpecial,
) -> list[tuple[int, int, int]]: ...
def encode_with_places(
    engine: TokenizerCore, text: _Text, allowed_special: _AllowedSpecial, characters: bool
) -> tuple[list[int], list[tuple[int, int]]]: ...
def place_ids(
    engine: TokenizerCore, text: _Text, ids: Sequence[int], characters: bool
) -> list[tuple[int, int]]: ...
def explain(
    engine: TokenizerCore, text: _Text, allowed_special: _AllowedSpecial, characters: bool
) -> list[tuple[bytes, int, int, str, _Merged]]: ...
def explain_piece(engine: TokenizerCore, piece: bytes) -> _Merged: ...
def find_completions(engine: TokenizerCore, prefix: _Text) -> list[int]: ...
def heal(
    engine: TokenizerCore, text: _Text, allowed_special: _AllowedSpecial
) -> tuple[list[int], bytes, list[int] | None]: ...
def spell_phrase(
    engine: TokenizerCore, phrase: _Text
) -> tuple[list[list[int]], list[int], list[list[int]]]: ...

class TokenizerCore:
    def __new__(cls, engine: TokenizerCore) -> Self: ...
    def encode(
        self,
        text: _Text,
        *,
        allowed_special: _AllowedSpecial = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
    ) -> list[int]: ...
    def encode_array(
        self,
        text: _Text,
        *,
        allowed_special: _AllowedSpecial = None,
        threads: int | None = None,
    ) -> NDArray[np.uint32]: ...
    def encode_batch(
        self,
        texts: Iterable[_Text],
        *,
        allowed_special: _AllowedSpecial = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
        threads: int | None = None,
    ) -> list[list[int]]: ...
    def encode_batch_array(
        self,
        texts: Iterable[_Text],
        *,
        allowed_special: _AllowedSpecial = None,
        threads: int | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.uint64]]: ...
    def count(
        self,
        text: _Text,
        *,
        limit: int | None = None,
        allowed_special: _AllowedSpecial = None,
        threads: int | None = None,
    ) -> int: ...
    def count_batch(
        self,
        texts: Iterable[_Text],
        *,
        allowed_special: _AllowedSpecial = None,
        threads: int | None = None,
    ) -> list[int]: ...
    def fits(self, text: _Text, *, n: int, allowed_special: _AllowedSpecial = None) -> bool: ...
    def split(self, text: _Text) -> list[bytes]: ...
    def decode(self, ids: Iterable[int], *, errors: str = "replace") -> str: ...
    def decode_bytes(self, ids: Iterable[int]) -> bytes: ...
    def decode_batch(
        self,
        batch: Iterable[Iterable[int]],
        *,
        errors: str = "replace",
        threads: int | None = None,
    ) -> list[str]: ...
    def decode_batch_bytes(
        self, batch: Iterable[Iterable[int]], *, threads: int | None = None
    ) -> list[bytes]: ...
    def token_bytes(self, id: int) -> bytes: ...  # noqa: A002 - the word is ours.
    @property
    def vocab_size(self) -> int: ...
    @property
    def pattern(self) -> str: ...
    @property
    def specials(self) -> dict[str, int]: ...
    @property
    def made_by(self) -> dict[str, str]: ...
    def ranks(self) -> dict[bytes, int]: ...
    def merges(self) -> dict[tuple[int, int], int]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Encoder:
    def __new__(cls, engine: TokenizerCore, allowed_special: _AllowedSpecial) -> Self: ...
    def push(self, text: _Text) -> list[int]: ...
    def push_count(self, text: _Text, threads: int | None) -> int: ...
    def push_array(self, text: _Text, threads: int | None) -> NDArray[np.uint32]: ...
    def finish(self) -> list[int]: ...
    @property
    def pending(self) -> bytes: ...
    @property
    def pending_bytes_max(self) -> int | None: ...
    @property
    def why_unbounded(self) -> str | None: ...

@final
class Decoder:
    def __new__(
        cls,
        engine: TokenizerCore,
        errors: str,
        graphemes: bool,
        stops: Sequence[str],
        rewind_max: int,
    ) -> Self: ...
    def push(self, ids: int | Iterable[int]) -> str: ...
    def finish(self) -> str: ...
    def rewind(self, n: int) -> int: ...
    @property
    def stopped(self) -> str | None: ...

@final
class PhraseFinder:
    def __new__(
        cls, engine: TokenizerCore, phrases: Sequence[_Text], sample: Sequence[int]
    ) -> Self: ...
    def find(
        self, ids: Sequence[int], start: int, stop: int
    ) -> list[tuple[int, int, int, int]]: ...
    def count(self, ids: Sequence[int], start: int, stop: int) -> list[int]: ...

@final
class Finder:
    def __new__(cls, needle: object, whole_word: bool, ignore_case: bool) -> Self: ...
    def matches(
        self,
        text: object,
        start: int,
        end: int,
        overlapping: bool,
        from_end: bool,
        limit: int,
    ) -> list[tuple[int, int]]: ...
    def count(self, text: object, start: int, end: int, overlapping: bool) -> int: ...

@final
class FinderMany:
    def __new__(cls, needles: Sequence[object], whole_word: bool, ignore_case: bool) -> Self: ...
    def matches(
        self, text: object, start: int, overlapping: bool, limit: int
    ) -> list[tuple[int, int, int]]: ...
    def count(self, text: object, start: int, overlapping: bool) -> int: ...

@final
class Counter:
    def __new__(
        cls,
        pattern: str,
        threads: int,
        memory: int | None,
        folder: str,
        validation: float,
        by_function: bool = False,
    ) -> Self: ...
    def add(self, texts: Texts, weight: int) -> None: ...
    def add_pieces(self, texts: Sequence[tuple[bytes, Sequence[int]]], weight: int) -> None: ...
    def held(self) -> tuple[int, int]: ...
    def last_safe_cut(self, text: bytes) -> int: ...
    def finish(self, texts: int) -> tuple[RawCounts, RawCounts]: ...

@final
class Texts:
    def __new__(cls, texts: Sequence[_Text]) -> Self: ...

@final
class RawCounts:
    @staticmethod
    def read(paths: Sequence[str], folder: str) -> RawCounts: ...
    def write(self, path: str) -> None: ...
    @property
    def pattern(self) -> str: ...
    @property
    def totals(self) -> tuple[int, int, int]: ...
    def most_common(self, count: int) -> list[tuple[bytes, int]]: ...
    def tokens(self, engine: TokenizerCore) -> int: ...
    def learn(
        self,
        merges_max: int,
        piece_count_min: int,
        token_bytes_max: int | None,
        memory: int | None,
        initial: tuple[TokenizerCore, int] | None,
        validation: tuple[RawCounts, Sequence[int]] | None,
        report: Callable[[int, bytes, list[tuple[int, int]]], object] | None,
    ) -> tuple[RawMerges, int, tuple[int, int]]: ...

@final
class RawMerges:
    def __new__(cls) -> Self: ...
    def __len__(self) -> int: ...
    def first(self, count: int) -> list[tuple[int, int, int]]: ...

@final
class ZstdReader:
    def __new__(cls, path: str | PathLike[str]) -> Self: ...
    def read(self, size: int) -> bytes: ...
