"""Numbers as pictures: SVG to put into a page, whose style sheet must hold `STYLE`."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import NamedTuple

__all__ = ["STYLE", "bars", "lines", "number", "share"]

WIDTH, HEIGHT, TOP, BOTTOM, GAP = 440, 280, 30, 238, 8
ROW, BAR = 20, 14
CHARACTER, LABEL = 7.8, 16
"""About the width of a character, rather too much, and the height that a label needs."""

POINTS_MAX, DOTS_MAX = 150, 30
"""A line has at most so many points, and beyond the second number they show when pointed at."""

STYLE = """
svg { display: block; width: 100%; max-width: 560px; height: auto; }
svg text { font-size: 13px; fill: var(--pale); font-variant-numeric: tabular-nums; }
svg .end { text-anchor: end; } svg .middle { text-anchor: middle; } svg .ink { fill: var(--ink); }
svg path { stroke: var(--rule); }
svg polyline { fill: none; stroke-width: 2; stroke-linejoin: round; }
svg .first polyline { stroke: var(--first); }
svg .second polyline { stroke: var(--second); stroke-dasharray: 6 3; }
svg rect { fill: var(--bar); } svg .first text, svg .first circle { fill: var(--first); }
svg .second text, svg .second circle { fill: var(--second); }
svg g text { font-weight: 600; }
svg .many circle { opacity: 0; } svg .many circle:hover { opacity: 1; }
"""
"""It wants the colours --ink, --pale, --rule, --bar, --first and --second."""

Points = Sequence[tuple[float, float]]


class Axis(NamedTuple):
    """A stretch of numbers, the marks on it, and the pixels that it is drawn between."""

    low: float
    high: float
    ticks: list[float]
    start: float
    end: float
    log: bool

    def place(self, value: float) -> float:
        """Say where a number is drawn.

        >>> Axis(1, 100, [], 0, 300, log=True).place(10)
        150.0
        """
        low, high, value = (log10(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (self.end - self.start) * (value - low) / (high - low)


def lines(label: str, series: Mapping[str, Points], *, x: str, y: str, log_y: bool = False) -> str:
    """Draw one or two lines over a logarithmic axis; each name stands where its line ends.

    Points that the axes have no place for are left out; without any, there is no picture.

    >>> svg = lines("Growth", {"ours": [(1, 2.0), (10, 3.0)]}, x="tokens", y="bytes")
    >>> "<title>10 tokens: 3 bytes</title>" in svg, ">ours</text>" in svg
    (True, True)
    """
    drawn = {}
    for name, points in series.items():
        some = [p for p in _some(points) if p[0] > 0 and isfinite(p[1]) and (p[1] > 0 or not log_y)]
        if some:
            drawn[name] = some
    if not drawn:
        return ""
    xs, ys = zip(*(point for points in drawn.values() for point in points), strict=True)
    up = (_decades if log_y else _even)(min(ys), max(ys))
    left = max(30, _width(up.ticks) + GAP)
    right = WIDTH - max(30, GAP + max(map(len, drawn)) * CHARACTER)
    along = _round_numbers(min(xs), max(xs), left, right)

    parts = [_text(0, 12, y), _text((left + right) / 2, HEIGHT - 4, x, "middle")]
    for tick in up.ticks:
        at = up.place(tick)
        parts.append(f'<path d="M{left:.1f} {at:.1f}H{right:.1f}"/>')
        parts.append(_text(left - GAP, at + 4, number(tick), "end"))
    for tick in along.ticks:
        at = along.place(tick)
        parts.append(f'<path d="M{at:.1f} {BOTTOM}v5"/>')
        parts.append(_text(at, BOTTOM + 19, number(tick), "middle"))
    ends = _apart([up.place(points[-1][1]) for points in drawn.values()])
    for which, end, (name, points) in zip(("first", "second"), ends, drawn.items(), strict=False):
        placed = [(f"{along.place(a):.1f}", f"{up.place(b):.1f}") for a, b in points]
        parts.append(f'<g class="{which}{" many" * (len(points) > DOTS_MAX)}">')
        parts.append(f'<polyline points="{" ".join(map(",".join, placed))}"/>')
        for (a, b), (across, down) in zip(points, placed, strict=True):
            told = escape(f"{number(a)} {x}: {number(b)} {y}")
            parts.append(
                f'<circle cx="{across}" cy="{down}" r="3.5"><title>{told}</title></circle>'
            )
        parts += [_text(right + GAP, end + 4, name), "</g>"]
    return _svg(label, HEIGHT, parts)


def bars(label: str, values: Mapping[str, int]) -> str:
    """Draw a row for each value, with its share of all.

    >>> "3 (75%)" in bars("Fruit", {"apples": 3, "pears": 1})
    True
    """
    total, most = sum(values.values()), max([1, *values.values()])
    shown = {name: f"{number(v)} ({share(v, total)})" if v else "0" for name, v in values.items()}
    left = max(map(len, values)) * CHARACTER + GAP
    length = WIDTH - left - GAP - max(map(len, shown.values())) * CHARACTER
    parts = []
    for row, (name, value) in enumerate(values.items()):
        y, wide = row * ROW, length * value / most
        parts += [
            _text(left - GAP, y + 14, name, "end ink"),
            f'<rect x="{left:.1f}" y="{y + 3}" width="{wide:.1f}" height="{BAR}"/>',
            _text(left + wide + GAP / 2, y + 14, shown[name]),
        ]
    told = "; ".join(f"{name}: {value}" for name, value in shown.items())
    return _svg(f"{label}. {told}", len(values) * ROW, parts)


def number(value: float) -> str:
    """Write a number for people: in full below a million, with at most two decimals.

    >>> [number(value) for value in (7, 12345, 1234567, 4.512, 2.0)]
    ['7', '12,345', '1.2 M', '4.51', '2']
    """
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if value >= 1e6 and round(value / size, 4) >= 1:
            return f"{value / size:,.1f}".removesuffix(".0") + f" {unit}"
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def share(part: float, whole: float) -> str:
    """Write a part in percent; what is there is never 0%, and what is missing shows too.

    >>> share(1, 3), share(1, 1000), share(999, 1000), share(0, 0)
    ('33%', '<1%', '>99%', '0%')
    """
    percent = 100 * part / whole if whole else 0
    if 0 < percent < 1:
        return "<1%"
    return ">99%" if 99 < percent < 100 else f"{percent:.0f}%"


def _some(points: Points) -> Points:
    """Take the first points, then ever fewer, and the last: even steps of a logarithm.

    >>> len(_some([(n, n) for n in range(200_000)])) <= POINTS_MAX
    True
    """
    if len(points) <= POINTS_MAX:
        return points
    numbers = {round(len(points) ** (at / (POINTS_MAX - 1))) for at in range(POINTS_MAX)}
    return [points[at - 1] for at in sorted(numbers)]


def _even(low: float, high: float) -> Axis:
    """Mark multiples of 1, 2 or 5 so that there are about four.

    >>> _even(1.0, 4.3).ticks
    [1.0, 2.0, 3.0, 4.0, 5.0]
    """
    rough = max((high - low) / 4, abs(high) / 20, 0.01)
    power = 10.0 ** floor(log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough)
    first = floor(low / step + 1e-9)
    last = max(ceil(high / step - 1e-9), first + 1)
    ticks = [step * at for at in range(first, last + 1)]
    return Axis(ticks[0], ticks[-1], ticks, BOTTOM, TOP, log=False)


def _decades(low: float, high: float) -> Axis:
    first = floor(log10(low))
    last = max(ceil(log10(high)), first + 1)
    ticks = [10.0**power for power in range(first, last + 1, ceil((last - first) / 6))]
    return Axis(10.0**first, 10.0**last, ticks, BOTTOM, TOP, log=True)


def _round_numbers(low: float, high: float, start: float, end: float) -> Axis:
    """Mark as many round numbers as fit beside each other.

    >>> _round_numbers(256, 32768, 30, 370).ticks
    [300.0, 1000.0, 3000.0, 10000.0, 30000.0]
    """
    if low == high:
        low, high = low / 2, high * 2
    axis = Axis(low, high, [], start, end, log=True)
    for decades, multiples in ((1, (1, 2, 5)), (1, (1, 3)), (1, (1,)), (2, (1,))):
        powers = range(floor(log10(low)), ceil(log10(high)) + 1, decades)
        marks = [10.0**power * times for power in powers for times in multiples]
        axis = axis._replace(ticks=[mark for mark in marks if low <= mark <= high] or [low, high])
        gaps = [after - before for before, after in pairwise(map(axis.place, axis.ticks))]
        if min(gaps, default=end) >= _width(axis.ticks) + GAP:
            break
    return axis


def _apart(places: Sequence[float]) -> list[float]:
    """Move labels up until none covers another.

    >>> _apart([52, 50])
    [52, 36]
    """
    moved = list(places)
    limit: float = HEIGHT
    for at in sorted(range(len(moved)), key=moved.__getitem__, reverse=True):
        moved[at] = min(moved[at], limit)
        limit = moved[at] - LABEL
    return moved


def _width(values: Sequence[float]) -> float:
    return max(len(number(value)) for value in values) * CHARACTER


def _text(x: float, y: float, content: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named}>{escape(content)}</text>'


def _svg(label: str, height: int, parts: Sequence[str]) -> str:
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
    return "\n".join([head, *parts, "</svg>"])
