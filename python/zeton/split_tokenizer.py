"""`SplitTokenizer`: a tokenizer whose split is a Python function, for research.

It has the methods of `TextEncoder`. The methods that `Tokenizer` has beyond it (cutting, streams,
files) look at parts of a text, for which a function may return other pieces than for the whole.
"""

import operator
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeAlias

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
from zeton.encoder_core import EncoderCore, check_ranks, check_specials
from zeton.errors import ArgumentTypeError, SpecialError, TextError
from zeton.splitting import Split, checked, mark_of, name_of, pieces_of, pieces_of_characters, read
from zeton.suggest import did_you_mean
from zeton.text.fit import AllowedSpecial, AnyText, readable
from zeton.text_encoder import Text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from zeton.text.explain import Explanation
    from zeton.text.offsets import Located, Unit

__all__ = ["SplitTokenizer", "read_file"]

End: TypeAlias = int | str | None
"""An id before or after a text, or the name of a special."""

RULE = "split"
"""The rule of every piece that a function returns, in an explanation."""


class SplitTokenizer(EncoderCore):
    r"""A tokenizer whose split is a Python function, made by `zeton.train(…, split=function)`.

    >>> import re, zeton
    >>> def words(text):
    ...     return re.findall(r"\w+|\W", text)
    >>> tok = zeton.train(["low lower lowest"] * 9, vocab_size=262, split=words)
    >>> tok.split("lower, lowest")
    [b'lower', b',', b' ', b'lowest']
    >>> tok.decode(tok.encode("lower, lowest"))
    'lower, lowest'

    No call uses threads, because the function is Python's. `truncate`, `chunk`, `heal`, `encoder`
    and `encode_file` need a pattern, so that only `zeton.Tokenizer` has them.
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
        named, notes = list(check_specials(specials).items()), {"version": VERSION}
        mark = mark_of(checked(split))
        return cls._by(from_ranks(check_ranks(ranks), mark, named, notes, by_function=True), split)

    def _like(self, engine: TokenizerCore) -> Self:
        return self._by(engine, self.function)

    @classmethod
    def _by(cls, engine: TokenizerCore, split: Split) -> Self:
        made = cls._of(engine)
        made._function = split  # noqa: SLF001 - our own.
        return made

    @property
    def function(self) -> Split:
        """The function that splits texts."""
        return self._function

    if not TYPE_CHECKING:  # A type checker refuses the names below without help.

        def __getattr__(self, name: str) -> object:
            """Raise the error for a member that only a tokenizer with a pattern has."""
            from zeton.tokenizer import Tokenizer  # noqa: PLC0415 - for the message only.

            if name.startswith("_") or not hasattr(Tokenizer, name):
                raise AttributeError(f"a SplitTokenizer has no {name!r}")
            raise AttributeError(
                f"a SplitTokenizer has no {name!r}, which needs a pattern or rules; this one "
                f"splits by the Python function {name_of(self.function)}"
            )

    def split(self, text: Text) -> list[bytes]:
        """Return the pieces of a text as bytes, as the function cuts it."""
        return pieces_of(text, self.function)

    def encode(
        self,
        text: Text,
        *,
        allowed_special: AllowedSpecial = None,
        prepend: End = None,
        append: End = None,
    ) -> list[int]:
        """Encode a text into a list of ids, with the options of `Tokenizer.encode`."""
        ids = self._end(prepend)
        for part in self._ranges(read(text), allowed_special):
            ids += [part] if isinstance(part, int) else encode_pieces(self, part)
        return ids + self._end(append)

    def _end(self, end: End) -> list[int]:
        """Return the id before or after a text, given as an id or as the name of a special."""
        if end is None:
            return []
        if not isinstance(end, str):
            self.token_bytes(end)  # Refuses an unknown id.
            return [operator.index(end)]
        if end not in self.specials:
            hint = did_you_mean(end, self.specials)
            raise SpecialError(f"{end!r} is not a special of this tokenizer{hint}")
        return [self.specials[end]]

    def _ranges(self, text: str, allowed_special: AllowedSpecial) -> Iterator[int | list[bytes]]:
        """Yield the specials of a text, and the pieces of each range between them."""
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

    def encode_array(
        self,
        text: Text,
        *,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,  # noqa: ARG002 - a function has one.
    ) -> "NDArray[np.uint32]":
        """Encode a text into a numpy array."""
        import numpy as np  # noqa: PLC0415 - numpy waits until it is needed.

        return np.array(self.encode(text, allowed_special=allowed_special), np.uint32)

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: AllowedSpecial = None,
        prepend: End = None,
        append: End = None,
        threads: int | None = None,  # noqa: ARG002
    ) -> list[list[int]]:
        """Encode many texts into lists of ids, one after the other."""
        names = _names(allowed_special)
        return [
            self.encode(text, allowed_special=names, prepend=prepend, append=append)
            for text in _many(texts)
        ]

    def encode_batch_array(
        self,
        texts: Iterable[Text],
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

    def count(
        self,
        text: Text,
        *,
        limit: int | None = None,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,  # noqa: ARG002
    ) -> int:
        """Return the number of ids of a text, or `limit` if it has more."""
        count = len(self.encode(text, allowed_special=allowed_special))
        return count if limit is None else min(count, _number(limit))

    def count_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: AllowedSpecial = None,
        threads: int | None = None,  # noqa: ARG002
    ) -> list[int]:
        """Return the number of ids of each of many texts."""
        names = _names(allowed_special)
        return [self.count(text, allowed_special=names) for text in _many(texts)]

    def fits(self, text: Text, *, n: int, allowed_special: AllowedSpecial = None) -> bool:
        """Return whether a text has at most `n` ids."""
        return self.count(text, allowed_special=allowed_special) <= _number(n)

    def encode_with_offsets(
        self,
        text: AnyText,
        *,
        unit: "Unit | None" = None,
        allowed_special: AllowedSpecial = None,
    ) -> "Located":
        """Encode a text; return the ids and the range of each in the text."""
        from zeton.text.offsets import Located, in_characters  # noqa: PLC0415 - few programs ask.

        ids = self.encode(text, allowed_special=allowed_special)
        places = place_ids(self, readable(text), ids, in_characters(text, unit))
        return Located(ids, places)

    def explain(
        self, text: str | bytes, *, allowed_special: AllowedSpecial = None
    ) -> "Explanation":
        """Return the pieces of a text and every merge; the rule of each piece is "split"."""
        from zeton.text import explain as explaining  # noqa: PLC0415 - few programs ask.

        found: list[tuple[bytes, str, Any]] = []
        for part in self._ranges(read(text), allowed_special):
            if isinstance(part, int):
                special = self.token_bytes(part)
                found.append((special, explaining.SPECIAL, ([part], True, [])))
            else:
                found += [(piece, RULE, explain_piece(self, piece)) for piece in part]
        ids = [each for _, _, (ids, *_) in found for each in ids]
        plain = readable(text) if isinstance(text, str) else text
        places = iter(place_ids(self, plain, ids, isinstance(text, str)))
        pieces = []
        for content, rule, merged in found:
            own = [next(places) for _ in merged[0]]
            pieces.append(explaining.piece_of(content, own[0][0], own[-1][1], rule, merged))
        return explaining.Explanation(tuple(pieces), explaining.unit_of(text))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the bytes of the file and the function, which must be importable by name."""
        return _from_file, (type(self), to_file(self), self.function)

    def __repr__(self) -> str:
        """Return the size, the function's name and a few specials."""
        specials = f", specials={list(self.specials)}" if len(self.specials) < 4 else ""
        name = name_of(self.function)
        return f"<zeton.SplitTokenizer vocab_size={self.vocab_size}, split={name}{specials}>"

    def __eq__(self, other: object) -> bool:
        """Compare the functions too, because two functions can have one name."""
        return (
            isinstance(other, SplitTokenizer)
            and self.function == other.function
            and super().__eq__(other)
        )

    def __ne__(self, other: object) -> bool:
        """Return the opposite of `==`."""
        return not self == other

    def __hash__(self) -> int:
        """Hash the fields that are cheap to read; equal tokenizers agree in them."""
        return super().__hash__()


def read_file(content: bytes, split: Split) -> SplitTokenizer:
    """Read a `.zeton` file that was saved without its split."""
    return _from_file(SplitTokenizer, content, split)


def _from_file(cls: type[SplitTokenizer], content: bytes, split: Split) -> SplitTokenizer:
    engine, mark = from_file(content, by_function=True), mark_of(checked(split))
    if engine.pattern != mark:  # Another function, or one that was renamed.
        specials, notes = list(engine.specials.items()), engine.made_by
        engine = from_ranks(engine.ranks(), mark, specials, notes, by_function=True)
    return cls._by(engine, split)


def _many(texts: Iterable[Text]) -> Iterable[Text]:
    if isinstance(texts, (str, bytes)):
        raise ArgumentTypeError("a batch is a list of texts, not one text; give [text]")
    return texts


def _names(names: AllowedSpecial) -> str | list[str] | None:
    """Return names that can be read again for every text."""
    return names if names is None or isinstance(names, str) else list(names)


def _number(ids: int) -> int:
    number = operator.index(ids)
    if number < 0:
        raise TextError(f"the number of tokens is {number}; give 0 or more")
    return number
