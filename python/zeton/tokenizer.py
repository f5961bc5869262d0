"""`Tokenizer` and `load`: a vocabulary with a pattern, and its file."""

import os
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Self, overload

from zeton._engine import (
    DEFAULT_PATTERN,
    FILE_BYTES_MAX,
    VERSION,
    Encoder,
    from_ranks,
    to_file,
)
from zeton.encoder_core import FILE_NAME, EncoderCore, check_ranks, check_specials, target_of
from zeton.errors import ArgumentTypeError, Error, MissingFileError, PatternError
from zeton.extras import import_extra
from zeton.pattern.spec import is_rules, pattern_text, plain_pattern
from zeton.text.fit import AllowedSpecial, AnyText, Border, Chunk, Side
from zeton.text.fit import chunk as cut_into_chunks
from zeton.text.fit import truncate as cut_to_fit
from zeton.work.cache_folder import from_content
from zeton.work.files import read_whole, require_path

if TYPE_CHECKING:
    import tiktoken

    from zeton.pattern.grammar import Grammar
    from zeton.rules import Rules
    from zeton.split_tokenizer import SplitTokenizer
    from zeton.splitting import Split
    from zeton.text.offsets import Healed
    from zeton.work.npy_file import Dtype

__all__ = [
    "DEFAULT_PATTERN",
    "FILE_NAME",
    "Tokenizer",
    "load",
    "require_tokenizer",
    "target_of",
]


class Tokenizer(EncoderCore):
    """A BPE tokenizer: text becomes ids, and ids become text.

    >>> import zeton
    >>> tok = zeton.train(["low lower lowest"], vocab_size=260, specials=["<|end|>"])
    >>> tok.encode("lower", append="<|end|>")
    [257, 101, 114, 259]
    >>> tok.decode([257, 101, 114, 259])
    'lower<|end|>'

    The calls that most programs need:

        tok.encode(text)                     text -> list of ids
        tok.decode(ids)                      ids -> text
        zeton.train(texts, vocab_size=n)     texts -> tokenizer
        tok.save("my.zeton")                 tokenizer -> file
        zeton.load("my.zeton")               file -> tokenizer
        zeton.pretrained("cl100k_base")      published tokenizers

    Further methods, by task:

        many texts     encode_batch, encode_batch_array, decode_batch, decode_batch_bytes
        arrays, bytes  encode_array, decode_bytes, token_bytes
        counting       count, count_batch, fits
        cutting        truncate, chunk, split
        positions      encode_with_offsets, token_at, align
        streams        encoder, decoder
        files          encode_file, decode_file
        prompts        heal, completions
        insight        show, explain, info, grammar, rules, pattern
        vocabulary     vocab_size, ranks, merges, specials, with_specials, made_by, digest
        elsewhere      as_tiktoken

    A tokenizer never changes, so that threads may share it. `Tokenizer(ranks)` makes one of tokens
    with their ranks.
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
        """Make a tokenizer of tokens with their ranks, which are also their ids.

        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
        >>> Tokenizer(ranks).encode("lower")
        [257, 101, 114]
        """
        named = list(check_specials(specials).items())
        chosen = pattern_text(pattern, rules)
        split_by = DEFAULT_PATTERN if chosen is None else chosen
        return cls._of(from_ranks(check_ranks(ranks), split_by, named, {"version": VERSION}))

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
        """Return the longest part of a text that encodes to at most `n` tokens.

        `side` names the part to drop: "end", "start" or "middle". For "middle" the head is the
        longest with half of the tokens, and the tail the longest that fits behind the head and
        `mark`. `at` names the border of the cut: "character", "grapheme", "piece", "word",
        "sentence", "line" or "paragraph".

        >>> import zeton
        >>> zeton.pretrained("gpt2").truncate("One two. Three four.", n=4, at="sentence")
        'One two. '
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
        """Cut a text into chunks of at most `n` tokens, each as long as possible.

        A chunk ends at a border, named by `at` with the values of `truncate`. If no such unit
        fits, it ends at a finer border. A chunk starts with up to `overlap` tokens of the chunk
        before it. Without an overlap the chunks, joined, are the text.

        >>> import zeton
        >>> [chunk.text for chunk in zeton.pretrained("gpt2").chunk("one two three", n=2)]
        ['one two', ' three']
        """
        return cut_into_chunks(
            self, text, n, overlap=overlap, at=at, allowed_special=allowed_special
        )

    def heal(self, text: str | bytes, *, allowed_special: AllowedSpecial = None) -> "Healed":
        """Prepare a prompt that ends inside a token (token healing).

        The result has the `ids` that no continuation changes, the `rest` of the prompt, and the
        ids that are `allowed` next: each starts some continuation, and each continuation starts
        with one. Give a model `ids`, and restrict its next id to `allowed`.

        >>> import zeton
        >>> healed = zeton.pretrained("gpt2").heal("http:")
        >>> healed.ids, healed.rest
        ([4023], b':')
        """
        from zeton.text.offsets import healed  # noqa: PLC0415

        return healed(self, text, allowed_special)

    def encoder(self, *, allowed_special: AllowedSpecial = None) -> Encoder:
        """Return a stream from text to ids: `push` text as it comes, then `finish`.

        `push` returns the ids that no later text can change. The stream buffers the text after the
        last guaranteed boundary, usually the last word. `pending` is that text and
        `pending_bytes_max` its bound in bytes. For a pattern without a bound, `why_unbounded`
        gives the reason.

        >>> import zeton
        >>> encoder = zeton.pretrained("gpt2").encoder()
        >>> encoder.push("Hello wor"), encoder.push("ld"), encoder.finish()
        ([15496], [], [995])
        """
        return Encoder(self, allowed_special)

    def encode_file(
        self,
        source: str | os.PathLike[str],
        *,
        target: str | os.PathLike[str],
        dtype: "Dtype | None" = None,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,
    ) -> int:
        """Encode a file of any size into a file of ids; return the number of ids.

        `source` may be compressed: `.gz`, `.zst` or `.xz`. A `target` that ends in `.npy` is a
        NumPy array; any other is bare little-endian numbers. `dtype` is "uint16" if every id fits,
        else "uint32".
        """
        from zeton.text.id_files import encode_file  # noqa: PLC0415

        return encode_file(
            self, source, target, dtype=dtype, allowed_special=allowed_special, threads=threads
        )

    @property
    def rules(self) -> "Rules | None":
        """The rules that split texts, or None if a pattern splits them."""
        from zeton.rules import Rules  # noqa: PLC0415 - few programs have any.

        return Rules.of(self)

    @property
    def grammar(self) -> "Grammar | None":
        """The meaning of the pattern and its table, or None for a pattern outside the family."""
        from zeton.pattern.grammar import read_grammar  # noqa: PLC0415 - few programs ask.

        return read_grammar(self)

    @property
    def digest(self) -> str:
        """The SHA-256 of the tokenizer's file, in hexadecimal digits."""
        return sha256(to_file(self)).hexdigest()

    def as_tiktoken(self, *, name: str = "zeton") -> "tiktoken.Encoding":
        """Return the same tokenizer as a `tiktoken.Encoding`; tiktoken must be installed."""
        encoding: tiktoken.Encoding = import_extra("tiktoken", "as_tiktoken").Encoding(
            name,
            pat_str=plain_pattern(self.pattern, "tiktoken"),
            mergeable_ranks=self.ranks(),
            special_tokens=self.specials,
        )
        return encoding

    def __repr__(self) -> str:
        """Return the size, the pattern and a few specials."""
        specials = f", specials={list(self.specials)}" if len(self.specials) < 4 else ""
        pattern = self.pattern if len(self.pattern) <= 40 else self.pattern[:39] + "…"
        name = "rules" if is_rules(self.pattern) else "pattern"
        return f"<zeton.Tokenizer vocab_size={self.vocab_size}, {name}={pattern!r}{specials}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the bytes of the file; reading them runs no code."""
        return _from_file, (type(self), to_file(self))


