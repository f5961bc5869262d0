"""The engine splits, trains and encodes by rules as their specification says."""

import json
import pickle
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.paths import SHARED, needs_shared
from support.rules_drawn import ALPHABET, broken, grammars, regexes, rules_values, texts, vectors
from support.strategies import BYTES
from zeton import Rules, reference, reference_rules
from zeton.errors import PatternError
from zeton.reference_rules import compose, split_by_rules
from zeton.rules import Isolate
from zeton.training.count import Counting

SPECIALS = {"<|end|>": 300}

pytestmark = pytest.mark.filterwarnings("ignore:the vocabulary has")


def expected(text: str | bytes, rules: Rules) -> list[bytes]:
    return split_by_rules(reference.read(text), json.loads(rules.spelled))


@pytest.mark.parametrize(("spelled", "text", "pieces"), vectors())
def test_vectors(spelled: str, text: str, pieces: str) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=spelled)
    assert tok.split(text) == [piece.encode() for piece in pieces.split("|")]


@given(rules_values(), st.lists(texts, min_size=1, max_size=5))
def test_splits_as_the_specification_says(rules: Rules, some: list[str]) -> None:
    tok = zeton.Tokenizer(BYTES, rules=rules)
    for text in some:
        assert tok.split(text) == expected(text, rules)


@given(rules_values(), st.lists(broken, min_size=1, max_size=5))
def test_splits_bytes_that_are_not_utf8_alike(rules: Rules, some: list[bytes]) -> None:
    tok = zeton.Tokenizer(BYTES, rules=rules)
    for text in some:
        assert tok.split(text) == expected(text, rules)


@given(
    st.lists(st.tuples(regexes, st.booleans()), min_size=1, max_size=3, unique=True),
    st.lists(st.text("aab1 é-中_ \t", max_size=14), min_size=1, max_size=8),
)
def test_any_regex_is_isolated_as_the_specification_says(
    drawn: list[tuple[str, bool]], some: list[str]
) -> None:
    rules = Rules(isolate=[Isolate(regex, whole_word=whole) for regex, whole in drawn])
    tok = zeton.Tokenizer(BYTES, rules=rules)
    for text in some:
        assert tok.split(text) == expected(text, rules)


@given(grammars(), st.lists(texts, min_size=1, max_size=5))
def test_knobs_split_as_the_pattern_they_compose_to(knobs: dict[str, Any], some: list[str]) -> None:
    rules = Rules(**knobs)
    tok = zeton.Tokenizer(BYTES, rules=rules)
    for text in some:
        assert tok.split(text) == expected(text, rules)
    beyond = knobs["case"] == "words" or knobs["underscores"] == "alone"
    if not beyond and rules.digits_from == "left":
        assert rules.as_pattern() == compose(json.loads(rules.spelled))
        assert tok.info.split in {"transducer", "automaton"}


@given(rules_values(), st.lists(st.one_of(texts, broken), min_size=1, max_size=6))
def test_counts_trains_and_encodes_alike(rules: Rules, some: list[str | bytes]) -> None:
    counts = zeton.count_corpus(some, rules=rules)
    pieces = Counter(piece for text in some for piece in expected(text, rules))
    assert dict(counts.most_common(1000)) == pieces
    assert counts.rules == rules
    tok = (
        zeton.learn(counts, vocab_size=256 + 20) if pieces else zeton.Tokenizer(BYTES, rules=rules)
    )
    vocab = reference.learn(pieces, 256 + 20)
    assert tok.ranks() == vocab
    for text in some:
        ids = reference_rules.encode(text, vocab, json.loads(rules.spelled))
        assert tok.encode(text) == ids
        assert tok.decode_bytes(ids) == reference.read(text).encode("utf-8", "surrogateescape")
        assert tok.count(text) == len(ids)


@given(rules_values(), st.lists(texts, min_size=1, max_size=4))
def test_specials_are_cut_out_first(rules: Rules, some: list[str]) -> None:
    tok = zeton.Tokenizer(BYTES, rules=rules, specials=SPECIALS)
    text = "<|end|>".join(some)
    ids = reference_rules.encode(text, BYTES, json.loads(rules.spelled), SPECIALS)
    assert tok.encode(text, allowed_special="all") == ids


