"""The tokenizer that people hold: encode, decode, save, load."""

import os
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from zeton._engine import (
    DEFAULT_PATTERN,
    FILE_BYTES_MAX,
    VERSION,
    Decoder,
    Encoder,
    TokenizerCore,
    find_completions,
    from_ranks,
    to_file,
)
from zeton.errors import Error, FileError, MissingFileError, file_error
from zeton.pattern.spec import is_rules, pattern_text, plain_pattern
from zeton.text.fit import AllowedSpecial, AnyText, Border, Chunk, Side
from zeton.text.fit import chunk as cut_into_chunks
from zeton.text.fit import truncate as cut_to_fit
from zeton.work.cache_folder import from_content
from zeton.work.files import given, read_whole, write_whole

if TYPE_CHECKING:
    import tiktoken

    from zeton.pattern.engine_info import Info
    from zeton.pattern.grammar import Grammar
    from zeton.rules import Rules
    from zeton.splitting import Split
    from zeton.text.explain import Explanation
    from zeton.text.offsets import Aligned, Healed, Located, Token, Unit
    from zeton.work.numpy_file import Dtype

__all__ = ["DEFAULT_PATTERN", "FILE_NAME", "Tokenizer", "load", "target_of"]

FILE_NAME = "tokenizer.zeton"
"""What a tokenizer's file is called in a folder."""


