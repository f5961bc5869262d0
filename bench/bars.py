"""The README's picture: MB of text that each encoder takes in a CPU second, as bars.

    python bench/peers.py --picture > docs/assets/speed.svg

The picture has a panel for each kind of text. Its colours follow the reader's light or dark scheme.
"""

from collections.abc import Iterator
from html import escape

from adapters import PEERS
from cells import GROUPS, VOCABS, Cell
from records import Results, look_up, rate

VOCAB = "cl100k_base"
WIDTH, NAME, BAR, GAP, PANEL, TOP, MARGIN, VALUE = 720, 96, 16, 6, 40, 58, 16, 64
STYLE = """
  .card { fill: #ffffff; stroke: #d0d7de } .ink { fill: #1f2328 } .pale { fill: #59636e }
  .ours { fill: #4051b5 } .other { fill: #a9b4c2 }
  @media (prefers-color-scheme: dark) {
    .card { fill: #1e2129; stroke: #3d444d } .ink { fill: #e6e9ef } .pale { fill: #a3adba }
    .ours { fill: #7c8cf0 } .other { fill: #566170 }
  }
"""


def svg(results: Results) -> str:
    """Draw one large text, encoded cold to an array: a panel a group, a bar an encoder."""
    panels = {
        title: {
            peer: found
            for peer in PEERS
            if (found := rate(look_up(results, Cell("large", VOCAB, group, "array")).get(peer)))
        }
        for group, title in GROUPS.items()
    }
    scale = max(value for panel in panels.values() for value in panel.values())
    parts: list[str] = []
    y = TOP
    for title, rates in panels.items():
        parts.append(label(MARGIN, y + 16, title, "ink", bold=True))
        y += PANEL - 12
        for peer, value in rates.items():
            parts += bar(y, peer, value, value / scale)
            y += BAR + GAP
        y += 12
    return "\n".join([*head(results, y + 4), *parts, "</svg>"])


def head(results: Results, height: int) -> Iterator[str]:
    """Draw the card and its title."""
    size = f'width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
    font = 'font-family="system-ui, sans-serif" font-size="13"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>'
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="card" x="1" y="1" width="{WIDTH - 2}" height="{height - 2}" rx="8"/>'
    title = f"Encoding with {VOCABS[VOCAB].title}: MB per CPU second, one thread, cold cache"
    yield label(MARGIN, 26, title, "ink", bold=True)
    yield label(MARGIN, 46, f"The ids of all are equal. {results['machine']['CPU']}", "pale")


def bar(y: int, peer: str, value: float, share: float) -> Iterator[str]:
    """Draw an encoder's bar, with its name before it and its rate behind it."""
    ours = peer == "zeton"
    length = (WIDTH - 2 * MARGIN - NAME - VALUE) * share
    yield label(MARGIN, y + 13, peer, "ink", bold=ours)
    shape = f'x="{MARGIN + NAME}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2"'
    yield f'<rect class="{"ours" if ours else "other"}" {shape}/>'
    yield label(MARGIN + NAME + length + 6, y + 13, f"{value:.0f}", "ink", bold=ours)


def label(x: float, y: float, content: str, name: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text class="{name}" x="{x:.1f}" y="{y}"{weight}>{escape(content)}</text>'
