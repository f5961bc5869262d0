"""As much of a text as has so many ids: its beginning, its end, both, or all of it in chunks."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from zeton._engine import find_chunks, fit_end, fit_start
from zeton.errors import TextError

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["AllowedSpecial", "AnyText", "Border", "Chunk", "Side", "chunk", "readable", "truncate"]

Border: TypeAlias = Literal[
    "character", "grapheme", "piece", "word", "sentence", "line", "paragraph"
]
Side: TypeAlias = Literal["end", "start", "middle"]
AnyText = TypeVar("AnyText", str, bytes)
AllowedSpecial: TypeAlias = str | Iterable[str] | None
"""The specials that text may contain: "all", or names; None: every special is ordinary text."""


class Chunk(NamedTuple, Generic[AnyText]):
    """A stretch of a text, from `start` to `end`, and how many tokens it has.

    In a text with lone surrogates, places are those of the text as it is encoded: pairs are joined.
    """

    text: AnyText
    start: int
    end: int
    tokens: int


def readable(text: AnyText) -> AnyText:
    """Return a text as it is encoded: of surrogates, pairs are joined, and others become U+FFFD."""
    if isinstance(text, bytes):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def truncate(
    tokenizer: "Tokenizer",
    text: AnyText,
    n: int,
    *,
    side: Side,
    at: Border,
    mark: AnyText | None,
    allowed_special: AllowedSpecial,
) -> AnyText:
    """Return what is left of a text when one side of it, or its middle, is cut away.

    It is encoded again: where specials overlap, what was found may not fit, and less is taken.
    """
    if not isinstance(text, (str, bytes)):
        raise TypeError(f"a text is str or bytes, not {type(text).__name__}")
    if mark is not None and type(mark) is not type(text):
        raise TypeError(f"the mark is {type(mark).__name__} and the text {type(text).__name__}")
    if mark is not None and side != "middle":
        raise TextError("a mark stands where the middle was; give side='middle', or no mark")
    fewer = n
    try:
        while True:
            if side == "end":
                cut = text[: fit_end(tokenizer, text, fewer, at, allowed_special)]
            elif side == "start":
                end = fit_start(tokenizer, text, fewer, at, allowed_special, text[:0])
                cut = text[len(text) - end :]
            elif side == "middle":
                cut = _without_middle(tokenizer, text, fewer, at, mark, allowed_special)
            else:
                raise TextError(f"side={side!r}; give 'end', 'start' or 'middle'")
            if tokenizer.fits(cut, n=n, allowed_special=allowed_special):
                return cut
            fewer -= 1
    except UnicodeEncodeError:
        again, mark = readable(text), None if mark is None else readable(mark)
        return truncate(
            tokenizer, again, n, side=side, at=at, mark=mark, allowed_special=allowed_special
        )


def _without_middle(  # noqa: PLR0917 - those of `truncate`.
    tokenizer: "Tokenizer",
    text: AnyText,
    n: int,
    at: Border,
    mark: AnyText | None,
    allowed_special: AllowedSpecial,
) -> AnyText:
    if tokenizer.fits(text, n=n, allowed_special=allowed_special):
        return text
    head = text[: fit_end(tokenizer, text, (n + 1) // 2, at, allowed_special)]
    before = head if mark is None else head + mark
    if not tokenizer.fits(before, n=n, allowed_special=allowed_special):
        raise TextError(f"{mark!r} leaves no room for text in {n} tokens; allow more")
    end = fit_start(tokenizer, text, n, at, allowed_special, before)
    if len(head) + end > len(text):  # What stands in the head is not to be repeated.
        end = fit_start(tokenizer, text[len(head) :], n, at, allowed_special, before)
    return before + text[len(text) - end :]


def chunk(
    tokenizer: "Tokenizer",
    text: AnyText,
    n: int,
    *,
    overlap: int,
    at: Border,
    allowed_special: AllowedSpecial,
) -> list[Chunk[AnyText]]:
    """Return the chunks of a text."""
    try:
        found = find_chunks(tokenizer, text, n, overlap, at, allowed_special)
    except UnicodeEncodeError:
        text = readable(text)
        found = find_chunks(tokenizer, text, n, overlap, at, allowed_special)
    return [Chunk(text[start:end], start, end, tokens) for start, end, tokens in found]
