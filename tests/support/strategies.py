"""Strategies and data for tests: published patterns, vocabularies, odd texts and odd bytes."""

from functools import cache

from hypothesis import strategies as st

from support.paths import VECTORS
from zeton.reference import Vocab

BYTES: Vocab = {bytes([byte]): byte for byte in range(256)}


@cache
def patterns() -> dict[str, str]:
    """Read the published patterns by name."""
    lines = (VECTORS / "patterns.txt").read_text().splitlines()
    named = (line.partition(": ") for line in lines if not line.startswith("#"))
    return {name: pattern for name, _, pattern in named}


def vocab_with(tokens: list[bytes]) -> Vocab:
    """Make a vocabulary of the 256 bytes and then these tokens, in order."""
    learned = dict.fromkeys(token for token in tokens if len(token) > 1)
    return BYTES | {token: 256 + at for at, token in enumerate(learned)}


# Characters of every class that a pattern distinguishes, and parts of contractions.
ALPHABET = "aAsStlLvVeErR ſéÉǅʰ中\u0301\u064b\u0345Ⓐ1½٣ \t\n\r\u00a0\u3000'’/!_😀\u212a\0\ufffd"

odd_text = st.one_of(st.text(st.sampled_from(ALPHABET), max_size=24), st.text(max_size=24))
odd_bytes = st.one_of(
    st.binary(max_size=24),
    st.lists(
        st.sampled_from([b"a", b" ", b"\n", b"'s", b"\xc3", b"\xa9", b"\xe4\xb8", b"\xff"])
    ).map(b"".join),
)


@st.composite
def family_patterns(draw: st.DrawFn) -> str:
    """Draw a pattern of the family: every rule with the choices that people make."""

    def choose(*choices: str) -> str:
        return draw(st.sampled_from(choices))

    contraction = choose(
        "'(?i:[sdmt]|ll|ve|re)", "'(?:[sdmt]|ll|ve|re)", "(?i:'s|'t|'re|'ve|'m|'ll|'d)", "'s|'t"
    )
    place = choose("front", "front", "suffix", "none")
    endings = choose("'s|'t|'re|'ve|'m|'ll|'d", "'s|'ll")
    suffix = f"(?i:{endings})?" if place == "suffix" else ""
    prefix = choose(r"[^\r\n\p{L}\p{N}]?", r"[^\r\n\p{L}\p{N}]?", " ?", r"[^\s\p{L}\p{N}]?", "")
    marks = choose("", r"\p{M}")
    if draw(st.booleans()):
        upper, lower = (
            rf"[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}{marks}]",
            rf"[\p{{Ll}}\p{{Lm}}\p{{Lo}}{marks}]",
        )
        word = f"{prefix}{upper}*{lower}+{suffix}|{prefix}{upper}+{lower}*{suffix}"
    else:
        body = rf"[\p{{L}}{marks}]" if marks else r"\p{L}"
        word = f"{prefix}{body}+{suffix}"
    number = choose(r"\p{N}", r"\p{N}{1,2}", r"\p{N}{1,3}", r"\p{N}{1,3}+", r" ?\p{N}+", r"\p{N}+")
    blank = choose(" ?", " ?", "")
    tail = choose(r"[\r\n]*", r"[\r\n/]*", "")
    rules = [
        *([contraction] if place == "front" else []),
        word,
        number,
        rf"{blank}[^\s\p{{L}}\p{{N}}]+{tail}",
        *([r"\s++$"] if draw(st.booleans()) else []),
        *([choose(r"\s*[\r\n]+", r"\s*[\r\n]")] if draw(st.booleans()) else []),
        *([r"\s+(?!\S)"] if draw(st.booleans()) else []),
        r"\s+",
    ]
    return "|".join(rules)


@st.composite
def vocabs(draw: st.DrawFn) -> Vocab:
    """Draw a vocabulary: tokens in any order, some that no merge reaches, gaps in the ranks."""
    spans = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=4).map(str.encode)
    tokens = draw(st.lists(st.one_of(spans, st.binary(min_size=2, max_size=4)), max_size=40))
    vocab = vocab_with(tokens)
    gap = draw(st.integers(0, 3))
    return {token: rank if rank < 260 else rank + gap for token, rank in vocab.items()}
