"""A split that is a Python function: for research, and for what no pattern says.

The function takes a text and returns its pieces. What is saved holds no code, so it must be given
again; what the engine does with parts of texts, as streams and cuts, it does not do with a
function, which may look at all of a text.
"""

import json
import operator
import os
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias
from unicodedata import normalize

from zeton._engine import (
    VERSION,
    TokenizerCore,
    encode_pieces,
    explain_piece,
    find_specials,
    from_file,
    from_ranks,
    place_ids,
    to_file,
)
from zeton.errors import FormatError, PatternError, SpecialError, TextError
from zeton.text.fit import AllowedSpecial, AnyText, readable
from zeton.tokenizer import Tokenizer, target_of
from zeton.work.files import write_whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zeton.text.explain import Explanation
    from zeton.text.offsets import Located, Unit

__all__ = ["Split", "SplitTokenizer", "checked", "mark_of", "name_of", "pieces_of", "read_file"]

Split: TypeAlias = Callable[[str], Iterable[str | bytes]]
"""A text becomes pieces; joined, they are the text."""

RULE = "split"
"""The rule that is said to make the pieces of a function."""

SHOWN = 20
"""Characters of a text that a refusal shows."""


def checked(split: Split) -> Split:
    """Return a split, or refuse what is no function."""
    if not callable(split):
        raise TypeError(f"split is a function from a text to its pieces, not {_kind(split)}")
    return split


def name_of(split: Split) -> str:
    """Name a function as its module does; others by their class.

    >>> name_of(name_of), name_of(str.split)
    ('zeton.splitting.name_of', 'str.split')
    """
    named = split if hasattr(split, "__qualname__") else type(split)
    module = getattr(named, "__module__", None)
    name = f"{module}.{named.__qualname__}" if module else named.__qualname__
    return "".join(c if c.isprintable() and c not in '"\\' else "?" for c in name)


def mark_of(split: Split) -> str:
    """Return what stands for a function in place of a pattern."""
    mark = {"rules": 1, "split": name_of(split)}
    return json.dumps(mark, ensure_ascii=False, separators=(",", ":"))


def pieces_of(text: str | bytes, split: Split) -> list[bytes]:
    r"""Split a text by a function; refuse pieces that are not the text.

    The function is given a str. A byte that is not UTF-8 is a lone surrogate in it, as Python's
    surrogateescape has it. It returns strs, or bytes, which may end inside a character.

    >>> pieces_of("one two", lambda text: text.partition(" "))
    [b'one', b' ', b'two']
    >>> pieces_of(b"\xff!", list)
    [b'\xff', b'!']
    """
    return pieces_of_characters(read(text), split)


def pieces_of_characters(text: str, split: Split) -> list[bytes]:
    """Split what `read` has made of a text."""
    content = text.encode("utf-8", "surrogateescape")
    pieces, at = [], 0
    for piece in _returned(split(text), split):
        raw = _raw(piece, split)
        if not content.startswith(raw, at):
            raise _lossy(split, content, at, raw)
        if raw:
            pieces.append(raw)
            at += len(raw)
    if at < len(content):
        raise _lossy(split, content, at, b"")
    return pieces


def read(text: str | bytes) -> str:
    """Return a text as the characters that a split is given."""
    if isinstance(text, str):
        try:
            text.encode()
        except UnicodeEncodeError:
            return readable(text)
        return text
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text).decode("utf-8", "surrogateescape")
    raise TypeError(f"a text is str or bytes, not {_kind(text)}")


def _raw(piece: object, split: Split) -> bytes:
    if isinstance(piece, bytes):
        return piece
    if not isinstance(piece, str):
        raise TypeError(f"the split {name_of(split)} returned a piece of {_kind(piece)}; give str")
    try:
        return piece.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # It has a surrogate that stands for no byte: no text has it.
        return piece.encode("utf-8", "surrogatepass")


