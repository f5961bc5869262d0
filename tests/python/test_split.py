"""Text -> pieces: what every engine must do."""

import ast
from collections.abc import Callable

import pytest
from hypothesis import given

import zeton
from support.paths import VECTORS
from support.strategies import BYTES, family_patterns, odd_bytes, odd_text, patterns, vocab_with
from zeton import reference

OUTSIDE = [
    r"\w+|\W",
    r"\s++$|\w+?(?!\w)|[^\w\s]++|\s",
    r"\p{N}{1,3}|[一-龥]+|[!-/][A-Za-z]+|[^\r\n\p{L}]?\p{L}+|\s*[\r\n]+|\s+(?!\S)|\s+|\S",
]


def vectors() -> list[tuple[str, str, str]]:
    lines = (VECTORS / "split.txt").read_text().splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return [(name, ast.literal_eval(text), ast.literal_eval(pieces)) for name, text, pieces in rows]


@pytest.mark.parametrize(("name", "text", "expected"), vectors())
def test_vectors(
    split: Callable[[str, str], list[bytes]], name: str, text: str, expected: str
) -> None:
    assert split(text, patterns()[name]) == [piece.encode() for piece in expected.split("|")]


@given(pattern=family_patterns(), text=odd_text)
def test_the_engine_splits_as_the_reference_for_any_pattern_of_the_family(
    pattern: str, text: str
) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=pattern)
    assert tok.split(text) == reference.split(reference.read(text), pattern)


@given(text=odd_bytes)
@pytest.mark.parametrize("name", ["gpt2", "cl100k", "o200k", "nanochat"])
def test_bytes_that_are_not_utf8_are_split_as_the_reference_does(name: str, text: bytes) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=patterns()[name])
    assert tok.split(text) == reference.split(reference.read(text), patterns()[name])
    assert b"".join(tok.split(text)) == text


@given(text=odd_bytes)
def test_bytes_that_are_not_utf8_are_signs_for_the_backtracking_engine_too(text: bytes) -> None:
    pattern = r"\p{L}+|\s+|(?<!x)[^\p{L}\s]|x?[^\p{L}\s]"
    tok = zeton.Tokenizer(BYTES, pattern=pattern)
    assert tok.info.split == "backtracking"
    assert tok.split(text) == reference.split(reference.read(text), pattern)


@given(pattern=family_patterns(), text=odd_text)
def test_most_of_the_family_is_scanned_and_the_rest_is_exact_all_the_same(
    pattern: str, text: str
) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=pattern)
    # One more alternative, which never matches, sends the same pattern another way.
    for never, way in [("(?=a)b", "automaton"), ("(?<=a)(?<!a)b", "backtracking")]:
        other = zeton.Tokenizer(BYTES, pattern=rf"{pattern}|{never}")
        assert other.info.split == way
        assert tok.split(text) == other.split(text)


@given(text=odd_bytes)
@pytest.mark.parametrize("pattern", OUTSIDE)
def test_patterns_outside_the_family_are_split_as_the_reference_does(
    pattern: str, text: bytes
) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=pattern)
    assert tok.info.split == "automaton"
    assert tok.split(text) == reference.split(reference.read(text), pattern)


def test_every_scalar_has_the_class_that_tiktoken_gives_it() -> None:
    """Each scalar alone, after a letter and before one, against the oracle's own tables."""
    scalars = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    tokens = [b"a" + c.encode() for c in scalars] + [c.encode() + b"a" for c in scalars]
    vocab = vocab_with(tokens)
    text = "".join(f"a{c}a\n" for c in scalars)
    tok = zeton.Tokenizer(vocab, pattern=patterns()["o200k"])  # It tells all classes apart.
    assert tok.encode(text) == tok.as_tiktoken().encode_ordinary(text)


@pytest.mark.parametrize("pattern", [r"\p{L}+|\p{N}+", r"\s+(?!\S)|\S+", "[^x]+", "", "a*", r"\w+"])
def test_refuses_a_pattern_that_drops_text(pattern: str) -> None:
    with pytest.raises(zeton.errors.PatternError, match="drops part of"):
        zeton.Tokenizer(BYTES, pattern=pattern)


def test_refuses_at_the_first_text_that_a_pattern_drops() -> None:
    tok = zeton.Tokenizer(BYTES, pattern=r"(?s)(?!日本語).")
    assert tok.encode("日本") == list("日本".encode())
    with pytest.raises(zeton.errors.PatternError, match=r"drops part of .*日本語"):
        tok.encode("x日本語")


def test_a_refused_pattern_is_shown_as_it_was_written() -> None:
    with pytest.raises(zeton.errors.PatternError) as refusal:
        zeton.Tokenizer(BYTES, pattern=r"\w+")
    assert str(refusal.value) == (
        r'pattern `\w+` drops part of " "; a pattern must cover all text, so add |[\s\S] at its end'
    )
    zeton.Tokenizer(BYTES, pattern=r"\w+|[\s\S]")


def test_refuses_a_pattern_with_a_lone_surrogate() -> None:
    refusal = r"the pattern has a lone surrogate, U\+D800, at character 0"
    with pytest.raises(zeton.errors.PatternError, match=refusal):
        zeton.Tokenizer(BYTES, pattern="\ud800|[^x]|x")
    with pytest.raises(zeton.errors.PatternError, match=refusal):
        zeton.train(["abc"], vocab_size=257, pattern="\ud800|[^x]|x")


@pytest.mark.parametrize("pattern", ["(", "[", "(?<=", r"\p{Nonsense}", "a" * 70_000, "(?:" * 500])
def test_refuses_a_pattern_that_does_not_compile_in_one_line(pattern: str) -> None:
    with pytest.raises(zeton.errors.PatternError) as refusal:
        zeton.Tokenizer(BYTES, pattern=pattern)
    assert len(str(refusal.value).splitlines()) == 1


def test_a_table_reads_what_a_backtracking_engine_gives_up() -> None:
    tok = zeton.Tokenizer(BYTES, pattern=r"(?:a|aa)+(?!a)b|(?s).")
    assert tok.split("a" * 10_000) == [b"a"] * 10_000
    assert tok.split("a" * 10_000 + "b") == [b"a" * 10_000 + b"b"]


def test_refuses_a_text_on_which_a_pattern_exceeds_its_bound() -> None:
    tok = zeton.Tokenizer(BYTES, pattern=r"(?<!x)(?:a|aa)+(?!a)b|(?s).")
    assert tok.encode("aab") == [97, 97, 98]
    with pytest.raises(zeton.errors.PatternError, match=r"cannot split this text.* at byte 0"):
        tok.encode("a" * 10_000)
