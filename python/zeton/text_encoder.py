"""`TextEncoder`: the interface of every tokenizer, split by a pattern or by a function.

`Tokenizer` and `SplitTokenizer` satisfy it. A function that needs no more takes a `TextEncoder`:

>>> import zeton
>>> def tokens_a_character(tok: TextEncoder, text: str) -> float:
...     return tok.count(text) / len(text)
>>> tok = zeton.pretrained("cl100k_base")
>>> tokens_a_character(tok, "tokenization")
0.16666666666666666
>>> isinstance(tok, TextEncoder)
True
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, TypeAlias, runtime_checkable

from zeton.text.fit import AllowedSpecial

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zeton._engine import Decoder
    from zeton.display.tokens import TokenView
    from zeton.pattern.engine_info import Info
    from zeton.text.explain import Explanation
    from zeton.work.npy_file import Dtype

__all__ = ["Text", "TextEncoder"]

Text: TypeAlias = str | bytes | bytearray | memoryview
"""A text: characters, or bytes that are nearly always UTF-8."""


@runtime_checkable
class TextEncoder(Protocol):
    """Text becomes ids, and ids become text.

    `Tokenizer` has more: it cuts texts, streams them and encodes files, for which a pattern is
    needed.
    """

    def encode(
        self,
        text: Text,
        *,
        allowed_special: AllowedSpecial = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
    ) -> list[int]:
        """Encode a text into a list of ids."""

    def encode_array(
        self, text: Text, *, allowed_special: AllowedSpecial = None, threads: int | None = None
    ) -> "NDArray[np.uint32]":
        """Encode a text into a NumPy array."""

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: AllowedSpecial = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
        threads: int | None = None,
    ) -> list[list[int]]:
        """Encode many texts into lists of ids."""

    def encode_batch_array(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,
    ) -> "tuple[NDArray[np.uint32], NDArray[np.uint64]]":
        """Encode many texts into one array; text i has `ids[offsets[i]:offsets[i + 1]]`."""

    def count(
        self,
        text: Text,
        *,
        limit: int | None = None,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,
    ) -> int:
        """Return the number of ids of a text, or `limit` if it has more."""

    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,
    ) -> list[int]:
        """Return the number of ids of each of many texts."""

    def fits(self, text: Text, *, n: int, allowed_special: AllowedSpecial = None) -> bool:
        """Return whether a text has at most `n` ids."""

    def split(self, text: Text) -> list[bytes]:
        """Return the pieces of a text as bytes."""

    def decode(self, ids: Iterable[int], *, errors: str = "replace") -> str:
        """Decode ids into a str."""

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of ids."""

    def decode_batch(
        self,
        batch: Iterable[Iterable[int]],
        *,
        errors: str = "replace",
        threads: int | None = None,
    ) -> list[str]:
        """Decode many lists of ids into strs."""

    def decode_batch_bytes(
        self, batch: Iterable[Iterable[int]], *, threads: int | None = None
    ) -> list[bytes]:
        """Return the bytes of many lists of ids."""

    def decoder(
        self,
        *,
        errors: str = "replace",
        graphemes: bool = False,
        stop: str | Iterable[str] = (),
        rewind_max: int = 1024,
    ) -> "Decoder":
        """Return a stream from ids to text."""

    def decode_file(
        self,
        source: str | os.PathLike[str],
        *,
        target: str | os.PathLike[str],
        dtype: "Dtype | None" = None,
    ) -> int:
        """Decode a file of ids."""

    def explain(
        self, text: str | bytes, *, allowed_special: AllowedSpecial = None
    ) -> "Explanation":
        """Return the pieces of a text, the rule that made each, and every merge."""

    def show(
        self, text: str | bytes, *, allowed_special: AllowedSpecial = None, tokens_max: int = 1000
    ) -> "TokenView":
        """Return a picture of a text's tokens, for a notebook or a terminal."""

    def completions(self, prefix: str | bytes) -> list[int]:
        """Return the ids of all tokens that begin with a prefix, rising."""

    def token_bytes(self, id: int) -> bytes:  # noqa: A002 - the word is ours.
        """Return the bytes of one id."""

    def ranks(self) -> dict[bytes, int]:
        """Return all tokens with their ranks, which are their ids."""

    def merges(self) -> dict[tuple[int, int], int]:
        """Return all merges: (left id, right id) to the merged id."""

    @property
    def vocab_size(self) -> int:
        """The highest id plus one."""

    @property
    def pattern(self) -> str:
        """The pattern, or the text that stands for rules or a function in its place."""

    @property
    def specials(self) -> dict[str, int]:
        """The specials, name to id."""

    @property
    def made_by(self) -> dict[str, str]:
        """The notes in the tokenizer's file."""

    @property
    def info(self) -> "Info":
        """The engine that splits texts, and the reason for it."""

    def with_specials(self, specials: Iterable[str] | Mapping[str, int]) -> Self:
        """Return a tokenizer with the same tokens and more specials."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a `.zeton` file; return its path."""