def _returned(pieces: object, split: Split) -> Iterator[object]:
    if not isinstance(pieces, Iterable) or isinstance(pieces, (str, bytes)):
        raise TypeError(
            f"the split {name_of(split)} returned {_kind(pieces)}; give a list of pieces"
        )
    return iter(pieces)


def _lossy(split: Split, content: bytes, at: int, piece: bytes) -> PatternError:
    """Say where pieces and text part."""
    both = zip(content[at:], piece, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], both))
    text, pieces = _excerpt(content[at + same :]), _excerpt(piece[same:])
    if normalize("NFC", text) == normalize("NFC", pieces):  # They look alike.
        text, pieces = (
            each.encode("ascii", "backslashreplace").decode() for each in (text, pieces)
        )
    return PatternError(
        f"the split {name_of(split)} does not return the text {_excerpt(content)}: after "
        f"{at + same} bytes the text has {text}, the pieces {pieces}; joined, pieces are the text"
    )


def _excerpt(content: bytes) -> str:
    if not content:
        return "nothing"
    text = content[: 4 * SHOWN].decode("utf-8", "backslashreplace")
    return repr(text if len(text) <= SHOWN else text[: SHOWN - 1] + "…")


def _kind(value: object) -> str:
    return type(value).__name__


def _refusing(what: str) -> Callable[..., NoReturn]:
    """Make a method that says why it cannot be."""

    def refuse(self: "SplitTokenizer", *_: object, **__: object) -> NoReturn:
        raise PatternError(
            f"the split {name_of(self.function)} is a Python function, which may look at all of a "
            f"text; only a tokenizer with a pattern or rules {what}"
        )

    return refuse


