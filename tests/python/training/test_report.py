"""The page that tells of a training: whole, safe to open, and true."""

import re
import time
from dataclasses import replace
from html.parser import HTMLParser
from math import inf, nan
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from zeton import reference
from zeton.training.report.page import Facts, duration, html

BYTES = [bytes([byte]) for byte in range(256)]
FACTS = Facts(
    name="small",
    pattern=zeton.DEFAULT_PATTERN,
    texts=12_345,
    corpus_bytes=1_234_567,
    pieces=678,
    left_out=(0, 0),
    skipped="",
    seconds=(1.5, 62.0),
    tokens=dict(enumerate([*BYTES, b" t", b" th", b" the"])),
    merges=[(32, 116, 900), (256, 104, 800), (257, 101, 70)],
    first_new=256,
    ties=1,
    curve=[(256, 1.0, 1.0), (257, 1.5, 1.25), (259, 2.125, 1.75)],
    made=[(260, 2.125, 1.75)],
    specials=["<|end|>"],
)
SECTIONS = [
    "Compression against vocabulary size",
    "Count of each merge",
    "Token lengths",
    "Scripts covered",
    "The first and the last merges",
    "Ties",
    "Longest tokens",
    "Pattern and specials",
]
HOSTILE = "</title></style></code><script>alert('1')</script><img src=x onerror=\"a()\">&amp;"
REORDERING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"


def tree(page: str) -> ET.Element:
    """Read the page as XML, which forgives nothing."""
    return ET.fromstring(page)  # noqa: S314 - our own.


def section(page: str, title: str) -> ET.Element:
    (found,) = (part for part in tree(page).iter("section") if part.findtext("h2") == title)
    return found


def words(element: ET.Element) -> str:
    return "".join(element.itertext())


def rows(element: ET.Element) -> list[list[str]]:
    return [[words(cell) for cell in row] for row in element.iterfind(".//tbody/tr")]


def figures(page: str) -> dict[str, str]:
    boxes = tree(page).iterfind(".//dl/div")
    return {words(name): words(value) for name, value in boxes}


def bars(page: str, title: str) -> dict[str, str]:
    texts = [text.text or "" for text in section(page, title).iter("text")]
    return dict(zip(texts[::2], texts[1::2], strict=True))


def made_of(tokens: list[bytes], **changes: Any) -> Facts:
    """Tell of tokens that all came from the same pair."""
    merges = [(32, 32, len(tokens) - at) for at in range(len(tokens))]
    return replace(FACTS, tokens=dict(enumerate([*BYTES, *tokens])), merges=merges, **changes)


