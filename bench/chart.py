"""A run's results as a picture: the speed of each peer relative to tiktoken."""

from html import escape

from adapters import PEERS
from cells import GROUPS, VOCABS, Cell
from records import Record, Results, figures, look_up, ratio

PANEL_WIDTH, BAR, GAP, NAME, VALUE = 320, 13, 3, 74, 52
TOP, HEAD, MARGIN = 64, 22, 16
OURS, ORACLE, OTHER, INK, PALE = "#c8102e", "#555555", "#9aa5b1", "#1a1a1a", "#888888"


def svg(results: Results) -> str:
    """Draw cold large texts to arrays: a row per vocabulary, a column per group of texts."""
    panels = {
        vocab: [look_up(results, Cell("large", vocab, group, "array")) for group in GROUPS]
        for vocab in VOCABS
    }
    panels = {vocab: cells for vocab, cells in panels.items() if any(cells)}
    scale = max(
        [1.0, *(over(c, p) or 0 for cells in panels.values() for c in cells for p in PEERS)]
    )
    height = TOP + len(panels) * (HEAD + len(PEERS) * (BAR + GAP) + MARGIN)
    width = MARGIN + len(GROUPS) * PANEL_WIDTH
    size = f'width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">',
        f'<rect {size} fill="#ffffff"/>',
        text(MARGIN, 24, "Encoding a text to an array, cold cache, one thread", size=16, bold=True),
        text(MARGIN, 44, f"Times as fast as tiktoken by CPU time; {results['machine']['CPU']}"),
    ]
    y = TOP
    for vocab, cells in panels.items():
        title = VOCABS[vocab].title.replace("`", "").replace("\\|", "|")
        for column, (cell, group) in enumerate(zip(cells, GROUPS.values(), strict=True)):
            x = MARGIN + column * PANEL_WIDTH
            parts.append(text(x, y + 14, f"{title} · {group}", size=12, bold=True))
            for row, peer in enumerate(PEERS):
                parts += bar(x, y + HEAD + row * (BAR + GAP), peer, cell, scale)
        y += HEAD + len(PEERS) * (BAR + GAP) + MARGIN
    return "\n".join([*parts, "</svg>", ""])


def bar(x: int, y: int, peer: str, cell: dict[str, Record], scale: float) -> list[str]:
    """Draw a peer's bar with its value, or its status if it has none."""
    times = over(cell, peer)
    color = {"zeton": OURS, "tiktoken": ORACLE}.get(peer, OTHER)
    name = text(x, y + BAR - 3, peer, bold=peer == "zeton")
    if times is None:
        status = cell[peer]["status"] if peer in cell else "-"
        return [name, text(x + NAME, y + BAR - 3, "-" if status == "ok" else status, fill=PALE)]
    length = (PANEL_WIDTH - NAME - VALUE - MARGIN) * times / scale
    return [
        name,
        f'<rect x="{x + NAME}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{color}"/>',
        text(x + NAME + length + 4, y + BAR - 3, f"{times:.1f}×"),  # noqa: RUF001
    ]


def over(cell: dict[str, Record], peer: str) -> float | None:
    return ratio(figures(cell.get(peer), "first"), figures(cell.get("tiktoken"), "first"))


def text(
    x: float, y: float, content: str, *, size: int = 11, bold: bool = False, fill: str = INK
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{x:.1f}" y="{y:.1f}" font-size="{size}"'
    return f'<text {place}{weight} fill="{fill}">{escape(content)}</text>'