class Tokenizer(TokenizerCore):
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
        pattern: "str | Rules | None" = None,
        rules: "Rules | None" = None,
        specials: Mapping[str, int] | None = None,
    ) -> Self:
        """Make a tokenizer of tokens with their ranks, which are also their ids."""
        if not isinstance(specials or {}, Mapping):
            raise TypeError("specials maps names to ids; give a dict")
        named = list((specials or {}).items())
        given = pattern_text(pattern, rules)
        chosen = DEFAULT_PATTERN if given is None else given
        return cls._of(from_ranks(dict(ranks), chosen, named, {"version": VERSION}))

    @classmethod
    def _of(cls, engine: TokenizerCore) -> Self:
        return super().__new__(cls, engine)

    def _like(self, engine: TokenizerCore) -> Self:
        return self._of(engine)

    def truncate(
        self,
        text: AnyText,
        *,
        n: int,
        side: Side = "end",
        at: Border = "character",
        mark: AnyText | None = None,
        allowed_special: AllowedSpecial = None,
    ) -> AnyText:
        """Return the longest part of a text whose own encoding has at most `n` tokens.

        `side` is what is cut away: the "end", the "start", or the "middle". Then the head is the
        longest with half of the tokens, and the tail the longest that fits behind it and `mark`.
        A cut is `at` a border: between "character"s, "grapheme"s, "piece"s, "word"s, "sentence"s,
        "line"s or "paragraph"s.
        """
        return cut_to_fit(
            self, text, n, side=side, at=at, mark=mark, allowed_special=allowed_special
        )

    def chunk(
        self,
        text: AnyText,
        *,
        n: int,
        overlap: int = 0,
        at: Border = "piece",
        allowed_special: AllowedSpecial = None,
    ) -> list[Chunk[AnyText]]:
        """Cut a text into chunks of at most `n` tokens, as long as may be; joined, they are it.

        A chunk ends `at` a border, as in `truncate`; where no such unit fits, at a finer one. It
        begins with up to `overlap` tokens of the one before.
        """
        return cut_into_chunks(
            self, text, n, overlap=overlap, at=at, allowed_special=allowed_special
        )

    def encode_with_offsets(
        self,
        text: AnyText,
        *,
        unit: "Unit | None" = None,
        allowed_special: AllowedSpecial = None,
    ) -> "Located":
        """Encode a text, and say where in it each id begins and ends.

        That is in characters of a `str` and in bytes of `bytes`, unless `unit` is "byte" or
        "character". Tokens that have only some bytes of a character share all of it.
        """
        from zeton.text.offsets import locate  # noqa: PLC0415

        return locate(self, text, unit=unit, allowed_special=allowed_special)

    def token_at(
        self,
        text: AnyText,
        *,
        position: int,
        unit: "Unit | None" = None,
        allowed_special: AllowedSpecial = None,
    ) -> "Token":
        """Return the token at a position of a text.

        To ask many times, ask what `encode_with_offsets` returns.
        """
        located = self.encode_with_offsets(text, unit=unit, allowed_special=allowed_special)
        return located.token_at(position)

    def align(
        self,
        text: AnyText,
        *,
        other: "Tokenizer",
        unit: "Unit | None" = None,
        allowed_special: AllowedSpecial = None,
    ) -> "list[Aligned]":
        """Cut a text wherever this tokenizer and another both have a border between tokens."""
        from zeton.text.offsets import align  # noqa: PLC0415

        return align(text, self, other, unit=unit, allowed_special=allowed_special)

    def explain(
        self, text: str | bytes, *, allowed_special: AllowedSpecial = None
    ) -> "Explanation":
        """Say how a text becomes its ids: its pieces, the rule that made each, and every merge.

        Places are in characters of a `str` and in bytes of `bytes`.
        """
        from zeton.text.explain import explained  # noqa: PLC0415 - few programs ask.

        return explained(self, text, allowed_special)

    def completions(self, prefix: str | bytes) -> list[int]:
        """Return the ids of all tokens that begin with a prefix, rising; specials are none."""
        return find_completions(self, prefix)

    def heal(self, text: str | bytes, *, allowed_special: AllowedSpecial = None) -> "Healed":
        """Take back the ids of a prompt that more text may change, and say which may stand there.

        Give a model the `ids`, and let it choose its next id among those `allowed`: each begins
        some continuation of the prompt, and every continuation begins with one.
        """
        from zeton.text.offsets import healed  # noqa: PLC0415

        return healed(self, text, allowed_special)

    def encoder(self, *, allowed_special: AllowedSpecial = None) -> Encoder:
        """Return a stream: push text as it comes, get the ids that no later text can change.

        The stream buffers the text after the last guaranteed boundary, usually the last word.
        `pending` is that text, `pending_bytes_max` its bound in bytes. For a pattern without a
        bound `why_unbounded` gives the reason.
        """
        return Encoder(self, allowed_special)

    def decoder(
        self,
        *,
        errors: str = "replace",
        graphemes: bool = False,
        stop: str | Iterable[str] = (),
        rewind_max: int = 1024,
    ) -> Decoder:
        """Return a stream: push ids as they come, get whole characters, or whole `graphemes`.

        A `stop` string ends the text before it, also one across tokens. The last `rewind_max` ids
        can be taken back.
        """
        stops = [stop] if isinstance(stop, str) else list(stop)
        for each in stops:
            if not isinstance(each, str):
                raise TypeError(f"a stop is str, not {type(each).__name__}; decode it first")
        return Decoder(self, errors, graphemes, stops, rewind_max)

    def encode_file(
        self,
        source: str | os.PathLike[str],
        *,
        target: str | os.PathLike[str],
        dtype: "Dtype | None" = None,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,
    ) -> int:
        """Encode a file of any size, also `.gz`, `.zst` or `.xz`, and return how many ids it has.

        The ids are in `target`, as a `.npy` array or bare, little-endian: uint16 if every id fits.
        """
        from zeton.text.id_files import encode_file  # noqa: PLC0415

        return encode_file(
            self, source, target, dtype=dtype, allowed_special=allowed_special, threads=threads
        )

    def decode_file(
        self,
        source: str | os.PathLike[str],
        *,
        target: str | os.PathLike[str],
        dtype: "Dtype | None" = None,
    ) -> int:
        """Decode a file of ids as `encode_file` writes it; return how many bytes of text it has."""
        from zeton.text.id_files import decode_file  # noqa: PLC0415

        return decode_file(self, source, target, dtype=dtype)

    @property
    def rules(self) -> "Rules | None":
        """The rules that split texts; None if a pattern does."""
        from zeton.rules import Rules  # noqa: PLC0415 - few programs have any.

        return Rules.of(self)

    @property
    def grammar(self) -> "Grammar | None":
        """What the pattern means, and its transducer; None for a pattern outside the family."""
        from zeton.pattern.grammar import read_grammar  # noqa: PLC0415 - few programs ask.

        return read_grammar(self)

    @property
    def info(self) -> "Info":
        """How the pattern is run, and why."""
        from zeton.pattern.engine_info import read_info  # noqa: PLC0415 - few programs ask.

        return read_info(self)

    @property
    def digest(self) -> str:
        """The SHA-256 of the tokenizer's file, in hexadecimal digits."""
        return sha256(to_file(self)).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a `.zeton` file, or `tokenizer.zeton` into a folder; return where it is.

        The file appears whole or not at all.
        """
        target = target_of(path)
        write_whole(target, to_file(self))
        return target

    def as_tiktoken(self, *, name: str = "zeton") -> "tiktoken.Encoding":
        """Return the same tokenizer as tiktoken's own class, where tiktoken is installed."""
        import tiktoken  # noqa: PLC0415

        return tiktoken.Encoding(
            name,
            pat_str=plain_pattern(self.pattern, "tiktoken"),
            mergeable_ranks=self.ranks(),
            special_tokens=self.specials,
        )

    def __repr__(self) -> str:
        """Say what tells tokenizers apart at a glance."""
        specials = f", specials={list(self.specials)}" if len(self.specials) < 4 else ""
        pattern = self.pattern if len(self.pattern) <= 40 else self.pattern[:39] + "…"
        name = "rules" if is_rules(self.pattern) else "pattern"
        return f"<zeton.Tokenizer vocab_size={self.vocab_size}, {name}={pattern!r}{specials}>"

    def __hash__(self) -> int:
        """Hash what is cheap to read; equal tokenizers agree in it."""
        return hash((self.pattern, self.vocab_size, tuple(self.specials.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the bytes of the file, which run no code when read."""
        return _from_file, (type(self), to_file(self))

    def __copy__(self) -> Self:
        """Return itself: it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself: it never changes."""
        return self


def load(path: str | os.PathLike[str], *, split: "Split | None" = None) -> Tokenizer:
    """Read a `.zeton` file, or the one in a folder. Nothing in it is run, no socket is opened.

    One that was saved without its `split`, a Python function, must be given that again.
    """
    source = given(path)
    if os.path.isdir(source):  # noqa: PTH112 - False, not a refusal, where it may not look.
        source /= FILE_NAME
    try:
        content = read_whole(source, FILE_BYTES_MAX)
    except MissingFileError as error:
        from zeton.pretrained import pretrained_names  # noqa: PLC0415 - it imports this module.

        if os.fspath(path) not in pretrained_names():
            raise
        raise MissingFileError(f"{error}; zeton.pretrained({os.fspath(path)!r}) has it") from None
    try:
        if split is not None:
            from zeton.splitting import read_file  # noqa: PLC0415 - it imports this module.

            return read_file(content, split)
        return Tokenizer._of(from_content(content))  # noqa: SLF001 - our own constructor.
    except Error as error:
        raise type(error)(f"{source}: {error}") from None


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the file that `save` would write, and make its folder: refused now, not after work."""
    target = given(path)
    if target.suffix != ".zeton":
        target /= FILE_NAME
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir() or not os.access(target.parent, os.W_OK):
            raise PermissionError(None, "it is a folder, or its folder is not writable")
    except (FileExistsError, NotADirectoryError):
        message = f"{target.parent} is a file; give a folder, or a name that ends in .zeton"
        raise FileError(message) from None
    except (OSError, ValueError) as error:
        raise file_error(target, "written", error) from None
    return target


def _from_file(cls: type[Tokenizer], content: bytes) -> Tokenizer:
    return cls._of(from_content(content, keep=False))