class Tags(HTMLParser):
    """What a browser's parser finds: it reads `<script>` where XML would stop."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


def assert_harmless(page: str) -> None:
    tree(page)
    page.encode()
    seen = Tags(page)
    assert not seen.tags & {"script", "img", "link", "iframe", "object", "a", "form", "base"}
    assert not {name for name in seen.attributes if name.startswith(("on", "src", "href"))}
    assert "style" not in seen.attributes
    assert not set(page) & set(REORDERING)


def test_all_sections_are_there_in_their_order_and_say_how_to_read_them() -> None:
    parts = list(tree(html(FACTS)).iter("section"))
    assert [part.findtext("h2") for part in parts] == SECTIONS
    assert all(part.findtext("p", "").strip().endswith(".") for part in parts)


def test_the_head_tells_the_figures() -> None:
    assert figures(html(FACTS)) == {
        "texts": "12,345",
        "bytes of text": "1.2 M",
        "distinct pieces": "678",
        "vocabulary size": "260",
        "bytes per token": "2.12",
        "validation bytes per token": "1.75",
        "time": "1 min 04 s",
        "ties": "1",
    }


def test_each_of_several_sizes_has_a_row() -> None:
    made = [(258, 1.5, 1.25), (260, 2.125, None)]
    page = html(replace(FACTS, made=made))
    assert rows(section(page, SECTIONS[0])) == [["258", "1.500", "1.250"], ["260", "2.125", "-"]]
    assert figures(page)["vocabulary size"] == "260"
    assert "tokenizers were made" not in html(FACTS)


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    page = html(FACTS)
    assert_harmless(page)
    assert not re.search(r"https?:|url\(|@import", page)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    metas = [meta.get("content") for meta in tree(page).iter("meta")]
    assert policy in metas


def test_what_comes_from_outside_stays_text() -> None:
    token = HOSTILE.encode()[:50]
    page = html(
        made_of([token], name=HOSTILE, pattern=HOSTILE, skipped=HOSTILE, specials=[HOSTILE[:60]])
    )
    assert_harmless(page)
    whole = words(tree(page))
    assert whole.count(HOSTILE) == 4  # The title, the heading, the line, the pattern.
    assert whole.count(token.decode()) == 4 + 3  # The special, the merge and the longest token.


def test_what_does_not_print_is_written_out() -> None:
    page = html(made_of(["a\0\u202eb\u200b".encode()], name="n\udc80\x1b", skipped=REORDERING))
    assert_harmless(page)
    assert r"a\x00\u{202e}b\u{200b}" in page
    assert r"n\u{dc80}\x1b" in page


def test_letters_from_right_to_left_stay_in_their_place() -> None:
    hebrew = "שלום"
    page = html(
        made_of([hebrew.encode()], name=hebrew, pattern=hebrew, skipped=hebrew, specials=[hebrew])
    )
    found = [words(part) for part in tree(page).iter("bdi")].count(hebrew)
    assert found == page.count(hebrew) - 1 == 6  # The page's title shows no markup.


@given(
    st.lists(st.binary(min_size=1, max_size=20) | st.text(min_size=1).map(str.encode), max_size=9),
    st.text(st.characters()),
    st.text(),
    st.lists(st.text(min_size=1), max_size=3),
)
def test_any_tokens_and_names_make_a_page(
    tokens: list[bytes], name: str, pattern: str, specials: list[str]
) -> None:
    assert_harmless(html(made_of(tokens, name=name, pattern=pattern, specials=specials)))


@pytest.mark.parametrize(
    "changes",
    [
        {"merges": [], "tokens": dict(enumerate(BYTES)), "ties": 0},
        {"merges": [], "tokens": {}, "curve": [], "specials": [], "texts": 0, "corpus_bytes": 0},
        {"curve": [(259, 2.0, None)]},
        {"curve": [(256, 0.0, 0.0)]},
        {"curve": [(256, nan, inf)], "made": [(size, nan, inf) for size in range(99)]},
        {"curve": [(256, 1.0, 1.0), (259, 1.0, None)]},
        {"curve": [(size, size / 9, None) for size in range(1, 5000)]},
        {"merges": [(32, 116, 0), (256, 104, 0), (257, 101, 0)]},
        {"merges": [(32, 116, 10**15), (256, 104, 1), (257, 101, 1)]},
        {"tokens": dict(FACTS.tokens) | {258: b"a" * 1_000_000, 10**9: b"after a gap"}},
        {"seconds": (0.0, 0.0), "pieces": 0, "left_out": (5, 7), "name": "", "pattern": ""},
    ],
)
def test_odd_facts_make_a_page(changes: dict[str, Any]) -> None:
    page = html(replace(FACTS, **changes))
    assert_harmless(page)
    assert len(page.encode()) < 300_000
    assert [part.findtext("h2") for part in tree(page).iter("section")] == SECTIONS


def test_without_merges_it_says_so() -> None:
    page = html(replace(FACTS, merges=[], tokens=dict(enumerate(BYTES)), ties=0))
    for title in ("Count of each merge", "The first and the last merges"):
        assert "No merge was learned." in words(section(page, title))
    assert "No token is longer than a byte." in words(section(page, "Longest tokens"))
    assert "0 of 0 merges (0%)" in words(section(page, "Ties"))


def test_without_held_out_texts_there_is_one_line() -> None:
    curve = [(size, value, None) for size, value, _ in FACTS.curve]
    page = html(replace(FACTS, curve=curve, made=curve[-1:]))
    assert len(list(section(page, SECTIONS[0]).iter("polyline"))) == 1
    assert figures(page)["validation bytes per token"] == "-"
    assert len(list(section(html(FACTS), SECTIONS[0]).iter("polyline"))) == 2


def test_each_measured_size_is_a_point_that_tells_itself() -> None:
    titles = [words(title) for title in section(html(FACTS), SECTIONS[0]).iter("title")]
    told = "tokens in the vocabulary: {} bytes per token"
    assert titles[:3] == [f"{n} {told.format(v)}" for n, v in ((256, 1), (257, 1.5), (259, 2.12))]
    assert titles[-1] == f"259 {told.format(1.75)}"


def test_pictures_have_a_role_and_a_name() -> None:
    pictures = list(tree(html(FACTS)).iter("svg"))
    assert len(pictures) == 4
    assert all(picture.get("role") == "img" for picture in pictures)
    assert pictures[0].get("aria-label") == (
        "Bytes per token for 256 to 259 tokens; at the end: corpus 2.12, validation 1.75"
    )
    assert pictures[1].get("aria-label") == "Count of 3 merges, falling from 900 to 70"


@pytest.mark.parametrize("total", [1, 20, 21, 39, 40, 41, 1000])
def test_the_tables_have_the_first_and_the_last_merges_and_none_twice(total: int) -> None:
    tokens = [b"%d" % at for at in range(1000, 1000 + total)]
    shown = [row[0] for row in rows(section(html(made_of(tokens)), SECTIONS[4]))]
    ids = [f"{256 + at:,}" for at in range(total)]
    assert shown == (ids if total <= 40 else ids[:20] + ids[-20:])


def test_a_merge_tells_its_parts_its_token_and_its_count() -> None:
    assert rows(section(html(FACTS), SECTIONS[4])) == [
        ["256", "  + t →  t", "900"],
        ["257", " t + h →  th", "800"],
        ["258", " th + e →  the", "70"],
    ]


def test_merges_may_go_on_from_a_vocabulary() -> None:
    facts = replace(FACTS, first_new=258, merges=[(257, 101, 70)])
    assert rows(section(html(facts), SECTIONS[4])) == [["258", " th + e →  the", "70"]]


def test_the_longest_tokens_come_first_and_equals_by_id() -> None:
    shown = rows(section(html(made_of([b"ab", b"abcd", b"bc", b"abc"])), "Longest tokens"))
    assert shown == [
        ["257", "abcd", "4"],
        ["259", "abc", "3"],
        ["256", "ab", "2"],
        ["258", "bc", "2"],
    ]


def test_a_long_token_is_cut_and_its_size_is_not() -> None:
    (row,) = rows(section(html(made_of([b"=" * 5000])), "Longest tokens"))
    assert row == ["256", "=" * 64 + "…", "5,000"]


def test_token_lengths_are_counted_in_bytes() -> None:
    shown = bars(html(made_of(["é".encode(), b"abc", b"a" * 17, b"a" * 99, b""])), "Token lengths")
    assert {name: value.split()[0] for name, value in shown.items() if value != "0"} == {
        "1 byte": "256",
        "2 bytes": "1",
        "3 bytes": "1",
        "17 or more": "2",
    }
    assert list(shown) == ["1 byte", *(f"{n} bytes" for n in range(2, 17)), "17 or more"]


def test_scripts_are_counted_by_tokens() -> None:
    shown = bars(html(made_of([" где".encode(), "ты".encode(), b"\xd0\xb3\xd0"])), SECTIONS[3])
    assert shown["Cyrillic"] == "2 (<1%)"
    assert shown["parts of characters"] == "129 (50%)"
    assert shown["Thai"] == "0"
    assert shown["Latin"] == "52 (20%)"
    assert shown["digits"] == "10 (4%)"


def test_ties_are_told_with_their_rule() -> None:
    told = words(section(html(FACTS), "Ties"))
    assert "1 of 3 merges (33%)" in told
    assert "smallest pair of ids" in told
    few = html(made_of([b"ab"] * 200))
    assert "1 of 200 merges (<1%)" in words(section(few, "Ties"))


def test_what_was_left_out_and_skipped_is_told_only_if_there_was_any() -> None:
    page = html(replace(FACTS, left_out=(5000, 6000), skipped="2 files are not UTF-8"))
    assert "Too rare to learn from: 5,000 pieces, 6,000 occurrences." in page
    assert "2 files are not UTF-8" in page
    assert "Too rare" not in html(FACTS)


def test_the_pattern_and_the_specials_are_at_the_end() -> None:
    codes = [words(code) for code in section(html(FACTS), SECTIONS[-1]).iter("code")]
    assert codes == [FACTS.pattern, "<|end|>"]


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ('{"rules":1,"keep":["a<b"]}', ["base nanochat", "keep 1: a<b"]),
        ('{"rules":9}', ['{"rules":9}']),
    ],
)
def test_rules_are_shown_a_line_each(pattern: str, shown: list[str]) -> None:
    last = section(html(replace(FACTS, pattern=pattern)), SECTIONS[-1])
    assert [words(code) for code in last.iter("code")] == [*shown, "<|end|>"]


def test_many_specials_are_cut() -> None:
    names = [f"<|{at}|>" for at in range(1500)]
    last = section(html(replace(FACTS, specials=names)), SECTIONS[-1])
    assert len(list(last.iter("code"))) == 101
    assert words(last).strip().endswith("and 1,400 more")
    assert "There are no specials." in html(replace(FACTS, specials=[]))


def test_a_large_vocabulary_takes_little_time_and_space() -> None:
    new = [b" %06x" % at if at % 3 else chr(0x4E00 + at % 9999).encode() for at in range(200_000)]
    facts = made_of(new)
    before = time.process_time()
    page = html(facts)
    assert time.process_time() - before < 1
    assert len(page.encode()) < 100_000


def test_the_worst_names_and_tokens_do_not_make_a_large_page() -> None:
    worst = '"' * 10_000
    facts = made_of(
        [worst.encode()] * 200, name=worst, pattern=worst, skipped=worst, specials=[worst] * 999
    )
    merges = [(256, 256, 200 - at) for at in range(200)]
    curve = [(at, at / 3, at / 4) for at in range(1, 100_000)]
    assert len(html(replace(facts, merges=merges, curve=curve)).encode()) < 300_000


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_text_and_lines_stand_out_in_both_modes(mode: int) -> None:
    found = re.findall(r"--(\w+): (#[0-9a-f]{6});", html(FACTS))
    each = len(found) // 2
    colors = dict(found[mode * each : (mode + 1) * each])
    page = luminance(colors["page"])
    assert (page > 0.5) is (mode == 0)
    for name, least in {"ink": 7, "pale": 4.5, "first": 4.5, "second": 4.5, "bar": 3}.items():
        low, high = sorted((page, luminance(colors[name])))
        assert (high + 0.05) / (low + 0.05) >= least, name


def test_every_color_is_defined() -> None:
    page = html(FACTS)
    assert set(re.findall(r"var\(--(\w+)\)", page)) == set(re.findall(r"--(\w+): #", page))


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "0.00 s"),
        (0.949, "0.95 s"),
        (12.34, "12.3 s"),
        (59.96, "1 min 00 s"),
        (61, "1 min 01 s"),
        (3599.6, "1 h 00 min"),
        (86_400, "24 h 00 min"),
    ],
)
def test_times_are_written_for_people(seconds: float, told: str) -> None:
    assert duration(seconds) == told


def test_a_real_training_is_told_as_it_was() -> None:
    texts = ["low lower lowest, low lower low", "где она? <b>low</b>, ты знаешь много", "שלום"] * 4
    tok = zeton.train(texts, vocab_size=300, specials=["<|end|>"])
    ranks = tok.ranks()
    tokens = sorted(ranks, key=ranks.__getitem__)
    pieces = reference.count(texts)
    merges = []
    for (left, right), made in sorted(tok.merges().items(), key=lambda merge: merge[1]):
        vocab = {token: at for at, token in enumerate(tokens[:made])}
        ids = [(reference.merge(piece, vocab), times) for piece, times in pieces.items()]
        pair = [left, right]
        count = sum(n * (seq[at : at + 2] == pair) for seq, n in ids for at in range(len(seq)))
        merges.append((left, right, count))
    size = sum(len(text.encode()) for text in texts)
    compressed = size / sum(tok.count(text) for text in texts)
    facts = replace(
        FACTS,
        tokens=dict(enumerate(tokens)),
        merges=merges,
        pieces=len(pieces),
        texts=len(texts),
        corpus_bytes=size,
        curve=[(256, 1.0, None), (300, compressed, None)],
        made=[(300, compressed, None)],
    )
    page = html(facts)
    assert_harmless(page)
    assert figures(page)["vocabulary size"] == "300"
    shown = rows(section(page, SECTIONS[4]))
    assert len(shown) == 40
    counts = [int(row[2]) for row in shown]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] == max(counts) > 1
    for at, (_, merge, _) in zip([*range(20), *range(23, 43)], shown, strict=True):
        both, _, whole = merge.partition(" → ")
        left, right, _ = merges[at]
        raw = tokens[left] + tokens[right]
        if raw.isascii() and raw.decode().isprintable():
            assert both.replace(" + ", "", 1) == whole == raw.decode()
