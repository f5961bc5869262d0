"""Tokenizers compared on texts: bytes, tokens, and what follows from the two."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from zeton.tokenizer import Tokenizer

__all__ = ["Row", "measure", "total"]


@dataclass
class Row:
    """The size of one file, and how many tokens each tokenizer makes of it.

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
        """Divide; an empty file has no answer."""
        return {
            name: self.size / tokens if tokens else None for name, tokens in self.tokens.items()
        }

    def relative_difference(self) -> dict[str, float | None]:
        """Say how many percent of the first tokenizer's tokens each one saves; none of nothing."""
        first = next(iter(self.tokens.values()))
        return {
            name: (first - tokens) / first * 100 if first else None
            for name, tokens in self.tokens.items()
        }

    def best(self) -> str | None:
        """Name the tokenizer that makes fewer tokens than every other."""
        return self._only(min(self.tokens.values()))

    def worst(self) -> str | None:
        """Name the tokenizer that makes more tokens than every other."""
        return self._only(max(self.tokens.values()))

    def _only(self, tokens: int) -> str | None:
        names = [name for name, made in self.tokens.items() if made == tokens]
        return names[0] if len(names) == 1 < len(self.tokens) else None


def measure(texts: Iterable[tuple[str, bytes]], tokenizers: Mapping[str, Tokenizer]) -> list[Row]:
    """Count the bytes and the tokens of each file, whose texts may be many."""
    rows: dict[str, Row] = {}
    for file, text in texts:
        row = rows.setdefault(file, Row(file, 0, dict.fromkeys(tokenizers, 0)))
        row.size += len(text)
        for name, tokenizer in tokenizers.items():
            row.tokens[name] += tokenizer.count(text)
    return list(rows.values())


def total(rows: Iterable[Row], names: Iterable[str]) -> Row:
    """Add all files up; without a file, every name has no tokens."""
    whole = Row("total", 0, dict.fromkeys(names, 0))
    for row in rows:
        whole.size += row.size
        for name in whole.tokens:
            whole.tokens[name] += row.tokens[name]
    return whole
