"""`EncoderCore`: the methods that `Tokenizer` and `SplitTokenizer` share, on top of the engine's.

Each method converts its arguments and calls one function of the engine. A method that needs a
pattern is in `zeton.tokenizer` instead.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from zeton._engine import Decoder, TokenizerCore, find_completions, to_file
from zeton._engine import with_specials as engine_with_specials
from zeton.errors import ArgumentError, ArgumentTypeError, FileError, SpecialError, file_error
from zeton.text.fit import AllowedSpecial, AnyText, check_number
from zeton.work.files import require_path, write_whole

if TYPE_CHECKING:
    from zeton.display.tokens import TokenView
    from zeton.pattern.engine_info import Info
    from zeton.text.explain import Explanation
    from zeton.text.offsets import Aligned, Located, Token, Unit
    from zeton.work.npy_file import Dtype

__all__ = ["FILE_NAME", "EncoderCore", "check_ranks", "check_specials", "target_of"]

FILE_NAME = "tokenizer.zeton"
"""The name of a tokenizer's file in a folder."""

SUFFIX = ".zeton"


class EncoderCore(TokenizerCore):
    """The shared part of all tokenizers; it is not made by itself."""

    __slots__ = ()

    @classmethod
    def _of(cls, engine: TokenizerCore) -> Self:
        return super().__new__(cls, engine)

    def _like(self, engine: TokenizerCore) -> Self:
        """Return a tokenizer of the same kind with another engine."""
        return self._of(engine)

    def encode_with_offsets(
        self,
        text: AnyText,
        *,
        unit: "Unit | None" = None,
        allowed_special: AllowedSpecial = None,
    ) -> "Located":
        """Encode a text; return the ids and the range of each in the text.

        Ranges are in characters of a `str` and in bytes of `bytes`, unless `unit` is "byte" or
        "character". Tokens that share a character all have the whole of it in their range.

        >>> import zeton
        >>> zeton.pretrained("gpt2").encode_with_offsets("né")
        Located(ids=[77, 2634], offsets=[(0, 1), (1, 2)])
        """
        from zeton.text.offsets import locate  # noqa: PLC0415 - few programs need it.

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

        This encodes the text. For many positions call `encode_with_offsets` once, and `token_at`
        of its result.
        """
        located = self.encode_with_offsets(text, unit=unit, allowed_special=allowed_special)
        return located.token_at(position)

    def align(
        self,
        text: AnyText,
        *,
        other: "EncoderCore",
        unit: "Unit | None" = None,
        allowed_special: AllowedSpecial = None,
    ) -> "list[Aligned]":
        """Cut a text at every border between tokens that this tokenizer and another share."""
        from zeton.text.offsets import align  # noqa: PLC0415

        return align(text, self, other, unit=unit, allowed_special=allowed_special)

    def explain(
        self, text: str | bytes, *, allowed_special: AllowedSpecial = None
    ) -> "Explanation":
        """Return the pieces of a text, the rule that made each, and every merge in order.

        Positions are in characters of a `str` and in bytes of `bytes`.

        >>> import zeton
        >>> zeton.pretrained("gpt2").explain("It's").pieces[1].rule
        'contraction'
        """
        from zeton.text.explain import explained  # noqa: PLC0415

        return explained(self, text, allowed_special)

    def show(
        self, text: str | bytes, *, allowed_special: AllowedSpecial = None, tokens_max: int = 1000
    ) -> "TokenView":
        """Return a picture of a text's tokens, coloured in a notebook, with bars in a terminal.

        At most `tokens_max` tokens are shown; the picture says how many more there are.

        >>> import zeton
        >>> zeton.pretrained("gpt2").show("low lowest")
        low|␣lowest
        2 tokens, 10 bytes
        """
        from zeton.display.tokens import view  # noqa: PLC0415

        return view(self, text, allowed_special=allowed_special, tokens_max=tokens_max)

    def completions(self, prefix: str | bytes) -> list[int]:
        """Return the ids of all tokens that begin with a prefix, rising, specials left out."""
        return find_completions(self, prefix)

    def decoder(
        self,
        *,
        errors: str = "replace",
        graphemes: bool = False,
        stop: str | Iterable[str] = (),
        rewind_max: int = 1024,
    ) -> Decoder:
        """Return a stream from ids to text: `push` ids as they come, get whole characters.

        With `graphemes` the stream returns whole grapheme clusters. A `stop` string ends the text
        before it, also if it spans tokens. The last `rewind_max` ids can be taken back.

        >>> import zeton
        >>> decoder = zeton.pretrained("gpt2").decoder()
        >>> decoder.push(77), decoder.push([2634]), decoder.finish()
        ('n', 'é', '')
        """
        if not isinstance(stop, Iterable) or isinstance(stop, (bytes, bytearray)):
            raise ArgumentTypeError(
                f"stop is a str or a list of strs, not {type(stop).__name__}; for example "
                "stop=['\\n\\n']"
            )
        stops = [stop] if isinstance(stop, str) else list(stop)
        for each in stops:
            if not isinstance(each, str):
                kind = type(each).__name__
                raise ArgumentTypeError(f"a stop string is a str, not {kind}; decode it first")
            if not each:
                raise ArgumentError("a stop string is empty; give at least one character")
        check_number("rewind_max", rewind_max, 0)
        return Decoder(self, errors, graphemes, stops, rewind_max)

    def decode_file(
        self,
        source: str | os.PathLike[str],
        *,
        target: str | os.PathLike[str],
        dtype: "Dtype | None" = None,
    ) -> int:
        """Decode a file of ids, as `encode_file` writes it; return the number of bytes of text."""
        from zeton.text.id_files import decode_file  # noqa: PLC0415

        return decode_file(self, source, target, dtype=dtype)

    @property
    def info(self) -> "Info":
        """The engine that runs the pattern, and the reason for it."""
        from zeton.pattern.engine_info import read_info  # noqa: PLC0415

        return read_info(self)

    def with_specials(self, specials: Iterable[str] | Mapping[str, int]) -> Self:
        """Return a tokenizer with the same tokens and more specials.

        Names get the ids after the last one, in the order given. A dict from name to id can also
        fill a gap between ids.

        >>> import zeton
        >>> tok = zeton.pretrained("cl100k_base").with_specials(["<|im_start|>", "<|im_end|>"])
        >>> tok.specials["<|im_end|>"], tok.encode("<|im_end|>", allowed_special="all")
        (100278, [100278])
        """
        added = self._new_specials(specials)
        everything = [*self.specials.items(), *added.items()]
        return self._like(engine_with_specials(self, everything, self.made_by))

    def _new_specials(self, specials: Iterable[str] | Mapping[str, int]) -> dict[str, int]:
        """Return specials with their ids; refuse names and ids that are taken."""
        if isinstance(specials, Mapping):
            added = check_specials(specials)
        else:
            names = _names(specials)
            added = {name: self.vocab_size + at for at, name in enumerate(names)}
        present = self.specials
        ids: dict[int, str] = {}
        for name, number in added.items():
            if name in present:
                raise SpecialError(
                    f"the tokenizer has the special {name!r} already, with id {present[name]}; "
                    "leave it out"
                )
            if number in ids:
                raise SpecialError(
                    f"the specials {ids[number]!r} and {name!r} both have id {number}; "
                    "give each an id of its own"
                )
            ids[number] = name
            taken = self._bytes_of(number)
            if taken is not None:
                free = self.vocab_size + len(added)
                raise SpecialError(
                    f"id {number} for the special {name!r} is taken by {taken!r}; give an id "
                    f"that is free, such as {free}, or names alone"
                )
        return added

    def _bytes_of(self, number: int) -> bytes | None:
        """Return the bytes of an id, or None if it is free."""
        try:
            return self.token_bytes(number)
        except (KeyError, ValueError):
            return None

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a `.zeton` file, or `tokenizer.zeton` into a folder; return the file's path.

        The file appears whole or not at all.
        """
        target = target_of(path)
        write_whole(target, to_file(self))
        return target

    def _repr_html_(self) -> str:
        from zeton.display.cards import tokenizer_card  # noqa: PLC0415

        return tokenizer_card(self)

    def __dir__(self) -> list[str]:
        """Name the public members."""
        return sorted(name for name in object.__dir__(self) if not name.startswith("_"))

    def __hash__(self) -> int:
        """Hash the fields that are cheap to read; equal tokenizers agree in them."""
        return hash((self.pattern, self.vocab_size, tuple(self.specials.items())))

    def __copy__(self) -> Self:
        """Return itself, because it never changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return itself, because it never changes."""
        return self


