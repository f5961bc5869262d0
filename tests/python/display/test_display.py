"""Pictures for notebooks: coloured tokens and tables, safe for any text."""

import re
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.strategies import BYTES, odd_bytes, odd_text
from zeton.evaluation import measure

GPT2 = zeton.pretrained("gpt2")
HOSTILE = "<script>alert(1)</script><img src=x onerror=\"alert('2')\">&lt;</style>"


class Reader(HTMLParser):
    """Collects elements, attributes and text of HTML, and checks that elements close."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] != "style":
            self.text += data


def html_of(value: Any) -> str:
    html = value._repr_html_()
    assert isinstance(html, str)
    return html


def titles(html: str) -> list[str]:
    return [value or "" for name, value in Reader(html).attributes if name == "title"]


def test_a_token_has_its_id_rank_and_bytes_on_hover() -> None:
    html = html_of(GPT2.show("low lowest<|endoftext|>", allowed_special="all"))
    assert titles(html) == [
        "id 9319, rank 9319, 3 bytes: 6c 6f 77",
        "id 9016, rank 9016, 7 bytes: 20 6c 6f 77 65 73 74",
        "id 50256, special, 13 bytes: 3c 7c 65 6e 64 6f 66 74 65 78 74 7c 3e",
    ]
    assert Reader(html).text == "low␣lowest<|endoftext|>3 tokens, 23 bytes"


def test_a_terminal_has_bars() -> None:
    assert repr(GPT2.show("low lowest")) == "low|␣lowest\n2 tokens, 10 bytes"
    assert repr(GPT2.show("")) == "0 tokens, 0 bytes"
    assert repr(GPT2.show("\x1b[2J\n")) == "\\x1b|[|2|J|\\n\n5 tokens, 5 bytes"


def test_blanks_and_control_characters_are_visible() -> None:
    tok = zeton.Tokenizer(BYTES, pattern="(?s:.)")
    text = Reader(html_of(tok.show(" \t\n\x1b\x00"))).text
    assert text.startswith("␣\\t\\n\\x1b\\x00")
    assert (
        "\\u{202e}"
        in Reader(
            html_of(
                zeton.Tokenizer(
                    BYTES | {b"\xe2\x80": 256, "\u202e".encode(): 257}, pattern="(?s:.)"
                ).show("\u202e")
            )
        ).text
    )
    assert "\\xe8\\xaa" in Reader(html_of(GPT2.show("語"))).text


HOLDERS = [
    lambda: GPT2.show(HOSTILE),
    lambda: GPT2.with_specials([HOSTILE]).show(HOSTILE, allowed_special="all"),
    lambda: GPT2.with_specials([HOSTILE]),
    lambda: zeton.Tokenizer(BYTES, pattern=r"<script>|</style>|[\s\S]"),
    lambda: zeton.train([HOSTILE], vocab_size=256, split=lambda text: [text]),
    lambda: GPT2.explain(HOSTILE),
    lambda: GPT2.with_specials([HOSTILE]).explain(HOSTILE, allowed_special="all"),
    lambda: measure([(HOSTILE, HOSTILE.encode())], tokenizers={HOSTILE: GPT2, "other": GPT2}),
]


@pytest.mark.parametrize("make", HOLDERS)
def test_hostile_text_is_only_text(make: Any) -> None:
    html = html_of(make())
    read = Reader(html)
    assert read.tags <= {"div", "style", "span", "i", "br", "table", "tr", "th", "td", "code"}
    assert {name for name, _ in read.attributes} <= {"class", "title"}
    assert html.count("</style>") == 1
    assert "<script" not in html
    assert "url(" not in html
    assert "@import" not in html


@given(text=st.one_of(odd_text, odd_bytes))
def test_any_text_has_a_picture(text: str | bytes) -> None:
    shown = GPT2.show(text)
    assert shown.count == len(GPT2.encode(text))
    assert len(titles(html_of(shown))) == shown.count
    assert "\n" not in repr(shown).removesuffix("s").rsplit("\n", 1)[0]
    Reader(html_of(GPT2.explain(text)))


def test_the_size_is_bounded_and_says_what_is_left_out() -> None:
    shown = GPT2.show("word " * 50_000, tokens_max=10)
    assert len(shown.tokens) == 10
    note = f"{shown.count:,} tokens, 250,000 bytes; {shown.count - 10:,} more not shown"
    assert note in html_of(shown)
    assert note in repr(shown)
    assert len(html_of(GPT2.show("word " * 50_000))) < 400_000
    assert len(html_of(GPT2.explain("word! " * 5_000))) < 1_000_000
    long = zeton.Tokenizer(BYTES).with_specials(["<" * 1_000])
    assert len(html_of(long.show("<" * 1_000, allowed_special="all"))) < 10_000
    assert len(html_of(long)) < 20_000
    many = zeton.Tokenizer(BYTES, specials={f"<{at}>": 300 + at for at in range(5000)})
    assert "and 4,992 more" in html_of(many)


def test_a_tokenizer_shows_its_size_pattern_and_a_text() -> None:
    text = Reader(html_of(GPT2)).text
    for part in ("50,257 ids", "<|endoftext|>", GPT2.pattern[:40], "transducer", "Hello"):
        assert part in text


def test_an_explanation_shows_pieces_rules_and_merges() -> None:
    text = Reader(html_of(GPT2.explain("It's low"))).text
    for part in ("contraction", "l + ow", "2:4", "3 pieces, 3 tokens"):
        assert part in text
    assert repr(GPT2.explain("It's low")) == (
        "<zeton.Explanation: 3 pieces, 3 ids: It (word), 's (contraction),  low (word)>"
    )
    assert len(repr(GPT2.explain("word " * 1000))) < 300
    assert repr(GPT2.explain("")) == "<zeton.Explanation: 0 pieces, 0 ids>"


def test_an_evaluation_stars_the_fewest_tokens() -> None:
    toks = {"bytes": zeton.Tokenizer(BYTES), "gpt2": GPT2}
    rows = measure([("a.txt", b"low lower"), ("empty", b"")], tokenizers=toks)
    text = Reader(html_of(rows)).text
    assert "a.txt991.002 ★4.50" in text
    assert "2 files" in text


def test_light_and_dark_have_every_color() -> None:
    html = html_of(GPT2.show("a"))
    sets = re.findall(r"\{color-scheme:(light|dark);([^}]*)\}", html)
    assert [scheme for scheme, _ in sets] == ["light", "dark", "light", "dark"]
    names = [re.findall(r"--z-([\w-]+):", each) for _, each in sets]
    assert all(each == names[0] for each in names)
    assert set(re.findall(r"var\(--z-([\w-]+)\)", html)) == set(names[0])


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def test_text_has_a_contrast_of_seven_to_one_on_every_color() -> None:
    from zeton.display import style

    for colors in (style._LIGHT, style._DARK):
        for name in ("paper", *(f"c{at}" for at in range(style.COLORS))):
            low, high = sorted((_luminance(colors["ink"]), _luminance(colors[name])))
            assert (high + 0.05) / (low + 0.05) >= 7, name