LONG = st.lists(
    st.sampled_from([*ALPHABET, *("ab", "12", "New York", " ", "中国人")]), min_size=40
).map(lambda parts: "".join(parts) * 3)


@given(rules_values(), LONG, st.integers(1, 40), st.sampled_from([1, 2, 3]))
def test_streams_threads_and_cuts_are_as_the_whole(
    rules: Rules, text: str, step: int, threads: int
) -> None:
    tok = zeton.Tokenizer(BYTES | {b"ab": 256, b"12": 257, b" a": 258}, rules=rules)
    ids = tok.encode(text)
    assert ids == reference_rules.encode(text, tok.ranks(), json.loads(rules.spelled))
    stream = tok.encoder()
    parts = [text[at : at + step] for at in range(0, len(text), step)]
    assert [*(pushed for part in parts for pushed in stream.push(part)), *stream.finish()] == ids
    assert tok.encode_array(text, threads=threads).tolist() == ids
    assert tok.encode_batch([text, text], threads=threads) == [ids, ids]
    assert tok.encode_with_offsets(text).ids == ids


@given(rules_values(), LONG, st.one_of(texts, broken))
def test_where_a_text_is_cut_nothing_that_follows_matters(
    rules: Rules, text: str, more: str | bytes
) -> None:
    """Long files are read in parts, which are cut where `last_safe_cut` says."""
    tok = zeton.Tokenizer(BYTES, rules=rules)
    whole = text.encode() + (more.encode(errors="replace") if isinstance(more, str) else more)
    cut = Counting(rules.spelled, 1, None).last_safe_cut(text.encode())
    assert tok.split(whole[:cut]) + tok.split(whole[cut:]) == tok.split(whole)


@given(rules_values(), LONG, st.integers(0, 60), st.sampled_from(["end", "start"]))
def test_what_is_truncated_fits(rules: Rules, text: str, n: int, side: Any) -> None:
    tok = zeton.Tokenizer(BYTES | {b"ab": 256, b"12": 257, b" a": 258}, rules=rules)
    spelled = json.loads(rules.spelled)

    def count(part: str) -> int:
        return len(reference_rules.encode(part, tok.ranks(), spelled))

    cut = tok.truncate(text, n=n, side=side)
    assert text.startswith(cut) if side == "end" else text.endswith(cut)
    assert count(cut) <= n
    assert "".join(chunk.text for chunk in tok.chunk(text, n=max(n, 4))) == text


@given(rules_values())
def test_a_saved_tokenizer_keeps_its_rules(rules: Rules) -> None:
    tok = zeton.Tokenizer(BYTES, rules=rules)
    again = pickle.loads(pickle.dumps(tok))  # noqa: S301
    assert again == tok
    assert again.rules == tok.rules == rules
    assert again.pattern == rules.spelled


def test_the_file_holds_the_rules(tmp_path: Path) -> None:
    tok = zeton.train(["low lower BRCA1 BRCA12"], vocab_size=260, rules=Rules(keep_words=["BRCA1"]))
    assert tok.split("BRCA1 BRCA12") == [b"BRCA1", b" BRCA", b"12"]
    path = tok.save(tmp_path / "small.zeton")
    assert zeton.load(path) == tok
    assert zeton.load(path).rules == Rules(keep_words=["BRCA1"])
    assert zeton.Tokenizer(BYTES).rules is None
    assert len(repr(tok)) < 120