def check_ranks(ranks: object) -> dict[bytes, int]:
    """Return tokens with their ranks as a dict, or refuse a value that is no mapping."""
    if not isinstance(ranks, Mapping):
        raise ArgumentTypeError(
            f"ranks is a dict from the bytes of a token to its rank, not {type(ranks).__name__}; "
            "zeton.load reads a file, zeton.pretrained has published ones"
        )
    return dict(ranks)


def check_specials(specials: object) -> dict[str, int]:
    """Return specials as a dict from name to id, or refuse a value that is no dict."""
    if specials is None:
        return {}
    if not isinstance(specials, Mapping):
        raise ArgumentTypeError(
            f"specials is a dict from name to id, not {type(specials).__name__}; for example "
            "{'<|endoftext|>': 50256}"
        )
    for name, number in specials.items():
        if not isinstance(name, str):
            raise ArgumentTypeError(
                f"the name of a special is a str, not {type(name).__name__}: {name!r}"
            )
        if not hasattr(number, "__index__") or isinstance(number, bool):
            raise ArgumentTypeError(
                f"the special {name!r} has the id {number!r}; an id is an int, not "
                f"{type(number).__name__}"
            )
    return {name: number.__index__() for name, number in specials.items()}


def _names(specials: object) -> list[str]:
    """Return the names of specials, or refuse values that are no names."""
    if not isinstance(specials, Iterable) or isinstance(specials, (str, bytes)):
        raise ArgumentTypeError(
            f"specials is a list of names or a dict from name to id, not "
            f"{type(specials).__name__}; for example ['<|im_start|>', '<|im_end|>']"
        )
    names = list(specials)
    check_specials(dict.fromkeys(names, 0))
    for name in names:
        if names.count(name) > 1:
            raise SpecialError(f"the special {name!r} is given {names.count(name)} times")
    return names


def target_of(path: str | os.PathLike[str]) -> Path:
    """Return the file that `save` would write, and make its folder.

    A path that cannot be written is refused here, so that a long training does not end in it.
    """
    target = require_path(path)
    if target.suffix != SUFFIX:
        if target.suffix[1:2].isalpha() and not target.exists():
            raise FileError(
                f"{target} cannot be written: a tokenizer is saved as a {SUFFIX} file, not as "
                f"{target.suffix}; give {target.with_suffix(SUFFIX)}, or a folder without a suffix"
            )
        target /= FILE_NAME
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir() or not os.access(target.parent, os.W_OK):
            raise PermissionError(None, "it is a folder, or its folder is not writable")
    except (FileExistsError, NotADirectoryError):
        message = f"{target.parent} is a file; give a folder, or a name that ends in {SUFFIX}"
        raise FileError(message) from None
    except (OSError, ValueError) as error:
        raise file_error(target, "written", error) from None
    return target
