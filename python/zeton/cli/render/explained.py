"""An explanation, drawn for a terminal: pieces over the names of their rules, and every merge."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, repeat

import click

from zeton.cli.render.drawing import bar, drawn
from zeton.cli.render.table import pad, width
from zeton.plural import counted
from zeton.text.escape import visible
from zeton.text.explain import SPECIAL, Merge, Piece

GAP = "  "
GOES_ON = "…"

RULE_COLORS = ["cyan", "yellow", "green", "magenta", "blue", "red"]
"""Of the names of rules, in the order in which they come."""

MERGES_MAX = 100
"""Merges of a piece that are drawn."""

STEPS_BYTES_MAX = 1000
"""The parts of a longer piece are not drawn after each merge."""

HEAD_BYTES_MAX = 40
"""Of a piece, before its merges."""

PAIR_WIDTH_MAX = 30


@dataclass(frozen=True)
class Cell:
    """A piece, or as much of it as fits, over what is said of it."""

    tokens: str
    rule: str
    is_last: bool
    """Whether a line of the text ends here."""

    @property
    def size(self) -> int:
        """The places that it takes on the terminal."""
        return max(width(self.tokens), width(self.rule))


def rules(pieces: Iterable[Piece], columns: int, *, ids: bool, colored: bool) -> Iterator[str]:
    """Draw pieces side by side, each over its rule; then the number of pieces of each rule."""
    names, colors = Counter[str](), cycle(RULE_COLORS)
    labels, tokens = dict[str, str](), 0

    def counted_pieces() -> Iterator[Piece]:
        nonlocal tokens
        for piece in pieces:
            if piece.rule not in labels:
                labels[piece.rule] = label(piece.rule, next(colors), colored=colored)
            names[piece.rule] += 1
            tokens += len(piece.ids)
            yield piece

    for row in rows(cells(counted_pieces(), labels, columns, ids=ids, colored=colored), columns):
        for line in ([cell.tokens for cell in row], [cell.rule for cell in row]):
            padded = [pad(text, cell.size, left=True) for text, cell in zip(line, row, strict=True)]
            yield GAP.join(padded).rstrip()
        yield ""
    made = [f"{labels[rule]} {count}" for rule, count in names.items()]
    total = f"{counted(names.total(), 'piece')}, {counted(tokens, 'token')}"
    yield from wrapped([f"{total}:" if made else total, *made], columns)


def label(rule: str, color: str, *, colored: bool) -> str:
    """Draw the name of a rule."""
    return click.style(visible(rule), fg=color) if colored else visible(rule)


def cells(
    pieces: Iterable[Piece], labels: dict[str, str], columns: int, *, ids: bool, colored: bool
) -> Iterator[Cell]:
    """Draw each piece; one that is wider than the terminal goes on in the next cell."""
    index = 0
    for piece in pieces:
        rule, tokens = labels[piece.rule], list[str]()
        for token_id, token in zip(piece.ids, piece.tokens, strict=True):
            shown = drawn(token, token_id if ids else None, index, colored=colored, blanks=True)
            index += 1
            if tokens and width(bar(colored=colored).join([*tokens, shown])) > columns:
                yield Cell(bar(colored=colored).join(tokens), rule, is_last=False)
                rule, tokens = GOES_ON, []
            tokens.append(shown)
        yield Cell(bar(colored=colored).join(tokens), rule, is_last=b"\n" in piece.content)


def rows(found: Iterable[Cell], columns: int) -> Iterator[list[Cell]]:
    """Gather as many cells as fit side by side, up to the end of a line of the text."""
    row, size = list[Cell](), 0
    for cell in found:
        if row and size + len(GAP) + cell.size > columns:
            yield row
            row, size = [], 0
        size += (len(GAP) if row else 0) + cell.size
        row.append(cell)
        if cell.is_last:
            yield row
            row, size = [], 0
    if row:
        yield row


def wrapped(words: Iterable[str], columns: int) -> Iterator[str]:
    """Put words into lines."""
    line = ""
    for word in words:
        if line and width(line) + len(GAP) + width(word) > columns:
            yield line
            line = ""
        line += (GAP if line else "") + word
    yield line


def merges(pieces: Iterable[Piece], columns: int, *, colored: bool) -> Iterator[str]:
    """Draw the merges of each different piece: the rank, the pair, and the tokens after it."""
    seen = set[tuple[str, bytes]]()
    for piece in pieces:
        if (piece.rule, piece.content) in seen:
            continue
        seen.add((piece.rule, piece.content))
        head = drawn(piece.content[:HEAD_BYTES_MAX], None, 0, colored=colored, blanks=True)
        more = GOES_ON if len(piece.content) > HEAD_BYTES_MAX else ""
        yield f"{head}{more}{GAP}{visible(piece.rule)}, {outcome(piece)}"
        yield from merges_of(piece, columns, colored=colored)
        yield ""


def outcome(piece: Piece) -> str:
    """Say in a few words what becomes of a piece."""
    if piece.rule == SPECIAL:
        return f"id {piece.ids[0]}"
    if not piece.whole:
        return counted(len(piece.ids), "token")
    reached = "" if piece.reached else " that no merge reaches"
    return f"a token{reached}, id {piece.ids[0]}"


def merges_of(piece: Piece, columns: int, *, colored: bool) -> Iterator[str]:
    """Draw the merges of a piece: at first its bytes, then a line for each; else its tokens."""
    shown = piece.merges[:MERGES_MAX]
    if not shown:
        if len(piece.ids) > 1:
            yield f"  {after(piece.tokens, 0, columns - 2, colored=colored)}"
        return
    pairs = [pair_of(merge) for merge in shown]
    rank_width = len(str(max(merge.rank for merge in shown)))
    pair_width = min(max(map(width, pairs)), PAIR_WIDTH_MAX)
    room = columns - 2 - rank_width - 2 * len(GAP) - pair_width
    is_short = len(piece.content) <= STEPS_BYTES_MAX
    steps = islice(piece.steps() if is_short else repeat([]), len(shown) + 1)
    lines = zip(["", *(str(merge.rank) for merge in shown)], ["", *pairs], steps, strict=True)
    for (rank, pair, parts), start in zip(lines, [0, *(m.start for m in shown)], strict=True):
        then = after(parts, start, room, colored=colored)
        yield f"  {rank:>{rank_width}}{GAP}{pad(pair, pair_width, left=True)}{GAP}{then}".rstrip()
    if len(shown) < len(piece.merges):
        yield f"  {GOES_ON} and {len(piece.merges) - len(shown)} merges more"


def pair_of(merge: Merge) -> str:
    """Draw the two that are joined."""
    both = (merge.left, merge.right)
    return " + ".join(drawn(token, None, 0, colored=False, blanks=True) for token in both)


def after(parts: Sequence[bytes], start: int, room: int, *, colored: bool) -> str:
    """Draw the parts of a piece, as many as fit around the one that begins at a place."""
    at, end = 0, 0
    while at < len(parts) and end + len(parts[at]) <= start:
        end += len(parts[at])
        at += 1
    texts = [
        drawn(part, None, number, colored=colored, blanks=True) for number, part in enumerate(parts)
    ]
    return around(texts, at, room, bar(colored=colored))


def around(texts: Sequence[str], at: int, room: int, between: str) -> str:
    """Join texts, as many as fit around one of them.

    >>> around(["a", "b", "c", "d", "e"], 1, 7, "|")
    'a|b|c…'
    """
    if not texts:
        return ""
    first = last = at
    size, room = width(texts[at]), room - 2 * len(GOES_ON)
    while True:
        before = width(texts[first - 1]) + len(between) if first else room
        behind = width(texts[last + 1]) + len(between) if last + 1 < len(texts) else room
        if min(before, behind) + size > room or (first == 0 and last + 1 == len(texts)):
            break
        if before <= behind:
            first, size = first - 1, size + before
        else:
            last, size = last + 1, size + behind
    shown = between.join(texts[first : last + 1])
    return (GOES_ON if first else "") + shown + (GOES_ON if last + 1 < len(texts) else "")
