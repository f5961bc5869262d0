"""Tables for notebooks: a tokenizer, an explanation, an evaluation."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from zeton.display.style import card, escaped
from zeton.display.tokens import ShownToken, token_spans, view
from zeton.pattern.spec import is_function, is_rules
from zeton.plural import counted
from zeton.text.escape import visible

if TYPE_CHECKING:
    from zeton.evaluation import Row
    from zeton.text.explain import Explanation, Piece
    from zeton.text_encoder import TextEncoder

__all__ = ["evaluation_card", "explanation_card", "tokenizer_card"]

SAMPLE = "Hello world! It's tokenization: 12345 naïve 語 words.\n\tif x >= 10:"
SPECIALS_MAX = 8
PATTERN_MAX = 240
PIECES_MAX = 200
MERGES_MAX = 12
TOKENS_MAX = 200
FILES_MAX = 200
NAME_MAX = 80


def tokenizer_card(tok: "TextEncoder") -> str:
    """Return a tokenizer as HTML: its size, pattern and specials, and a text in colours."""
    names = list(tok.specials)
    shown = ", ".join(
        f"<code>{escaped(visible(name), characters_max=NAME_MAX)}</code>"
        for name in names[:SPECIALS_MAX]
    )
    if len(names) > SPECIALS_MAX:
        shown += f" and {len(names) - SPECIALS_MAX:,} more"
    rows = [
        ("vocabulary", f"{tok.vocab_size:,} ids"),
        ("specials", shown or "none"),
        _split_row(tok.pattern),
        ("splits by", escaped(tok.info.way)),
        ("example", f'<span class="text">{token_spans(_sample(tok))}</span>'),
    ]
    body = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
    return card(f"<table>{body}</table>")


def explanation_card(explanation: "Explanation") -> str:
    """Return an explanation as HTML: a row for each piece, with its rule, tokens and merges."""
    head = _row("th", ["piece", "at", "rule", "ids", "merges"])
    rows = "".join(map(_piece_row, explanation.pieces[:PIECES_MAX]))
    count, left = len(explanation.pieces), len(explanation.pieces) - PIECES_MAX
    ids = sum(len(piece.ids) for piece in explanation.pieces)
    note = f"{counted(count, 'piece')}, {counted(ids, 'token')}"
    note += f"; {left:,} more not shown" if left > 0 else ""
    return card(f'<table>{head}{rows}</table><div class="note">{note}</div>')


def evaluation_card(rows: Sequence["Row"]) -> str:
    """Return an evaluation as HTML: a row for each file, with tokens and bytes per token.

    The tokenizer with the fewest tokens has a star.
    """
    names = list(rows[0].tokens) if rows else []
    labels = [escaped(visible(name), characters_max=NAME_MAX) for name in names]
    columns = [f"{label}{unit}" for label in labels for unit in (", tokens", ", bytes per token")]
    head = _row("th", ["file", "bytes", *columns], numbers_from=1)
    body = "".join(_file_row(row, names) for row in rows[:FILES_MAX])
    note = counted(len(rows), "file")
    note += f"; {len(rows) - FILES_MAX:,} more not shown" if len(rows) > FILES_MAX else ""
    return card(f'<table>{head}{body}</table><div class="note">{note}</div>')


def _split_row(pattern: str) -> tuple[str, str]:
    """Return the kind of a split, and its text: a pattern, rules, or the name of a function."""
    kind = "rules" if is_rules(pattern) else "pattern"
    if is_function(pattern):
        kind, pattern = "function", json.loads(pattern)["split"]
    return kind, f"<code>{escaped(visible(pattern), characters_max=PATTERN_MAX)}</code>"


def _sample(tok: "TextEncoder") -> tuple[ShownToken, ...]:
    try:
        return view(tok, SAMPLE, allowed_special=None, tokens_max=TOKENS_MAX).tokens
    except Exception:  # noqa: BLE001 - a split function may raise anything, and a card must show.
        return ()


def _piece_row(piece: "Piece") -> str:
    is_special = piece.rule == "special"
    tokens = [
        ShownToken(number, content, is_special)
        for number, content in zip(piece.ids, piece.tokens, strict=True)
    ]
    merges = [f"{_code(merge.left)} + {_code(merge.right)}" for merge in piece.merges[:MERGES_MAX]]
    more = len(piece.merges) - MERGES_MAX
    ids = ", ".join(map(str, piece.ids[:TOKENS_MAX])) + (" …" if len(tokens) > TOKENS_MAX else "")
    cells = [
        f'<span class="text">{token_spans(tokens[:TOKENS_MAX])}</span>',
        f"{piece.start}:{piece.end}",
        escaped(visible(piece.rule), characters_max=NAME_MAX),
        ids,
        ", ".join(merges) + (f" and {more:,} more" if more > 0 else ""),
    ]
    return _row("td", cells)


def _file_row(row: "Row", names: Iterable[str]) -> str:
    best, ratios = row.best(), row.bytes_per_token()
    cells = [escaped(visible(row.name), characters_max=NAME_MAX), f"{row.size:,}"]
    for name in names:
        ratio = ratios[name]
        cells.append(f"{row.tokens[name]:,}{' ★' if name == best else ''}")
        cells.append("-" if ratio is None else f"{ratio:.2f}")
    return _row("td", cells, numbers_from=1)


def _code(content: bytes) -> str:
    text = visible(content).replace(" ", "␣")
    return f"<code>{escaped(text, characters_max=NAME_MAX)}</code>"


def _row(tag: str, cells: Iterable[str], *, numbers_from: int | None = None) -> str:
    """Return a row of a table; the cells from a given one on are numbers, set to the right."""
    row = []
    for at, cell in enumerate(cells):
        kind = ' class="n"' if numbers_from is not None and at >= numbers_from else ""
        row.append(f"<{tag}{kind}>{cell}</{tag}>")
    return f"<tr>{''.join(row)}</tr>"
