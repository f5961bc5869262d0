"""`zeton.tiktoken` against tiktoken itself: the same names, results and types of error."""

import importlib
import inspect
import pickle
import random
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import tiktoken

import zeton
import zeton.tiktoken
from support.calls import Caller, agree, custom, outcome, published
from support.strategies import BYTES, patterns, vocab_with
from zeton.tiktoken import Encoding, registry

SHARE = 700
"""Calls of each published encoding here; scripts/agree_with_tiktoken.py makes many more."""


@pytest.mark.parametrize("name", zeton.tiktoken.list_encoding_names())
def test_random_calls_agree_on_a_published_encoding(name: str) -> None:
    theirs, ours = published(name)
    for call in islice(Caller(random.Random(name), theirs), SHARE):
        assert agree(outcome(theirs, *call), outcome(ours, *call)), call


@pytest.mark.parametrize("seed", range(20))
def test_random_calls_agree_on_a_random_encoding(seed: int) -> None:
    rng = random.Random(seed)
    theirs, ours = custom(rng, list(patterns().values()))
    for call in islice(Caller(rng, theirs), 200):
        assert agree(outcome(theirs, *call), outcome(ours, *call)), call


@pytest.mark.parametrize("module", ["", ".core", ".load", ".model", ".registry", "._educational"])
def test_every_public_name_is_there_with_its_parameters(module: str) -> None:
    theirs = importlib.import_module(f"tiktoken{module}")
    ours = importlib.import_module(f"zeton.tiktoken{module}")
    for name, value in inspect.getmembers(theirs):
        defined_there = getattr(value, "__module__", "").startswith("tiktoken")
        if not name.startswith("_") and defined_there and not inspect.ismodule(value):
            assert parameters(getattr(ours, name)) == parameters(value), name


def test_an_encoding_has_every_member_with_its_parameters() -> None:
    for name, value in inspect.getmembers(tiktoken.Encoding):
        if not name.startswith("__"):
            assert parameters(getattr(Encoding, name)) == parameters(value), name


def parameters(value: object) -> list[tuple[str, object, object]]:
    """Return the names, kinds and defaults of a function's parameters."""
    if not callable(value):
        return []
    found = inspect.signature(value).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in found]


@pytest.mark.parametrize("name", zeton.tiktoken.list_encoding_names())
def test_what_an_encoding_holds_is_the_same(name: str) -> None:
    theirs, ours = published(name)
    for member in ("name", "n_vocab", "max_token_value", "eot_token", "special_tokens_set"):
        assert getattr(ours, member) == getattr(theirs, member)
    for member in ("_pat_str", "_mergeable_ranks", "_special_tokens"):
        assert getattr(ours, member) == getattr(theirs, member)
    assert ours.token_byte_values() == theirs.token_byte_values()
    assert repr(ours) == repr(theirs)


def test_a_disallowed_special_is_refused_in_known_words() -> None:
    enc = zeton.tiktoken.get_encoding("gpt2")
    known = r"Encountered text corresponding to disallowed special token '<\|endoftext\|>'"
    with pytest.raises(ValueError, match=known) as refused:
        enc.encode("a<|endoftext|>")
    assert isinstance(refused.value, zeton.Error)


def test_what_is_unknown_is_a_key_error_that_names_it() -> None:
    theirs, ours = published("gpt2")
    for name, argument in (
        ("encode_single_token", "no such token"),
        ("decode", [99_999]),
        ("decode_single_token_bytes", 99_999),
    ):
        expected, found = (outcome(one, name, argument, {}) for one in (theirs, ours))
        assert isinstance(found, KeyError)
        assert found.args == expected.args


def test_an_unknown_encoding_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="Unknown encoding gpt3"):
        zeton.tiktoken.get_encoding("gpt3")
    with pytest.raises(ValueError, match="Expected a string"):
        zeton.tiktoken.get_encoding(3)  # type: ignore[arg-type]


def test_an_encoding_is_made_once() -> None:
    assert zeton.tiktoken.get_encoding("gpt2") is zeton.tiktoken.get_encoding("gpt2")


def test_a_registered_encoding_is_pickled_by_name_and_another_by_its_parts() -> None:
    registered = zeton.tiktoken.get_encoding("cl100k_base")
    assert len(pickle.dumps(registered)) < 200
    assert pickle.loads(pickle.dumps(registered)).encode("hello") == [15339]  # noqa: S301
    own = Encoding("own", pat_str=r"(?s).", mergeable_ranks=BYTES, special_tokens={"<s>": 300})
    again = pickle.loads(pickle.dumps(own))  # noqa: S301
    assert again.encode("a<s>", allowed_special="all") == [97, 300]
    assert again.name == "own"


class Named(Encoding):
    """An encoding with something of its own."""

    def __init__(self, name: str, **parts: Any) -> None:
        super().__init__(name, **parts)
        self.extra = 1


def test_a_subclass_is_pickled_whole() -> None:
    own = Named("own", pat_str=r"(?s).", mergeable_ranks=BYTES, special_tokens={})
    assert pickle.loads(pickle.dumps(own)).extra == 1  # noqa: S301


