"""What tests share: the data files, the oracles, and strategies for vocabularies and patterns."""

import os
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import zeton
from zeton import reference
from zeton.reference import Vocab

# Tests, and the processes that they start, never touch the user's own cache folder. Those that run
# beside each other share one of their own.
if "PYTEST_XDIST_WORKER" not in os.environ:
    CACHE = tempfile.TemporaryDirectory(prefix="zeton-tests-")
    os.environ["ZETON_CACHE"] = CACHE.name

ROOT = Path(__file__).parent.parent
VECTORS = ROOT / "tests" / "vectors"
SHARED = Path(os.environ.get("ZETON_DATA", ROOT.parent / "shared" / "data"))

settings.register_profile(
    "zeton",
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("zeton")

needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared texts are not here")

BYTES: Vocab = {bytes([byte]): byte for byte in range(256)}


def pytest_configure(config: pytest.Config) -> None:
    """Leave out the doctests of what needs torch, only if it is not installed.

    Any other module that cannot be imported is an error.
    """
    if find_spec("torch") is None or find_spec("safetensors") is None:
        config.option.ignore = [*(config.option.ignore or []), str(ROOT / "python/zeton/seq2seq")]


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


# Every engine: text and pattern to pieces, piece and vocabulary to ids. A new one is one line each.
SPLITS: dict[str, Callable[[str, str], list[bytes]]] = {
    "reference": reference.split,
    "engine": lambda text, pattern: zeton.Tokenizer(BYTES, pattern=pattern).split(text),
}
MERGES: dict[str, Callable[[bytes, Vocab], list[int]]] = {
    "reference": reference.merge,
    "engine": lambda piece, vocab: zeton.Tokenizer(vocab, pattern="(?s).+").encode(piece),
}


@pytest.fixture(params=SPLITS)
def split(request: pytest.FixtureRequest) -> Callable[[str, str], list[bytes]]:
    return SPLITS[request.param]


@pytest.fixture(params=MERGES)
def merge(request: pytest.FixtureRequest) -> Callable[[bytes, Vocab], list[int]]:
    return MERGES[request.param]


# Characters of every class that a pattern tells apart, and the makings of contractions.
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
