"""The range of each token in its text, two tokenizations side by side, and token healing.

For example, with gpt2 "né" has the ids 77 at (0, 1) and 2634 at (1, 2).
"""

from bisect import bisect_right
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from zeton._engine import TokenizerCore, encode_with_places, heal
from zeton.errors import ArgumentError, ArgumentTypeError, TextError
from zeton.suggest import did_you_mean
from zeton.text.fit import AllowedSpecial, AnyText, readable

if TYPE_CHECKING:
    from zeton.encoder_core import EncoderCore

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
    """A token of a text: its index among the tokens, its id, and its range."""

    number: int
    id: int
    start: int
    end: int


class Located(NamedTuple):
    """The ids of a text, and the range of each in the text."""

    ids: list[int]
    offsets: list[tuple[int, int]]

    def token_at(self, position: int) -> Token:
        """Return the token at a position, the first one if several share the character."""
        length = self.offsets[-1][1] if self.offsets else 0
        if not 0 <= position < length:
            raise TextError(
                f"there is no token at position {position}; positions are from 0 to {length - 1}"
                if length
                else f"there is no token at position {position}; the text is empty"
            )
        index = bisect_right(self.offsets, position, key=lambda place: place[1])
        return Token(index, self.ids[index], *self.offsets[index])


class Aligned(NamedTuple):
    """A range of a text with the ids of two tokenizers that cover exactly this range."""

    start: int
    end: int
    ours: list[int]
    theirs: list[int]


class Healed(NamedTuple):
    """A prompt for a model: the ids to give, the bytes taken back, and the next ids allowed."""

    ids: list[int]
    rest: bytes
    allowed: list[int] | None
    """Each starts some continuation of the prompt. None: any id may follow."""


def locate(
    tokenizer: TokenizerCore,
    text: AnyText,
    *,
    unit: Unit | None,
    allowed_special: AllowedSpecial,
) -> Located:
    """Encode a text; return the ids and the range of each."""
    characters = in_characters(text, unit)
    try:
        return Located(*encode_with_places(tokenizer, text, allowed_special, characters))
    except UnicodeEncodeError:
        return Located(*encode_with_places(tokenizer, readable(text), allowed_special, characters))


def in_characters(text: str | bytes, unit: Unit | None) -> bool:
    """Return whether positions are in characters: by `unit`, or by the type of the text."""
    if unit not in (None, "character", "byte"):
        hint = did_you_mean(unit, ("character", "byte"))
        raise ArgumentError(f"unit={unit!r} is unknown{hint}")
    return isinstance(text, str) if unit is None else unit == "character"


def align(
    text: AnyText,
    ours: "EncoderCore",
    theirs: "EncoderCore",
    *,
    unit: Unit | None,
    allowed_special: AllowedSpecial,
) -> list[Aligned]:
    """Cut a text at every border that both tokenizers have."""
    if not hasattr(theirs, "encode_with_offsets"):
        raise ArgumentTypeError(
            f"align needs a zeton.Tokenizer as other, not {type(theirs).__name__}; zeton.load "
            "reads a file, zeton.pretrained has published ones"
        )
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


def healed(tokenizer: TokenizerCore, text: str | bytes, allowed_special: AllowedSpecial) -> Healed:
    """Take back the ids of a prompt that more text may change; return the ids that may follow."""
    return Healed(*heal(tokenizer, text, allowed_special))
