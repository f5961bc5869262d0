"""Pictures: every number has its place, and no label covers another or is cut off."""

from itertools import combinations
from math import inf, nan
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zeton.training.report.charts import CHARACTER, WIDTH, Points, bars, lines, number

LETTER_HEIGHT = 12

sizes = st.integers(1, 1 << 24)
ratios = st.floats(0, 100)
curves = st.lists(st.tuples(sizes, ratios), min_size=1, max_size=40).map(sorted)
counts = st.lists(st.tuples(sizes, st.integers(1, 10**13)), min_size=1, max_size=40).map(sorted)


def boxes(svg: ET.Element) -> dict[str, tuple[float, float, float, float]]:
    """Tell about where each text is: left, right, top, bottom."""
    found = {}
    for text in svg.iter("text"):
        x, y = float(text.attrib["x"]), float(text.attrib["y"])
        wide = len(text.text or "") * CHARACTER
        before = {"e": 1, "m": 0.5}.get(text.get("class", "")[:1], 0) * wide
        found[f"{text.text} at {x}, {y}"] = (x - before, x - before + wide, y - LETTER_HEIGHT, y)
    return found


def assert_readable(svg: str) -> None:
    root = ET.fromstring(svg)  # noqa: S314 - our own.
    height = float(root.attrib["viewBox"].split()[3])
    placed = boxes(root)
    for name, (left, right, top, bottom) in placed.items():
        assert left >= -0.1, name
        assert right <= WIDTH + 0.1, name
        assert top >= -0.1, name
        assert bottom <= height + 0.1, name
    for (one, a), (other, b) in combinations(placed.items(), 2):
        apart = a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
        assert apart, f"{one} covers {other}"
    for circle in root.iter("circle"):
        assert -0.1 <= float(circle.attrib["cx"]) <= WIDTH
        assert 0 <= float(circle.attrib["cy"]) <= height


@given(curves, curves)
def test_the_labels_of_two_lines_are_readable(corpus: Points, held_out: Points) -> None:
    series = {"corpus 4.48": corpus, "held-out 4.47": held_out}
    assert_readable(lines("x", series, x="tokens in the vocabulary", y="bytes per token"))


@given(counts)
def test_the_labels_of_logarithmic_axes_are_readable(points: Points) -> None:
    assert_readable(lines("x", {"last 5": points}, x="merges", y="occurrences", log_y=True))


@given(st.dictionaries(st.sampled_from(["Latin", "punctuation and symbols"]), sizes, min_size=1))
def test_the_labels_of_bars_are_readable(values: dict[str, int]) -> None:
    assert_readable(bars("x", values))


@given(counts, st.booleans())
def test_there_are_few_gridlines(points: Points, log_y: bool) -> None:  # noqa: FBT001
    svg = ET.fromstring(lines("x", {"a": points}, x="x", y="y", log_y=log_y))  # noqa: S314
    assert 2 <= sum("H" in path.attrib["d"] for path in svg.iter("path")) <= 7


def test_higher_and_larger_is_further_up_and_right() -> None:
    svg = ET.fromstring(lines("x", {"a": [(1, 1.0), (10, 3.0), (100, 2.0)]}, x="x", y="y"))  # noqa: S314
    at = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in svg.iter("circle")]
    assert at[1][0] - at[0][0] == pytest.approx(at[2][0] - at[1][0], abs=0.2)
    assert at[0][1] > at[2][1] > at[1][1]


def test_a_line_goes_through_its_points() -> None:
    svg = ET.fromstring(lines("x", {"a": [(1, 1.0), (9, 3.0)]}, x="x", y="y"))  # noqa: S314
    points = " ".join(f"{c.attrib['cx']},{c.attrib['cy']}" for c in svg.iter("circle"))
    assert [line.attrib["points"] for line in svg.iter("polyline")] == [points]


def test_a_long_line_keeps_its_first_and_its_last_point() -> None:
    svg = lines("x", {"a": [(n, 1e6 / n) for n in range(1, 100_001)]}, x="x", y="y", log_y=True)
    assert "<title>1 x: 1 M y</title>" in svg
    assert "<title>100,000 x: 10 y</title>" in svg
    assert svg.count("<circle") <= 150


@pytest.mark.parametrize("point", [(0, 1.0), (1, nan), (1, inf)])
def test_a_point_without_a_place_is_left_out(point: tuple[int, float]) -> None:
    assert lines("x", {"a": [point]}, x="x", y="y") == ""
    assert lines("x", {"a": [point, (2, 3.0)]}, x="x", y="y").count("<circle") == 1


def test_a_logarithm_has_no_zero() -> None:
    assert lines("x", {"a": [(1, 0), (2, 5)]}, x="x", y="y", log_y=True).count("<circle") == 1


def test_the_longest_bar_is_the_most_and_nothing_has_none() -> None:
    svg = ET.fromstring(bars("x", {"a": 4, "b": 2, "c": 0}))  # noqa: S314
    four, two, zero = (float(bar.attrib["width"]) for bar in svg.iter("rect"))
    assert four == pytest.approx(2 * two, abs=0.2)
    assert zero == 0 < two


def test_a_picture_says_what_it_shows() -> None:
    svg = ET.fromstring(bars("Fruit", {"<apples>": 3, "pears": 1}))  # noqa: S314
    assert svg.get("role") == "img"
    assert svg.get("aria-label") == "Fruit. <apples>: 3 (75%); pears: 1 (25%)"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (100, "100"),
        (1000, "1,000"),
        (12_345, "12,345"),
        (999_999, "999,999"),
        (1_000_000, "1 M"),
        (960_000_000, "960 M"),
        (999_960_000, "1 G"),
        (1_250_000_000, "1.2 G"),
        (3e15, "3,000 T"),
        (0.05, "0.05"),
        (4.004, "4"),
    ],
)
def test_numbers_are_written_for_people(value: float, expected: str) -> None:
    assert number(value) == expected
