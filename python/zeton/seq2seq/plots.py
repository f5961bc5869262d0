"""Pictures as SVG files: the loss curve of a training run, and the attention of an answer."""

from collections.abc import Sequence
from html import escape

from zeton.seq2seq.report import Report
from zeton.training.report.charts import CHARACTER, STYLE, lines

__all__ = ["attention_map", "loss_curve"]

COLOURS = """
svg { background: #ffffff; font-family: system-ui, sans-serif; --ink: #1a1a1a; --pale: #5b6470;
  --rule: #dfe3e8; --first: #c8102e; --second: #0b5cad; --bar: #75818f; }
"""
SQUARE, MARGIN = 26, 8


def loss_curve(report: Report) -> str:
    """Draw training and validation loss over the steps; a report without steps gives ""."""
    series = {
        "training": report.losses,
        "validation": [(each.step, each.validation_loss) for each in report.epochs],
    }
    return _alone(lines("Loss in training", series, x="steps", y="nats per token"))


def attention_map(
    read: Sequence[str], written: Sequence[str], weights: Sequence[Sequence[float]]
) -> str:
    """Draw attention weights: a row for each target token, a column for each source token.

    A darker square is a larger weight; its tooltip has the number.

    >>> "0.75</title>" in attention_map(["c", "a"], ["K"], [[0.75, 0.25]])
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
            tooltip = escape(f"{token.strip()} at {read[column]}: {share:.2f}")
            parts.append(
                f'<rect x="{left + column * SQUARE:.1f}" y="{y:.1f}" width="{SQUARE - 1}" '
                f'height="{SQUARE - 1}" fill-opacity="{share:.3f}" style="fill: var(--second)">'
                f"<title>{tooltip}</title></rect>"
            )
    width, height = left + len(read) * SQUARE + MARGIN, top + len(written) * SQUARE + MARGIN
    head = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="Attention">'
    return _alone("\n".join([head, *parts, "</svg>"]))


def _alone(svg: str) -> str:
    """Add the namespace, colours and style that an SVG file needs."""
    head, _, rest = svg.partition(">")
    if not rest:
        return ""
    named = head.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
    return f"{named}>\n<style>{COLOURS}{STYLE}</style>{rest}\n"