@pytest.mark.parametrize("engine", [None, "local"])
def test_files_are_trained_on_by_rules(engine: str | None, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("parseHTTPRequest parseHTTP\n" * 20)
    rules = Rules(case="words")
    files = [tmp_path / "a.txt"]
    tok = zeton.train_files(
        files, vocab_size=280, rules=rules, checkpoint_dir=tmp_path / "journal", executor=engine
    )
    assert tok == zeton.train(["parseHTTPRequest parseHTTP\n" * 20], vocab_size=280, rules=rules)
    assert zeton.train_files(files, vocab_size=280, pattern=rules) == tok
    with pytest.raises(zeton.Error, match="the pattern is"):
        zeton.train(["a"], vocab_size=300, rules=Rules(), initial=tok)
    assert zeton.train(["a b" * 9], vocab_size=282, initial=tok).rules == rules


@pytest.mark.parametrize(
    ("rules", "where"),
    [
        ({"isolate": ["a", "(b"]}, "isolate[1]"),
        ({"isolate": ["a*"]}, "isolate[0]"),
        ({"isolate": [r"(a)\1"]}, "isolate[0]"),
        ({"pattern": "(a"}, "pattern"),
        ({"keep": [f"{number:01000}" for number in range(17_000)]}, "keep: the needles have"),
    ],
)
def test_what_only_the_engine_knows_is_refused_with_its_place(
    rules: dict[str, Any], where: str
) -> None:
    with pytest.raises(PatternError) as refused:
        Rules(**rules)
    message = str(refused.value)
    assert message.startswith(where)
    assert "\n" not in message


def test_rules_of_a_later_version_say_so_whatever_they_hold() -> None:
    with pytest.raises(PatternError, match="rules: 2 is a version to come; update zeton"):
        zeton.Tokenizer(BYTES, pattern='{"rules":2,"vowels":"apart"}')


def test_knobs_alone_go_to_tiktoken(tmp_path: Path) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    tok = zeton.train(["low lower 1234"], vocab_size=270, rules=Rules(digits=1, contractions=False))
    theirs = tok.as_tiktoken()
    assert isinstance(theirs, tiktoken.Encoding)
    assert theirs.encode("lower 1234 it's") == tok.encode("lower 1234 it's")
    tok = zeton.train(["low lower"], vocab_size=260, specials=["<|a|>"], rules=Rules(keep=["low"]))
    with pytest.raises(PatternError) as refused:
        tok.as_tiktoken()
    message = (
        "tiktoken takes a regular expression only: the rules have keep, which a regex cannot "
        "express; remove them to get a pattern"
    )
    assert str(refused.value) == message
    nanochat = zeton.nanochat.RustBPETokenizer(tok, "<|a|>")
    with pytest.raises(PatternError, match="tiktoken takes a regular expression only"):
        nanochat.save(str(tmp_path))


@needs_shared
@pytest.mark.parametrize(
    ("name", "rules"),
    [
        (
            "code/go.txt",
            Rules(base="o200k", case="words", underscores="alone", keep=["func", "err"]),
        ),
        ("multi/th.txt", Rules(lexicon=["ที่", "และ", "การ", "ครับ", "ไม่", "มา", "ไม่มา"], marks=True)),
        ("multi/zh.txt", Rules(lexicon=["中国", "一个", "个人", "我们", "的"], scripts=True)),
        ("web/logs.txt", Rules(digits=3, digits_from="right", isolate=[r"\d+\.\d+\.\d+\.\d+"])),
        (
            "multi/other.txt",
            Rules(scripts=True, case="words", keep_words=["the", "de"], keep_space=True),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_real_text_splits_as_the_specification_says(name: str, rules: Rules) -> None:
    text = (SHARED / "dev" / name).read_bytes()[:30_000].decode(errors="ignore")
    assert zeton.Tokenizer(BYTES, rules=rules).split(text) == expected(text, rules)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        (Rules(isolate=["a", "a[^b]*b"]), "a" * 50_000),
        (Rules(keep=["xa"], isolate=["a[^b]*b"]), "xa" * 25_000 + "b"),
        (Rules(isolate=["(?s).*[^A-Z]|[A-Z]"]), "A" * 50_000),
        (Rules(isolate=[Isolate(r"-+\w", whole_word=True)]), "-" * 50_000 + "ab"),
    ],
)
def test_a_regex_that_reads_far_takes_linear_time(rules: Rules, text: str) -> None:
    pieces = rules.split(text)
    assert b"".join(pieces) == text.encode()


def test_a_match_has_a_bound() -> None:
    rules = Rules(base=None, isolate=["<[^>]*>", "=+"])
    text = "<" + "é" * 2047 + ">" + "<" + "é" * 2048 + ">" + "=" * 5000
    expected = reference_rules.split_by_rules(text, json.loads(rules.spelled))
    assert rules.split(text) == expected
    assert [len(piece) for piece in expected] == [4096, 4098, 4096, 904]
