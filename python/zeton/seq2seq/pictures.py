"""A learning and a look as pictures: SVG files that stand alone."""

from collections.abc import Sequence
from html import escape

from zeton.seq2seq.report import Report
from zeton.training.report.charts import CHARACTER, STYLE, lines

__all__ = ["curve", "look"]

COLOURS = """
svg { background: #ffffff; font-family: system-ui, sans-serif; --ink: #1a1a1a; --pale: #5b6470;
  --rule: #dfe3e8; --first: #c8102e; --second: #0b5cad; --bar: #75818f; }
"""
SQUARE, MARGIN = 26, 8


def curve(report: Report) -> str:
    """Draw the loss of training and validation over the steps; without a step, nothing."""
    series = {
        "training": report.losses,
        "validation": [(each.step, each.validation_loss) for each in report.epochs],
    }
    return _alone(lines("Loss while learning", series, x="steps", y="nats a token"))


def look(read: Sequence[str], written: Sequence[str], weights: Sequence[Sequence[float]]) -> str:
    """Draw where attention looks: a row for each token written, a column for each one read.

    The darker a square, the more of the look is there; pointed at, it tells its share.

    >>> "0.75</title>" in look(["c", "a"], ["K"], [[0.75, 0.25]])
    True
    """
    left = MARGIN + max(len(token) for token in written) * CHARACTER + MARGIN
    top = 2 * MARGIN + CHARACTER * max(len(token) for token in read)
    parts = []
    for column, token in enumerate(read):
        x = left + (column + 0.65) * SQUARE
        place = f'x="{x:.1f}" y="{top - MARGIN:.1f}"'
        turn = f'transform="rotate(-90 {x:.1f} {top - MARGIN:.1f})"'
        parts.append(f'<text {place} {turn} class="ink">{escape(token)}</text>')
    for row, (token, shares) in enumerate(zip(written, weights, strict=True)):
        y = top + row * SQUARE
        parts.append(
            f'<text x="{left - MARGIN:.1f}" y="{y + 0.65 * SQUARE:.1f}" class="end ink">'
            f"{escape(token.strip())}</text>"
        )
        for column, share in enumerate(shares):
            told = escape(f"{token.strip()} at {read[column]}: {share:.2f}")
            parts.append(
                f'<rect x="{left + column * SQUARE:.1f}" y="{y:.1f}" width="{SQUARE - 1}" '
                f'height="{SQUARE - 1}" fill-opacity="{share:.3f}" style="fill: var(--second)">'
                f"<title>{told}</title></rect>"
            )
    width, height = left + len(read) * SQUARE + MARGIN, top + len(written) * SQUARE + MARGIN
    head = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Attention">'
    return _alone("\n".join([head, *parts, "</svg>"]))


def _alone(svg: str) -> str:
    """Let a picture stand in a file of its own, with its colours."""
    head, _, rest = svg.partition(">")
    if not rest:
        return ""
    named = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{named}>\n<style>{COLOURS}{STYLE}</style>{rest}\n"
