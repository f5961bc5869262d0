"""Texts cut to a number of tokens: `truncate` keeps one part, `chunk` cuts the whole.

For example, with gpt2 `truncate("One two. Three four.", n=4, at="sentence")` is `"One two. "`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar, get_args

from zeton._engine import find_chunks, fit_end, fit_start
from zeton.errors import ArgumentError, ArgumentTypeError, TextError
from zeton.suggest import did_you_mean

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = [
    "AllowedSpecial",
    "AnyText",
    "Border",
    "Chunk",
    "Side",
    "check_number",
    "chunk",
    "readable",
    "truncate",
]

Border: TypeAlias = Literal[
    "character", "grapheme", "piece", "word", "sentence", "line", "paragraph"
]
Side: TypeAlias = Literal["end", "start", "middle"]
AnyText = TypeVar("AnyText", str, bytes)
AllowedSpecial: TypeAlias = str | Iterable[str] | None
"""The specials that a text may contain: "all", or names. None: specials are ordinary text."""


class Chunk(NamedTuple, Generic[AnyText]):
    """A range of a text, from `start` to `end`, with its number of tokens.

    In a `str` with surrogates, positions are counted after pairs of surrogates have been joined.
    """

    text: AnyText
    start: int
    end: int
    tokens: int


def readable(text: AnyText) -> AnyText:
    r"""Return a text with pairs of surrogates joined, and lone surrogates replaced by U+FFFD.

    >>> readable("\ud83d\ude00 \ud800")
    '😀 �'
    """
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
    """Return a text without one side, or without its middle.

    The result is encoded again, because overlapping specials can make it longer than `n`. Then a
    shorter one is taken.
    """
    if not isinstance(text, (str, bytes)):
        raise ArgumentTypeError(f"a text is str or bytes, not {type(text).__name__}")
    if mark is not None and type(mark) is not type(text):
        raise ArgumentTypeError(
            f"the mark is {type(mark).__name__} and the text is {type(text).__name__}; give both "
            "as str or both as bytes"
        )
    if mark is not None and side != "middle":
        raise ArgumentError(
            f"a mark replaces the middle of a text, and side is {side!r}; give side='middle', or "
            "no mark"
        )
    check_number("n", n, 0)
    _check_name("side", side, get_args(Side))
    _check_name("at", at, get_args(Border))
    fewer = n
    try:
        while True:
            if side == "end":
                cut = text[: fit_end(tokenizer, text, fewer, at, allowed_special)]
            elif side == "start":
                end = fit_start(tokenizer, text, fewer, at, allowed_special, text[:0])
                cut = text[len(text) - end :]
            else:
                cut = _without_middle(tokenizer, text, fewer, at, mark, allowed_special)
            if tokenizer.fits(cut, n=n, allowed_special=allowed_special):
                return cut
            fewer -= 1
    except UnicodeEncodeError:
        again, mark = readable(text), None if mark is None else readable(mark)
        return truncate(
            tokenizer, again, n, side=side, at=at, mark=mark, allowed_special=allowed_special
        )


def _without_middle(  # noqa: PLR0917 - the parameters of `truncate`.
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
        raise TextError(
            f"the mark {mark!r} needs more than {n} tokens with the text before it; give a larger n"
        )
    end = fit_start(tokenizer, text, n, at, allowed_special, before)
    if len(head) + end > len(text):  # The tail must not repeat the head.
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
    check_number("n", n, 1)
    check_number("overlap", overlap, 0)
    _check_name("at", at, get_args(Border))
    try:
        found = find_chunks(tokenizer, text, n, overlap, at, allowed_special)
    except UnicodeEncodeError:
        text = readable(text)
        found = find_chunks(tokenizer, text, n, overlap, at, allowed_special)
    return [Chunk(text[start:end], start, end, tokens) for start, end, tokens in found]


def check_number(name: str, value: object, least: int) -> None:
    """Refuse a number of tokens that is no int, or too small."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ArgumentTypeError(f"{name} is a number of tokens, an int, not {type(value).__name__}")
    if value < least:
        raise TextError(f"{name} is {value}; it must be at least {least}")


def _check_name(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ArgumentError(f"{name}={value!r} is unknown{did_you_mean(value, known)}")