def test_an_empty_token_keeps_its_id_as_in_whisper() -> None:
    parts: dict[str, Any] = {"pat_str": r"(?s).", "special_tokens": {"<s>": 258}}
    parts["mergeable_ranks"] = BYTES | {b"": 257}
    theirs, ours = tiktoken.Encoding("own", **parts), Encoding("own", **parts)
    for name, argument in (
        ("decode", [97, 257, 98]),
        ("decode_bytes", [257]),
        ("decode_tokens_bytes", [257, 97]),
        ("decode_single_token_bytes", 257),
        ("decode_batch", [[257, 97], [98]]),
        ("encode_single_token", b""),
        ("encode", "ab"),
        ("is_special_token", 257),
    ):
        assert outcome(ours, name, argument, {}) == outcome(theirs, name, argument, {}), name
    assert ours.n_vocab == theirs.n_vocab
    assert ours.token_byte_values() == theirs.token_byte_values()
    only: dict[str, Any] = parts | {"special_tokens": {}}
    assert Encoding("own", **only).n_vocab == tiktoken.Encoding("own", **only).n_vocab == 258


def test_disallowed_strings_may_come_from_an_iterator() -> None:
    enc = zeton.tiktoken.get_encoding("gpt2")
    with pytest.raises(ValueError, match="disallowed special token 'b'"):
        enc.encode("abc", disallowed_special=iter(["b"]))  # type: ignore[arg-type]


# ---- where tiktoken panics, hangs or drops text ----


def make(**changes: object) -> Encoding:
    parts = {"pat_str": patterns()["cl100k"], "mergeable_ranks": BYTES, "special_tokens": {}}
    return Encoding("own", **(parts | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mergeable_ranks": {b"a": 0}}, "has no token"),
        ({"mergeable_ranks": BYTES | {b"ab": 97}}, "id 97 is both"),
        ({"special_tokens": {"": 300}}, "is empty"),
        ({"special_tokens": {"<s>": 97}}, "give it an id of its own"),
        ({"pat_str": r"\p{L}+"}, "a pattern must cover all text"),
        ({"pat_str": "("}, "does not compile"),
        ({"explicit_n_vocab": 300}, "explicit_n_vocab is 300"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(
    changes: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        make(**changes)
    assert isinstance(refused.value, zeton.Error)


def test_the_longest_special_wins() -> None:
    enc = make(special_tokens={"<|a": 300, "<|a|>": 301})
    assert enc.encode("<|a|>", allowed_special="all") == [301]
    assert enc.encode("<|a|>", allowed_special={"<|a"}, disallowed_special=()) == [300, 124, 62]


def test_an_empty_piece_has_no_ids() -> None:
    assert make()._encode_single_piece(b"") == []


@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_megabytes_of_white_space_are_encoded(name: str) -> None:
    enc = zeton.tiktoken.get_encoding(name)
    text = " " * 3_000_000 + "a"
    assert enc.decode(enc.encode(text)) == text


def test_an_end_that_takes_too_long_to_complete_is_refused() -> None:
    enc = zeton.tiktoken.get_encoding("cl100k_base")
    with pytest.raises(ValueError, match="too many to try all completions"):
        enc.encode_with_unstable("a" * 1_000_000)


def test_completions_come_in_a_fixed_order() -> None:
    enc = zeton.tiktoken.get_encoding("gpt2")
    _, completions = enc.encode_with_unstable("hello fanta")
    assert completions == sorted(completions)


# ---- plugins ----


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a folder of the namespace `tiktoken_ext` that is searched anew."""
    folder = tmp_path / "tiktoken_ext"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in [name for name in sys.modules if name.startswith("tiktoken_ext")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(registry, "ENCODING_CONSTRUCTORS", None)
    monkeypatch.setattr(registry, "ENCODINGS", {})
    registry._available_plugin_modules.cache_clear()
    yield folder
    registry._available_plugin_modules.cache_clear()


def test_a_constructor_may_be_replaced(plugins: Path) -> None:
    assert plugins.is_dir()
    zeton.tiktoken.list_encoding_names()
    assert registry.ENCODING_CONSTRUCTORS is not None
    parts = {"name": "gpt2", "pat_str": "(?s).", "mergeable_ranks": BYTES, "special_tokens": {}}
    registry.ENCODING_CONSTRUCTORS["gpt2"] = lambda: parts
    assert zeton.tiktoken.get_encoding("gpt2").n_vocab == 256


def test_a_plugin_adds_an_encoding(plugins: Path) -> None:
    (plugins / "mine.py").write_text(
        "def mine():\n"
        "    ranks = {bytes([byte]): byte for byte in range(256)}\n"
        "    return dict(name='mine', pat_str='(?s).', mergeable_ranks=ranks, special_tokens={})\n"
        "ENCODING_CONSTRUCTORS = {'mine': mine}\n"
    )
    assert zeton.tiktoken.list_encoding_names() == [*zeton.pretrained_names(), "mine"]
    assert zeton.tiktoken.get_encoding("mine").encode("ab") == [97, 98]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("", "does not define ENCODING_CONSTRUCTORS"),
        ("ENCODING_CONSTRUCTORS = {'gpt2': dict}", "Duplicate encoding name gpt2"),
    ],
)
def test_a_plugin_that_does_not_fit_is_refused(plugins: Path, source: str, words: str) -> None:
    (plugins / "mine.py").write_text(source)
    for _ in range(2):  # Not only the first time.
        with pytest.raises(ValueError, match=words):
            zeton.tiktoken.list_encoding_names()


def test_a_piece_may_be_a_token_that_no_merge_reaches() -> None:
    parts = {"pat_str": r"(?s).+", "mergeable_ranks": vocab_with([b"abc"]), "special_tokens": {}}
    theirs, ours = tiktoken.Encoding("own", **parts), Encoding("own", **parts)  # type: ignore[arg-type]
    for piece in (b"abc", b"abcd", b"abc\xff"):
        assert ours._encode_bytes(piece) == theirs._encode_bytes(piece)
    assert sorted(ours.encode_with_unstable("ab")[1]) == sorted(
        theirs.encode_with_unstable("ab")[1]
    )
