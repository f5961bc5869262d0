"""Tokenizers compared on texts: bytes, tokens, and the ratios of the two.

>>> import zeton
>>> toks = {name: zeton.pretrained(name) for name in ("gpt2", "cl100k_base")}
>>> measure([("greeting", b"Hello naive world")], tokenizers=toks)
[Row(name='greeting', size=17, tokens={'gpt2': 3, 'cl100k_base': 3})]
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zeton.text_encoder import TextEncoder

__all__ = ["Evaluation", "Row", "measure", "total"]


@dataclass
class Row:
    """The size of one file, and the number of its tokens by each tokenizer.

    >>> row = Row("notes.txt", 120, {"old": 40, "new": 30})
    >>> row.bytes_per_token()
    {'old': 3.0, 'new': 4.0}
    >>> row.relative_difference()
    {'old': 0.0, 'new': 25.0}
    >>> row.best(), row.worst()
    ('new', 'old')
    """

    name: str
    size: int
    tokens: dict[str, int]

    def bytes_per_token(self) -> dict[str, float | None]:
        """Return the bytes per token by each tokenizer, None for an empty file."""
        return {
            name: self.size / tokens if tokens else None for name, tokens in self.tokens.items()
        }

    def relative_difference(self) -> dict[str, float | None]:
        """Return the percentage of the first tokenizer's tokens that each one saves."""
        first = next(iter(self.tokens.values()))
        return {
            name: (first - tokens) / first * 100 if first else None
            for name, tokens in self.tokens.items()
        }

    def best(self) -> str | None:
        """Return the name of the tokenizer with fewer tokens than every other, or None."""
        return self._only(min(self.tokens.values()))

    def worst(self) -> str | None:
        """Return the name of the tokenizer with more tokens than every other, or None."""
        return self._only(max(self.tokens.values()))

    def _only(self, tokens: int) -> str | None:
        names = [name for name, made in self.tokens.items() if made == tokens]
        return names[0] if len(names) == 1 < len(self.tokens) else None


class Evaluation(list[Row]):
    """The rows of all files; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        from zeton.display.cards import evaluation_card  # noqa: PLC0415 - for notebooks only.

        return evaluation_card(self)


def measure(
    texts: Iterable[tuple[str, bytes]], *, tokenizers: Mapping[str, TextEncoder]
) -> Evaluation:
    """Count the bytes and the tokens of each file by each tokenizer.

    `texts` has pairs of a file's name and a text; a file may have several texts.
    """
    rows: dict[str, Row] = {}
    for file, text in texts:
        row = rows.setdefault(file, Row(file, 0, dict.fromkeys(tokenizers, 0)))
        row.size += len(text)
        for name, tokenizer in tokenizers.items():
            row.tokens[name] += tokenizer.count(text)
    return Evaluation(rows.values())


def total(rows: Iterable[Row], *, names: Iterable[str]) -> Row:
    """Return the sum of all files; without files, every name has 0 tokens."""
    whole = Row("total", 0, dict.fromkeys(names, 0))
    for row in rows:
        whole.size += row.size
        for name in whole.tokens:
            whole.tokens[name] += row.tokens[name]
    return whole
