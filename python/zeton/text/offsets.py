"""Where the ids of a text are in it, and how two ways to encode it lie side by side."""

from bisect import bisect_right
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from zeton._engine import encode_with_places, heal
from zeton.errors import TextError
from zeton.text.fit import AllowedSpecial, AnyText, readable

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = [
    "Aligned",
    "Healed",
    "Located",
    "Token",
    "Unit",
    "align",
    "healed",
    "in_characters",
    "locate",
]

Unit: TypeAlias = Literal["character", "byte"]


class Token(NamedTuple):
    """A token of a text: its number among them, its id, and where it is."""

    number: int
    id: int
    start: int
    end: int


class Located(NamedTuple):
    """The ids of a text, and where in it each begins and ends."""

    ids: list[int]
    offsets: list[tuple[int, int]]

    def token_at(self, position: int) -> Token:
        """Return the token at a position, the first of those that share its character."""
        length = self.offsets[-1][1] if self.offsets else 0
        if not 0 <= position < length:
            raise TextError(f"there is no token at {position}; the text is from 0 to {length}")
        index = bisect_right(self.offsets, position, key=lambda place: place[1])
        return Token(index, self.ids[index], *self.offsets[index])


class Aligned(NamedTuple):
    """A stretch of a text, and which ids of two tokenizers are exactly of it."""

    start: int
    end: int
    ours: list[int]
    theirs: list[int]


class Healed(NamedTuple):
    """A text that is to go on: what stays, what is to be said again, and what may come next."""

    ids: list[int]
    rest: bytes
    allowed: list[int] | None
    """Each begins some continuation of the text; None: any id may come."""


def locate(
    tokenizer: "Tokenizer",
    text: AnyText,
    *,
    unit: Unit | None,
    allowed_special: AllowedSpecial,
) -> Located:
    """Encode a text, and say where in it each id is."""
    characters = in_characters(text, unit)
    try:
        return Located(*encode_with_places(tokenizer, text, allowed_special, characters))
    except UnicodeEncodeError:
        return Located(*encode_with_places(tokenizer, readable(text), allowed_special, characters))


def in_characters(text: str | bytes, unit: Unit | None) -> bool:
    """Tell whether places are in characters: as asked for, or as those of the text are."""
    if unit not in (None, "character", "byte"):
        raise TextError(f"unit={unit!r}; give 'character' or 'byte'")
    return isinstance(text, str) if unit is None else unit == "character"


def align(
    text: AnyText,
    ours: "Tokenizer",
    theirs: "Tokenizer",
    *,
    unit: Unit | None,
    allowed_special: AllowedSpecial,
) -> list[Aligned]:
    """Cut a text wherever both tokenizers have a border."""
    mine, other = (
        tok.encode_with_offsets(text, unit="byte", allowed_special=allowed_special)
        for tok in (ours, theirs)
    )
    places = ours.encode_with_offsets(text, unit=unit, allowed_special=allowed_special).offsets
    ends = {end: index for index, (_, end) in enumerate(other.offsets, 1)}
    aligned = []
    first = first_other = 0
    for index, (_, end) in enumerate(mine.offsets, 1):
        if (index_other := ends.get(end)) is None:
            continue
        ids, ids_other = mine.ids[first:index], other.ids[first_other:index_other]
        aligned.append(Aligned(places[first][0], places[index - 1][1], ids, ids_other))
        first, first_other = index, index_other
    return aligned


def healed(tokenizer: "Tokenizer", text: str | bytes, allowed_special: AllowedSpecial) -> Healed:
    """Take back the ids of a text that more text may change, and say what may stand there."""
    return Healed(*heal(tokenizer, text, allowed_special))
