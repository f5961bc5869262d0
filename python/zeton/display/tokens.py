"""A tokenized text as a picture: a colour for each token, with its id, bytes and rank on hover.

`view(tok, "low lowest")` is `low|␣lowest` in a terminal, and coloured spans in a notebook.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from zeton.display.style import COLORS, card, escaped
from zeton.plural import counted
from zeton.text.escape import escape, visible
from zeton.text.fit import AllowedSpecial, check_number, readable

if TYPE_CHECKING:
    from zeton.text_encoder import TextEncoder

__all__ = ["ShownToken", "TokenView", "token_spans", "view"]

CHARACTERS_MAX = 200
"""Characters of a token that are shown."""

BYTES_MAX = 64
"""Bytes of a token that its hover text lists."""

SPACE = "␣"


class ShownToken(NamedTuple):
    """A token of a picture."""

    id: int
    content: bytes
    is_special: bool

    @property
    def rank(self) -> int | None:
        """The merge priority, which is the id; None for a special."""
        return None if self.is_special else self.id


@dataclass(frozen=True, slots=True, repr=False)
class TokenView:
    """The tokens of a text; a notebook shows them in colours, a terminal with bars."""

    tokens: tuple[ShownToken, ...]
    """The first tokens of the text, at most `tokens_max`."""
    count: int
    """The number of tokens of the whole text."""
    text_bytes: int
    """The number of bytes of the whole text."""

    def __repr__(self) -> str:
        """Return the tokens with bars between them."""
        shown = "|".join(_plain(token) for token in self.tokens)
        return f"{shown}\n{self._note()}" if shown else self._note()

    def _repr_html_(self) -> str:
        spans = token_spans(self.tokens)
        return card(f'<div class="text">{spans}</div><div class="note">{self._note()}</div>')

    def _note(self) -> str:
        size = f"{counted(self.count, 'token')}, {counted(self.text_bytes, 'byte')}"
        left = self.count - len(self.tokens)
        return f"{size}; {left:,} more not shown" if left else size


def view(
    tok: "TextEncoder",
    text: str | bytes,
    *,
    allowed_special: AllowedSpecial,
    tokens_max: int,
) -> TokenView:
    """Return the picture of a text's first tokens."""
    check_number("tokens_max", tokens_max, 1)
    ids = tok.encode_array(text, allowed_special=allowed_special)
    specials = set(tok.specials.values())
    first = [int(number) for number in ids[:tokens_max]]
    shown = tuple(ShownToken(each, tok.token_bytes(each), each in specials) for each in first)
    size = len(readable(text).encode()) if isinstance(text, str) else len(text)
    return TokenView(shown, len(ids), size)


def token_spans(tokens: Iterable[ShownToken]) -> str:
    """Return tokens as HTML: a span each, with a line break after each newline."""
    return "".join(_span(token, at) for at, token in enumerate(tokens))


def _span(token: ShownToken, at: int) -> str:
    kind = "t s" if token.is_special else f"t c{at % COLORS}"
    text = token.content.decode(errors="backslashreplace")
    shown = "".join(_marked(c) for c in text[:CHARACTERS_MAX])
    more = "…" if len(text) > CHARACTERS_MAX else ""
    return f'<span class="{kind}" title="{escaped(_hover(token))}">{shown}{more}</span>'


def _hover(token: ShownToken) -> str:
    """Return the hover text: `id 257, rank 257, 3 bytes: 6c 6f 77`."""
    rank = "special" if token.is_special else f"rank {token.rank}"
    digits = token.content[:BYTES_MAX].hex(" ")
    more = " …" if len(token.content) > BYTES_MAX else ""
    return f"id {token.id}, {rank}, {counted(len(token.content), 'byte')}: {digits}{more}"


def _marked(character: str) -> str:
    """Return a character as HTML, with a visible sign for a blank or a control character."""
    if character == " ":
        return f"<i>{SPACE}</i>"
    if character == "\n":
        return "<i>\\n</i><br>"
    if character.isprintable():
        return escaped(character)
    return f"<i>{escaped(escape(character))}</i>"


def _plain(token: ShownToken) -> str:
    text = visible(token.content[: 4 * CHARACTERS_MAX]).replace(" ", SPACE)
    return text if len(text) <= CHARACTERS_MAX else text[: CHARACTERS_MAX - 1] + "…"
