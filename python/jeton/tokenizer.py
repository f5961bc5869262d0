"""The tokenizer that people hold: encode, decode, save, load."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from jeton._engine import (
    DEFAULT_PATTERN,
    FILE_BYTES_MAX,
    VERSION,
    Engine,
    from_ranks,
)
from jeton.cache import from_content
from jeton.errors import Error, FileError, MissingFileError, file_error
from jeton.files import given, read_whole, write_whole

if TYPE_CHECKING:
    import numpy as np
    import tiktoken
    from numpy.typing import NDArray

    from jeton.grammar import Grammar
    from jeton.info import Info

__all__ = ["DEFAULT_PATTERN", "FILE_NAME", "Tokenizer", "load", "target_of"]

FILE_NAME = "tokenizer.jeton"
"""What a tokenizer's file is called in a folder."""


class Tokenizer(Engine):
    """A vocabulary, a pattern and specials. It never changes, and threads may share it.

    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
    >>> tok = Tokenizer(ranks, specials={"<|end|>": 258})
    >>> tok.encode("lower", append="<|end|>")
    [257, 101, 114, 258]
    >>> tok.decode([257, 101, 114, 258])
    'lower<|end|>'
    """

    __slots__ = ()

    def __new__(
        cls,
        ranks: Mapping[bytes, int],
        *,
        pattern: str = DEFAULT_PATTERN,
        specials: Mapping[str, int] | None = None,
    ) -> Self:
        """Make a tokenizer of tokens with their ranks, which are also their ids."""
        if not isinstance(specials or {}, Mapping):
            raise TypeError("specials maps names to ids; give a dict")
        named = list((specials or {}).items())
        return cls._of(from_ranks(dict(ranks), pattern, named, {"version": VERSION}))

    @classmethod
    def _of(cls, engine: Engine) -> Self:
        return super().__new__(cls, engine)

    def encode_array(
        self,
        text: str | bytes,
        specials: str | Iterable[str] | None = None,
        threads: int | None = None,
    ) -> "NDArray[np.uint32]":
        """Encode a text into a numpy array, a large one on `threads` (None: one for each core)."""
        import numpy as np  # noqa: PLC0415 - numpy waits until it is needed.

        return np.frombuffer(self.encode_raw(text, specials, threads), dtype=np.uint32)

    def encode_batch_array(
        self,
        texts: Iterable[str | bytes],
        threads: int | None = None,
        specials: str | Iterable[str] | None = None,
    ) -> "tuple[NDArray[np.uint32], NDArray[np.uint64]]":
        """Encode many texts into one array; text i has `ids[offsets[i]:offsets[i + 1]]`."""
        import numpy as np  # noqa: PLC0415

        ids, offsets = self.encode_batch_raw(texts, threads, specials)
        return np.frombuffer(ids, dtype=np.uint32), np.frombuffer(offsets, dtype=np.uint64)

    @property
    def grammar(self) -> "Grammar | None":
        """What the pattern means, and its transducer; None for a pattern outside the family."""
        from jeton.grammar import read_grammar  # noqa: PLC0415 - few programs ask.

        return read_grammar(self)

    @property
    def info(self) -> "Info":
        """How the pattern is run, and why."""
        from jeton.info import read_info  # noqa: PLC0415 - few programs ask.

        return read_info(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a `.jeton` file, or `tokenizer.jeton` into a folder; return where it is.

        The file appears whole or not at all.
        """
        target = target_of(path)
        write_whole(target, self.to_file())
        return target

    def as_tiktoken(self, name: str = "jeton") -> "tiktoken.Encoding":
        """Return the same tokenizer as tiktoken's own class, where tiktoken is installed."""
        import tiktoken  # noqa: PLC0415

        return tiktoken.Encoding(
            name,
            pat_str=self.pattern,
            mergeable_ranks=self.ranks(),
            special_tokens=self.specials,
        )

    def __repr__(self) -> str:
        """Say what tells tokenizers apart at a glance."""
        specials = f", specials={list(self.specials)}" if len(self.specials) < 4 else ""
        pattern = self.pattern if len(self.pattern) <= 40 else self.pattern[:39] + "…"
        return f"<jeton.Tokenizer vocab_size={self.vocab_size}, pattern={pattern!r}{specials}>"

    def __hash__(self) -> int:
        """Hash what is cheap to read; equal tokenizers agree in it."""
        return hash((self.pattern, self.vocab_size, tuple(self.specials.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the bytes of the file, which run no code when read."""
        return _from_file, (type(self), self.to_file())

    def __copy__(self) -> Self:
        """Return itself: it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: it never changes."""
        return self


def load(path: str | os.PathLike[str]) -> Tokenizer:
    """Read a `.jeton` file, or the one in a folder. Nothing in it is run, no socket is opened."""
    source = given(path)
    if os.path.isdir(source):  # noqa: PTH112 - False, not a refusal, where it may not look.
        source /= FILE_NAME
    try:
        content = read_whole(source, FILE_BYTES_MAX)
    except MissingFileError as error:
        from jeton.pretrained import pretrained_names  # noqa: PLC0415 - it imports this module.

        if os.fspath(path) not in pretrained_names():
            raise
        raise MissingFileError(f"{error}; jeton.pretrained({os.fspath(path)!r}) has it") from None
    try:
        return Tokenizer._of(from_content(content))  # noqa: SLF001 - our own constructor.
    except Error as error:
        raise type(error)(f"{source}: {error}") from None


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the file that `save` would write, and make its folder: refused now, not after work."""
    target = given(path)
    if target.suffix != ".jeton":
        target /= FILE_NAME
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir() or not os.access(target.parent, os.W_OK):
            raise PermissionError(None, "it is a folder, or its folder is not writable")
    except (FileExistsError, NotADirectoryError):
        message = f"{target.parent} is a file; give a folder, or a name that ends in .jeton"
        raise FileError(message) from None
    except (OSError, ValueError) as error:
        raise file_error(target, "written", error) from None
    return target


def _from_file(cls: type[Tokenizer], content: bytes) -> Tokenizer:
    return cls._of(from_content(content, keep=False))