# `help` groups members by the class that holds them, so the inherited ones are entered here too.
# Native methods stay the same native objects, so that a call costs the same.
for _name in dir(EncoderCore):
    if not _name.startswith("_") and _name not in vars(Tokenizer):
        _owner = next(kind for kind in EncoderCore.__mro__ if _name in vars(kind))
        setattr(Tokenizer, _name, vars(_owner)[_name])


@overload
def load(path: str | os.PathLike[str]) -> Tokenizer: ...
@overload
def load(path: str | os.PathLike[str], *, split: None) -> Tokenizer: ...
@overload
def load(path: str | os.PathLike[str], *, split: "Split") -> "SplitTokenizer": ...
def load(
    path: str | os.PathLike[str], *, split: "Split | None" = None
) -> "Tokenizer | SplitTokenizer":
    """Read a tokenizer from a `.zeton` file, or from the one in a folder.

    Reading runs no code and opens no socket. A tokenizer that was trained with `split=`, a Python
    function, must be given the function again.
    """
    source = require_path(path)
    if os.path.isdir(source):  # noqa: PTH112 - False, not an error, for a path without access.
        source /= FILE_NAME
    try:
        content = read_whole(source, FILE_BYTES_MAX)
    except MissingFileError as error:
        from zeton.pretrained import names_of_path  # noqa: PLC0415 - it imports this module.

        raise MissingFileError(f"{error}{names_of_path(path)}") from None
    try:
        if split is not None:
            from zeton.split_tokenizer import read_file  # noqa: PLC0415 - it imports this module.

            return read_file(content, split)
        return Tokenizer._of(from_content(content))  # noqa: SLF001 - our own constructor.
    except Error as error:
        raise type(error)(f"{source}: {error}{_other_format(content)}") from None


def require_tokenizer(value: object, purpose: str) -> Tokenizer:
    """Return a tokenizer with a pattern or rules, or refuse any other value in one line."""
    if isinstance(value, Tokenizer):
        return value
    if isinstance(value, EncoderCore):
        raise PatternError(
            f"{purpose} needs a pattern or rules; {value!r} splits by a Python function, which may "
            "look at all of a text"
        )
    raise ArgumentTypeError(
        f"{purpose} needs a zeton.Tokenizer, not {type(value).__name__}; zeton.load reads a file, "
        "zeton.pretrained has published ones"
    )


def _other_format(content: bytes) -> str:
    """Return the way out for a file of another library."""
    start = content[:4096].lstrip()
    if start.startswith(b"{") and (b'"model"' in content or b'"added_tokens"' in content):
        return (
            "; it looks like a tokenizer.json of Hugging Face, which zeton does not read: use the "
            "package tokenizers for it, or zeton.pretrained for a published tokenizer"
        )
    first = start.split(b"\n", 1)[0].split()
    if len(first) == 2 and first[1].isdigit():
        return (
            "; it looks like a .tiktoken file: zeton.tiktoken.load.load_tiktoken_bpe reads its "
            "ranks, and zeton.Tokenizer(ranks, pattern=…, specials=…) makes the tokenizer"
        )
    return ""


def _from_file(cls: type[Tokenizer], content: bytes) -> Tokenizer:
    return cls._of(from_content(content, keep=False))
