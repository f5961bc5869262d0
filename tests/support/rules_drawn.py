"""Rules and texts that hypothesis draws, small enough to meet each other."""

import ast
from typing import Any

from hypothesis import strategies as st

from support.paths import VECTORS
from zeton import Rules
from zeton.rules import Group, Isolate, Lexicon

# Letters with and without case, marks, digits, signs, spaces, scripts with and without spaces.
LETTERS = "aAbBsStTlLǅéÉʰ_ªſ"
OTHERS = "дДшあア中国人山กขา\u0e48\u0301\u0345\u064bक\u093f٣١12345½Ⅷ"
SIGNS = " \t\n\r\u00a0\u3000'’-/.!(_😀\u200d\0\ufffd"
ALPHABET = LETTERS + OTHERS + SIGNS

WORDS = [
    "a",
    "ab",
    "aB",
    "Bs",
    "a b",
    " a",
    "12",
    "123",
    "1.2",
    "中国",
    "中",
    "กา",
    "_",
    "é",
    "!",
    "\n",
]
REGEXES = [
    *(
        r"\d+",
        r"\d{2}-\d{2}",
        r"[a-z]+\d",
        r"a|ab|abc",
        r"ab|a",
        r"\w+!",
        r"<[^>]*>",
        r"\s{2,}",
        ".",
    ),
    *(
        r"\p{Lu}+",
        r"[^\w\s]+",
        r"'\w+",
        r"(?i)s+t",
        r"a+?b?",
        r"1(?:2|23)?",
        r"中国?",
        "\ufffd+",
        r"\bab",
    ),
]


SETS = ["a", "b", "1", " ", "é", "-", "中", "_", "\ufffd", ".", "[ab]", "[^a]", "(?i:A)"]
CLASSES = [r"\w", r"\d", r"\s"]
EDGES = [r"\b", r"\B", "^"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}"]


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Draw alternatives of regexes, or one with edges and others, which may repeat, around it."""
    repeated = st.tuples(inner, st.sampled_from(REPEATS)).map(
        lambda both: f"(?:{both[0]}){both[1]}"
    )
    beside = st.lists(st.one_of(inner, repeated, st.sampled_from(EDGES)), max_size=2).map("".join)
    return st.one_of(
        st.tuples(beside, inner, beside).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})"),
    )


regexes = st.recursive(st.sampled_from(SETS + CLASSES), larger, max_leaves=6)
"""Regexes that match at least one character, also in their repeated parts."""


@st.composite
def literals(draw: st.DrawFn, most: int = 4) -> list[str]:
    """Draw a few literals, which often overlap."""
    drawn = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=3)
    return draw(st.lists(st.one_of(st.sampled_from(WORDS), drawn), max_size=most, unique=True))


@st.composite
def grammars(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a base and its knobs."""

    def some(*choices: object) -> Any:
        return draw(st.one_of(st.none(), st.sampled_from(choices)))

    digits = some(*range(1, 5), 16, "any")
    knobs = {
        "base": draw(st.sampled_from(["nanochat", "gpt2", "cl100k", "o200k"])),
        "digits": digits,
        "contractions": some("none", "apart", "joined"),
        "leading_space": some(*[False, True, "sign"]),
        "newlines": some("space", "run", "apart"),
        "marks": some(*[False, True]),
        "case": some("ignore", "split", "words"),
        "underscores": some("sign", "alone", "letter"),
    }
    if isinstance(digits, int):
        knobs["digits_from"] = draw(st.sampled_from(["left", "right"]))
    return knobs


@st.composite
def rules_values(draw: st.DrawFn) -> Rules:
    """Draw rules: any grammar, and often each of the other parts."""
    values = draw(
        st.one_of(
            grammars(),
            st.just({"base": None}),
            st.sampled_from(
                [{"pattern": p} for p in (r"\w+|\W", r"(?s).", r"\s+|\S+", r"[\s\S]{1,5}")]
            ),
        )
    )
    if values.get("base") is None:
        values["case"] = draw(st.sampled_from([None, "words"]))
        values["underscores"] = draw(st.sampled_from([None, "alone"]))
    values["scripts"] = draw(st.booleans())
    keep = draw(literals())
    values["keep"] = keep
    values["keep_words"] = [word for word in draw(literals()) if word not in keep]
    values["keep_space"] = draw(st.booleans())
    regexes = draw(st.lists(st.sampled_from(REGEXES), max_size=2, unique=True))
    values["isolate"] = [
        Isolate(regex, draw(st.sampled_from([None, "name"])), draw(st.booleans()))
        for regex in regexes
    ]
    values["lexicon"] = draw(lexicons())
    characters = draw(st.text(st.sampled_from("aAbB12é!_ \n\ufffd"), max_size=4))
    if distinct := "".join(dict.fromkeys(characters)):
        size = draw(st.integers(1, 4))
        start = draw(st.integers(0, size - 1))
        values["groups"] = [Group(distinct, size, start, draw(st.sampled_from([None, "g"])))]
    return Rules(**values)


@st.composite
def lexicons(draw: st.DrawFn) -> list[Lexicon]:
    """Draw lexicons of a few scripts."""
    found = []
    for characters in ("中国人山", "กขา\u0e48", "あ"):
        words = st.text(st.sampled_from(characters), min_size=1, max_size=4)
        drawn = draw(st.lists(words, max_size=6, unique=True))
        if drawn:
            found.append(Lexicon(drawn, path=draw(st.sampled_from(["longest", "fewest"]))))
    return found


texts = st.one_of(
    st.text(st.sampled_from(ALPHABET), max_size=30),
    st.lists(
        st.sampled_from([*WORDS, *"abAB1 中国人กขา\u0e48", "ab1", "New York"]), max_size=12
    ).map("".join),
    st.text(max_size=20),
)

broken = st.lists(
    st.one_of(
        st.sampled_from([word.encode() for word in WORDS]),
        st.sampled_from(
            [b"\xff", b"\xc3", b"\xa9", b"\xe4\xb8", b"\xe0\xb8", b" ", b"a", b"1", b"_"]
        ),
        st.text(st.sampled_from(ALPHABET), min_size=1, max_size=3).map(str.encode),
    ),
    max_size=12,
).map(b"".join)


def vectors() -> list[tuple[str, str, str]]:
    lines = (VECTORS / "rules.txt").read_text().splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return [
        (rules, ast.literal_eval(text), ast.literal_eval(pieces)) for rules, text, pieces in rows
    ]