class SplitTokenizer(Tokenizer):
    """A tokenizer whose split is a Python function; `zeton.train(texts, size, split=f)` makes it.

    It encodes, counts, locates and explains whole texts; ids, decoding and the vocabulary are as
    ever. No call uses threads: the function is Python's.
    """

    __slots__ = ("_function",)

    _function: Split

    def __new__(
        cls,
        ranks: Mapping[bytes, int],
        *,
        split: Split,
        specials: Mapping[str, int] | None = None,
    ) -> Self:
        """Make a tokenizer of tokens with their ranks, which are also their ids."""
        if not isinstance(specials or {}, Mapping):
            raise TypeError("specials maps names to ids; give a dict")
        named, notes = list((specials or {}).items()), {"version": VERSION}
        mark = mark_of(checked(split))
        return cls._by(from_ranks(dict(ranks), mark, named, notes, by_function=True), split)

    def _like(self, engine: TokenizerCore) -> Self:
        return self._by(engine, self.function)

    @classmethod
    def _by(cls, engine: TokenizerCore, split: Split) -> Self:
        made = cls._of(engine)
        made._function = split  # noqa: SLF001 - our own.
        return made

    @property
    def function(self) -> Split:
        """What splits."""
        return self._function

    # ---- what splits, through the function ----

    def split(self, text: str | bytes) -> list[bytes]:  # type: ignore[override] # No buffers.
        """Return the pieces of a text, as bytes: what the function makes of it before any merge."""
        return pieces_of(text, self.function)

    def encode(  # type: ignore[override] # No buffers, here and below.
        self,
        text: str | bytes,
        *,
        allowed_special: AllowedSpecial = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
    ) -> list[int]:
        """Encode a text into a list of ids, as `Tokenizer.encode` does."""
        ids = self._end(prepend)
        for stretch in self._stretches(read(text), allowed_special):
            ids += [stretch] if isinstance(stretch, int) else encode_pieces(self, stretch)
        return ids + self._end(append)

    def _end(self, end: int | str | None) -> list[int]:
        """Return what stands before or after a text: an id, or the id of a special."""
        if end is None:
            return []
        if not isinstance(end, str):
            self.token_bytes(end)  # Refuses an id that stands for nothing.
            return [operator.index(end)]
        if end not in self.specials:
            raise SpecialError(f"{end!r} is not a special of this tokenizer; see its `specials`")
        return [self.specials[end]]

    def _stretches(self, text: str, allowed_special: AllowedSpecial) -> Iterator[int | list[bytes]]:
        """Yield the specials of a text, and the pieces of what is between them."""
        at = 0
        if allowed_special is not None:
            content = text.encode("utf-8", "surrogateescape")
            found = find_specials(self, content, allowed_special, characters=True)
            for start, end, special in found:
                if at < start:
                    yield pieces_of_characters(text[at:start], self.function)
                yield special
                at = end
        if at < len(text):
            yield pieces_of_characters(text[at:], self.function)

    def encode_array(  # type: ignore[override]
        self,
        text: str | bytes,
        *,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,  # noqa: ARG002 - a function has one.
    ) -> "NDArray[np.uint32]":
        """Encode a text into a numpy array."""
        import numpy as np  # noqa: PLC0415 - numpy waits until it is needed.

        return np.array(self.encode(text, allowed_special=allowed_special), np.uint32)

    def encode_batch(  # type: ignore[override]
        self,
        texts: Iterable[str | bytes],
        *,
        allowed_special: AllowedSpecial = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
        threads: int | None = None,  # noqa: ARG002
    ) -> list[list[int]]:
        """Encode many texts into lists of ids, one after the other."""
        names = _names(allowed_special)
        return [
            self.encode(text, allowed_special=names, prepend=prepend, append=append)
            for text in _many(texts)
        ]

    def encode_batch_array(  # type: ignore[override]
        self,
        texts: Iterable[str | bytes],
        *,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,  # noqa: ARG002
    ) -> "tuple[NDArray[np.uint32], NDArray[np.uint64]]":
        """Encode many texts into one array; text i has `ids[offsets[i]:offsets[i + 1]]`."""
        import numpy as np  # noqa: PLC0415

        ids, offsets, names = array("I"), array("Q", [0]), _names(allowed_special)
        for text in _many(texts):
            ids.extend(self.encode(text, allowed_special=names))
            offsets.append(len(ids))
        return np.array(ids, np.uint32), np.array(offsets, np.uint64)

    def count(  # type: ignore[override]
        self,
        text: str | bytes,
        *,
        limit: int | None = None,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,  # noqa: ARG002
    ) -> int:
        """Return how many ids a text has, or `limit` if it has more."""
        count = len(self.encode(text, allowed_special=allowed_special))
        return count if limit is None else min(count, _number(limit))

    def count_batch(  # type: ignore[override]
        self,
        texts: Iterable[str | bytes],
        *,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,  # noqa: ARG002
    ) -> list[int]:
        """Return how many ids each of many texts has."""
        names = _names(allowed_special)
        return [self.count(text, allowed_special=names) for text in _many(texts)]

    def fits(  # type: ignore[override]
        self, text: str | bytes, *, n: int, allowed_special: AllowedSpecial = None
    ) -> bool:
        """Return whether a text has at most `n` ids."""
        return self.count(text, allowed_special=allowed_special) <= _number(n)

    def encode_with_offsets(
        self,
        text: AnyText,
        *,
        unit: "Unit | None" = None,
        allowed_special: AllowedSpecial = None,
    ) -> "Located":
        """Encode a text, and say where in it each id begins and ends."""
        from zeton.text.offsets import Located, in_characters  # noqa: PLC0415 - few programs ask.

        ids = self.encode(text, allowed_special=allowed_special)
        places = place_ids(self, readable(text), ids, in_characters(text, unit))
        return Located(ids, places)

    def explain(
        self, text: str | bytes, *, allowed_special: AllowedSpecial = None
    ) -> "Explanation":
        """Say how a text becomes its ids; the rule of every piece is "split"."""
        from zeton.text import explain as explaining  # noqa: PLC0415 - few programs ask.

        found: list[tuple[bytes, str, Any]] = []
        for stretch in self._stretches(read(text), allowed_special):
            if isinstance(stretch, int):
                special = self.token_bytes(stretch)
                found.append((special, explaining.SPECIAL, ([stretch], True, [])))
            else:
                found += [(piece, RULE, explain_piece(self, piece)) for piece in stretch]
        ids = [each for _, _, (ids, *_) in found for each in ids]
        plain = readable(text) if isinstance(text, str) else text
        places = iter(place_ids(self, plain, ids, isinstance(text, str)))
        pieces = []
        for content, rule, merged in found:
            own = [next(places) for _ in merged[0]]
            pieces.append(explaining.piece_of(content, own[0][0], own[-1][1], rule, merged))
        return explaining.Explanation(tuple(pieces), explaining.unit_of(text))

    # ---- what cannot be, with a function that may look at all of a text ----

    truncate = _refusing("cuts texts")
    chunk = _refusing("cuts texts")
    heal = _refusing("heals prompts")
    encoder = _refusing("encodes text as it comes")
    encode_file = _refusing("encodes files, which is done as their text comes")
    as_tiktoken = _refusing("becomes tiktoken's")

    # ---- files and copies ----

    @property
    def digest(self) -> NoReturn:
        """Raise an error: a function has no digest."""
        self._refuse_code()

    def _refuse_code(self) -> NoReturn:
        raise FormatError(
            f"a file holds no code, so not the split {name_of(self.function)}; "
            "save(path, without_split=True) saves the rest, and load(path, split=…) is given it"
        )

    def save(self, path: str | os.PathLike[str], *, without_split: bool = False) -> Path:
        """Write a `.zeton` file without the split, if that is what is wanted; else refuse.

        `zeton.load(path, split=function)` reads it.
        """
        if not without_split:
            self._refuse_code()
        target = target_of(path)
        write_whole(target, to_file(self))
        return target

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the bytes of the file, and the function, which pickle must be able to name."""
        return _from_file, (type(self), to_file(self), self.function)

    def __repr__(self) -> str:
        """Say what tells tokenizers apart at a glance."""
        specials = f", specials={list(self.specials)}" if len(self.specials) < 4 else ""
        name = name_of(self.function)
        return f"<zeton.Tokenizer vocab_size={self.vocab_size}, split={name}{specials}>"

    def __eq__(self, other: object) -> bool:
        """Compare the functions too: a name is not enough."""
        return (
            isinstance(other, SplitTokenizer)
            and self.function == other.function
            and super().__eq__(other)
        )

    def __ne__(self, other: object) -> bool:
        """Compare as `==` does."""
        return not self == other

    def __hash__(self) -> int:
        """Hash what is cheap to read; equal tokenizers agree in it."""
        return super().__hash__()


def read_file(content: bytes, split: Split) -> SplitTokenizer:
    """Read a `.zeton` file that was saved without its split."""
    return _from_file(SplitTokenizer, content, split)


def _from_file(cls: type[SplitTokenizer], content: bytes, split: Split) -> SplitTokenizer:
    engine, mark = from_file(content, by_function=True), mark_of(checked(split))
    if engine.pattern != mark:  # Another function, or the same by another name.
        specials, notes = list(engine.specials.items()), engine.made_by
        engine = from_ranks(engine.ranks(), mark, specials, notes, by_function=True)
    return cls._by(engine, split)


def _many(texts: Iterable[str | bytes]) -> Iterable[str | bytes]:
    if isinstance(texts, (str, bytes)):
        raise TypeError("a batch is a list of texts, not one text")
    return texts


def _names(names: AllowedSpecial) -> str | list[str] | None:
    """Return names that can be read again for every text."""
    return names if names is None or isinstance(names, str) else list(names)


def _number(ids: int) -> int:
    number = operator.index(ids)
    if number < 0:
        raise TextError(f"{number} tokens; give a number from 0 on")
    return number
