"""Corpus -> vocabulary, against rustbpe and the reference."""

import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

import pytest
import rustbpe
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import zeton
from support.paths import SHARED, needs_shared
from support.strategies import family_patterns, odd_bytes, odd_text, patterns
from zeton import reference
from zeton.training.options import TrainOptions


def by_rustbpe(texts: list[str], vocab_size: int, pattern: str) -> dict[bytes, int]:
    tok = rustbpe.Tokenizer()
    tok.train_from_iterator(iter(texts), vocab_size, pattern=pattern)
    return {bytes(token): rank for token, rank in tok.get_mergeable_ranks()}


def quiet_train(
    texts: list[str] | list[bytes], vocab_size: int, **options: Unpack[TrainOptions]
) -> zeton.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zeton.train(texts, vocab_size=vocab_size, **options)


corpora = st.lists(st.one_of(st.text("ab ", max_size=60), odd_text), max_size=8).filter(any)


@given(texts=corpora, size=st.integers(256, 300), pattern=family_patterns())
def test_merges_are_rustbpes_and_the_references(texts: list[str], size: int, pattern: str) -> None:
    assume(any(texts))
    tok = quiet_train(texts, size, pattern=pattern)
    assert tok.ranks() == by_rustbpe(texts, size, pattern) == reference.train(texts, size, pattern)


@given(texts=st.lists(odd_bytes, max_size=6).filter(any), size=st.integers(256, 280))
def test_bytes_train_as_in_the_reference(texts: list[bytes], size: int) -> None:
    assume(any(texts))
    assert quiet_train(texts, size).ranks() == reference.train(texts, size)


@given(texts=corpora, seed=st.integers(0, 99), threads=st.integers(1, 4))
@settings(max_examples=50)
def test_order_and_threads_do_not_matter(texts: list[str], seed: int, threads: int) -> None:
    assume(any(texts))
    shuffled = random.Random(seed).sample(texts, len(texts))
    one, other = quiet_train(texts, 300, threads=1), quiet_train(shuffled, 300, threads=threads)
    assert one == other
    assert one.made_by == other.made_by


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"some text {i} and {i * i} more " * 5 for i in range(300)]
    expected = zeton.train(texts, vocab_size=360)
    for size in (1, 100, 10_000):
        monkeypatch.setattr("zeton.training.count.BATCH_BYTES", size)
        assert zeton.train(iter(texts), vocab_size=360, threads=2) == expected


def test_one_letter_over_and_over_trains_as_rustbpe_trains() -> None:
    text = "a" * 300_000
    assert quiet_train([text], 300).ranks() == by_rustbpe([text], 300, zeton.DEFAULT_PATTERN)


def test_the_merges_of_a_trained_vocabulary_are_found_again() -> None:
    tok = zeton.train(["the theme of the thesis then"], vocab_size=264)
    assert list(tok.merges().values()) == list(range(256, 264))


def test_specials_take_the_last_ids_and_count() -> None:
    tok = zeton.train(["the theme of the thesis then"], vocab_size=264, specials=["<|a|>", "<|b|>"])
    assert tok.specials == {"<|a|>": 262, "<|b|>": 263}
    assert tok.vocab_size == 264


def test_says_the_size_reached_when_the_corpus_is_too_small() -> None:
    message = "has 258 tokens, not 300: no pair occurs any more"
    with pytest.warns(UserWarning, match=message):
        tok = zeton.train(["abc"], vocab_size=300)
    assert tok.vocab_size == 258
    message = "has pairs for 258 tokens, not for 300; give more text"
    with pytest.raises(zeton.errors.TrainError, match=message):
        zeton.train(["abc"], vocab_size=300, exact_size=True)
    counts = zeton.count_corpus([])
    with pytest.warns(UserWarning, match="has 256 tokens, not 300"):
        assert zeton.learn(counts, vocab_size=300).encode("abc") == [97, 98, 99]


def test_refuses_a_corpus_without_text() -> None:
    for texts, number in (([], "0 texts"), (["", ""], "2 texts")):
        with pytest.raises(zeton.errors.CorpusError, match=f"no text in the corpus of {number}"):
            zeton.train(texts, vocab_size=300)


def test_one_special_may_stand_alone_and_ids_are_not_given() -> None:
    assert zeton.train(["abab"], vocab_size=258, specials="<|a|>").specials == {"<|a|>": 257}
    with pytest.raises(TypeError, match="training gives them their ids"):
        zeton.train(["abab"], vocab_size=258, specials={"<|a|>": 257})
    with pytest.raises(TypeError, match="memory is bytes or a text such as '2GB', not float"):
        zeton.train(["abab"], vocab_size=258, memory=1e9)  # type: ignore[call-overload]


