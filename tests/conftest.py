"""Settings of all tests, and the fixtures that run a test on every engine."""

import os
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

import zeton
from support.paths import ROOT
from support.strategies import BYTES
from zeton import reference
from zeton.reference import Vocab
from zeton.shards import options as shard_options

# Tests, and the processes that they start, never touch the user's own cache folder. Those that run
# beside each other share one of their own.
if "PYTEST_XDIST_WORKER" not in os.environ:
    CACHE = tempfile.TemporaryDirectory(prefix="zeton-tests-")
    os.environ["ZETON_CACHE"] = CACHE.name

settings.register_profile(
    "zeton",
    deadline=None,
    max_examples=200,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("zeton")


def pytest_configure(config: pytest.Config) -> None:
    """Leave out the doctests of what needs torch, only if it is not installed.

    Any other module that cannot be imported is an error.
    """
    if find_spec("torch") is None or find_spec("safetensors") is None:
        config.option.ignore = [*(config.option.ignore or []), str(ROOT / "python/zeton/seq2seq")]


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


@pytest.fixture(scope="module")
def small_shards() -> Iterator[None]:
    """Let shards be so small that a few texts make several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shard_options, "SHARD_TOKENS_MIN", 1)
        yield