def test_refuses_options_that_make_no_sense_before_it_reads() -> None:
    def unread() -> Iterator[str]:
        pytest.fail("the corpus was read")
        yield ""

    for options in (
        {"vocab_size": 255},
        {"vocab_size": 257, "specials": ["<|a|>", "<|b|>"]},
        {"vocab_size": 300, "specials": ["<|a|>", "<|a|>"]},
        {"vocab_size": 300, "specials": [""]},
        {"vocab_size": 300, "pattern": "("},
        {"vocab_size": 300, "threads": 0},
        {"vocab_size": 300, "threads": 10**30},
        {"vocab_size": 300, "memory": 0},
        {"vocab_size": 10**30},
    ):
        with pytest.raises(zeton.Error):
            zeton.train(unread(), **options)
    with pytest.raises(TypeError, match="not one"):
        zeton.train("one text", vocab_size=300)


def test_more_threads_than_any_machine_has_do_no_harm() -> None:
    assert zeton.train(["abc abd"], vocab_size=257, threads=10**6).vocab_size == 257
    tok = zeton.pretrained("gpt2")
    texts = ["hello world " * 1000] * 400
    assert tok.encode_batch(texts, threads=10**6) == tok.encode_batch(texts, threads=1)


def test_refuses_what_is_not_text() -> None:
    with pytest.raises(TypeError, match="a text is str or bytes, not NoneType"):
        zeton.train([None, "abc"], vocab_size=300)  # type: ignore[list-item]


def test_an_iterators_own_error_comes_through() -> None:
    def broken() -> Iterator[str]:
        yield "abc"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        zeton.train(broken(), vocab_size=300)


def test_memory_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zeton.work.memory.GIVEN_LEAST", 1)
    texts = [" ".join("xyz"[:n] * (n % 50) for n in range(20_000)), "some other text " * 100]
    expected = quiet_train(texts, 300)
    for memory in (1, 100_000, "1MB", "1GB"):
        assert quiet_train(texts, 300, memory=memory) == expected


def test_notes_say_how_it_was_made() -> None:
    notes = zeton.train(["the theme of the thesis then"], vocab_size=262).made_by
    assert notes["version"] == zeton.__version__
    assert notes["training.vocab_size"] == "262"
    assert notes["training.distinct_pieces"] == "6"
    assert notes["training.corpus_bytes"] == "28"


SLOW = """
import random, sys, zeton
many = (f"{i} word{i * 7919:x} " for i in range(10**9))
letters = bytes(97 + byte % 26 for byte in range(256))
long = random.randbytes(4 * 10**7).translate(letters)  # One word.
texts = many if sys.argv[1] == "count" else [long]
print("ready", flush=True)
zeton.train(texts, vocab_size=10**6)
"""


@pytest.mark.parametrize("stage", ["count", "learn"])
def test_ctrl_c_stops_training(stage: str) -> None:
    command = [sys.executable, "-c", SLOW, stage]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(3)
        assert process.poll() is None, "training ended before it could be stopped"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert b"KeyboardInterrupt" in errors
    assert process.returncode != 0


@needs_shared
@pytest.mark.parametrize("folder", ["en", "code", "multi"])
def test_merges_are_rustbpes_on_real_texts(folder: str) -> None:
    files = sorted((SHARED / "dev" / folder).glob("*.txt"))
    texts = [
        text
        for file in files
        for text in file.read_bytes()[:400_000].decode(errors="ignore").split("\x1e")
    ]
    for name in ("nanochat", "o200k"):
        pattern = patterns()[name]
        tok = zeton.train(texts, vocab_size=4000, pattern=pattern)
        assert tok.ranks() == by_rustbpe(texts, 4000, pattern)


@pytest.mark.parametrize("texts", [[], [""], ["", b""]])
def test_no_text_is_an_error_for_texts_as_for_files(
    texts: list[str | bytes], tmp_path: Path
) -> None:
    for number, text in enumerate(texts):
        (tmp_path / f"{number}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(zeton.errors.CorpusError, match="there is no text"):
        zeton.train(texts, vocab_size=300)
    with pytest.raises(zeton.errors.CorpusError, match="there is no text"):
        zeton.train_files(sorted(tmp_path.iterdir()), vocab_size=300)


def test_a_weight_that_no_file_takes_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low")
    with pytest.raises(zeton.errors.CorpusError, match="the weight of 'b' is for no file"):
        zeton.count_files([tmp_path], weights={"b": 3})
    with pytest.raises(zeton.errors.CorpusError, match=r"the weight of 'a\.txt' has no effect"):
        zeton.count_files([tmp_path], weights={"*.txt": 2, "a.txt": 3})
