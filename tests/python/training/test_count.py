"""Corpus -> counts: any memory, any order, files that merge."""

import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeton
from support.strategies import odd_text
from zeton import reference

texts_of_words = st.lists(st.one_of(st.text("ab ", max_size=200), odd_text), max_size=6)


def pieces(counts: zeton.Counts) -> dict[bytes, int]:
    return dict(counts.most_common(10**9))


def many_words(seed: int, words: int = 60_000) -> str:
    return "".join(f" w{(seed + 1) * number * 7919 % 10**9:x}" for number in range(words))


@given(texts=texts_of_words, threads=st.integers(1, 3))
@settings(max_examples=50)
def test_counts_are_the_references(texts: list[str], threads: int) -> None:
    counts = zeton.count_corpus(texts, threads=threads)
    assert pieces(counts) == dict(reference.count(texts))
    assert counts.texts == len(texts)
    assert counts.corpus_bytes == sum(len(piece) * n for piece, n in pieces(counts).items())


def test_counts_that_do_not_fit_go_to_files_and_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeton.work.memory.GIVEN_LEAST", 1)
    texts = [many_words(seed) for seed in range(4)]
    expected = zeton.count_corpus(texts, memory="4GB").save(tmp_path / "all.counts").read_bytes()
    for memory in ("1MB", "8MB", 1):
        counts = zeton.count_corpus(texts, memory=memory, temp_dir=tmp_path, threads=2)
        assert counts.save(tmp_path / "small.counts").read_bytes() == expected
        assert sorted(file.name for file in tmp_path.iterdir()) == ["all.counts", "small.counts"]


def test_the_order_of_the_most_common_is_by_count_then_bytes() -> None:
    counts = zeton.count_corpus(["b b b a a c c c"])
    assert counts.most_common(3) == [(b" c", 3), (b" a", 2), (b" b", 2)]


def test_a_text_counts_as_often_as_its_weight() -> None:
    counts = zeton.count_corpus(["a a", "b", "a"], weights=iter([3, 1, 2**32 - 1]))
    assert pieces(counts) == {b"a": 2**32 + 2, b" a": 3, b"b": 1}


def test_counts_go_beyond_32_bits() -> None:
    weight = 2**32 - 1
    counts = zeton.count_corpus(["ab"] * 5, weights=[weight] * 5)
    assert pieces(counts) == {b"ab": 5 * weight}
    assert zeton.learn(counts, vocab_size=257).merges() == {(97, 98): 256}


@pytest.mark.parametrize("weight", [0, -1, 2**32])
def test_refuses_a_weight_that_is_none(weight: int) -> None:
    with pytest.raises(zeton.errors.TrainError, match="it must be from 1 to"):
        zeton.count_corpus(["a"], weights=[weight])


def test_refuses_weights_that_are_no_numbers_or_too_few() -> None:
    with pytest.raises(TypeError, match="a weight is an int, not float"):
        zeton.count_corpus(["a"], weights=[0.5])  # type: ignore[list-item]
    with pytest.raises(zeton.errors.TrainError, match="fewer weights than texts"):
        zeton.count_corpus(["a", "b"], weights=[1])
    with pytest.raises(zeton.errors.TrainError, match="more weights than texts"):
        zeton.count_corpus(["a", "b"], weights=[1, 2, 3])


@pytest.mark.parametrize("share", [-0.1, 1.0, 7.0])
def test_refuses_a_share_that_is_none(share: float) -> None:
    with pytest.raises(zeton.errors.TrainError, match="give a share"):
        zeton.count_corpus(["a"], validation=share)


def test_what_is_held_out_is_counted_apart() -> None:
    texts = [many_words(seed, 3000) for seed in range(20)]
    counts = zeton.count_corpus(texts, validation=0.2)
    held_out = counts.validation
    assert held_out is not None
    both = Counter(pieces(counts)) + Counter(pieces(held_out))
    assert both == reference.count(texts)
    share = held_out.corpus_bytes / (counts.corpus_bytes + held_out.corpus_bytes)
    assert 0.1 < share < 0.3
    again = zeton.count_corpus(reversed(texts), validation=0.2, threads=1)
    assert pieces(again) == pieces(counts)
    assert zeton.count_corpus(texts).validation is None


def test_counts_files_merge_to_the_counts_of_all_texts(tmp_path: Path) -> None:
    texts = [many_words(seed, 500) for seed in range(6)]
    whole = zeton.count_corpus(texts).save(tmp_path / "whole.counts")
    parts = [zeton.count_corpus(texts[at::3]).save(tmp_path / f"{at}.counts") for at in range(3)]
    merged = zeton.Counts.load(*parts)
    assert merged.texts == 6
    assert merged.save(tmp_path / "merged.counts").read_bytes() == whole.read_bytes()
    assert zeton.learn(merged, vocab_size=400) == zeton.train(texts, vocab_size=400)


def test_what_is_no_counts_file_is_refused_by_name(tmp_path: Path) -> None:
    good = zeton.count_corpus(["a b c"]).save(tmp_path / "good.counts")
    content = good.read_bytes()
    bad = tmp_path / "bad.counts"
    for damaged in (b"", b"zeton", content[:-1], content + b"x", content[:-5] + b"12345"):
        bad.write_bytes(damaged)
        with pytest.raises(zeton.errors.FormatError, match=r"bad\.counts: "):
            zeton.Counts.load(good, bad)
    with pytest.raises(zeton.errors.MissingFileError, match=r"none\.counts"):
        zeton.Counts.load(tmp_path / "none.counts")
    with pytest.raises(zeton.Error, match="no counts files"):
        zeton.Counts.load()
    other = zeton.count_corpus(["a b"], pattern=r"\w+|\W").save(tmp_path / "other.counts")
    with pytest.raises(zeton.errors.TrainError, match="two patterns"):
        zeton.Counts.load(good, other)


def test_a_save_that_fails_leaves_nothing(tmp_path: Path) -> None:
    counts = zeton.count_corpus(["a b c"])
    with pytest.raises(zeton.errors.FileError):
        counts.save(tmp_path / "none" / "a.counts")
    (tmp_path / "folder").mkdir()
    with pytest.raises(zeton.errors.FileError):
        counts.save(tmp_path / "folder")
    assert [file.name for file in tmp_path.iterdir()] == ["folder"]


def test_texts_are_read_while_others_are_counted() -> None:
    readers = set()

    def texts() -> Iterator[str]:
        for _ in range(3):
            readers.add(threading.get_ident())
            yield "some text"

    zeton.count_corpus(texts())
    assert readers
    assert threading.get_ident() not in readers


def test_a_reader_ends_with_the_counting_that_it_was_for() -> None:
    def texts() -> Iterator[str | None]:
        while True:
            yield None

    with pytest.raises(TypeError, match="a text is str or bytes"):
        zeton.count_corpus(texts())  # type: ignore[arg-type]
    end = time.monotonic() + 10
    while any(thread.name == "zeton reads ahead" for thread in threading.enumerate()):
        assert time.monotonic() < end, "the thread goes on"
        time.sleep(0.01)


def test_progress_tells_a_program_how_far_it_is() -> None:
    told: list[zeton.Progress] = []
    texts = [many_words(seed, 20_000) for seed in range(3)]
    zeton.count_corpus(texts, progress=told.append)
    assert [now.stage for now in told] == ["count"] * len(told)
    last = told[-1]
    assert last.texts == 3
    assert last.text_bytes == sum(map(len, texts))
    assert last.pieces > 1000
    assert last.left is None
    if sys.platform == "linux":
        assert last.memory > 1_000_000


def test_many_counts_files_are_merged(tmp_path: Path) -> None:
    files = [
        zeton.count_corpus([f"text {number}"]).save(tmp_path / f"{number}.counts")
        for number in range(70)
    ]
    merged = zeton.Counts.load(*files)
    assert merged.texts == 70
    assert dict(merged.most_common(1000))[b"text"] == 70


def test_counts_with_a_share_held_out_are_not_saved(tmp_path: Path) -> None:
    counts = zeton.count_corpus(["a b c"], validation=0.5)
    with pytest.raises(zeton.errors.TrainError, match="validation share"):
        counts.save(tmp_path / "a.counts")


def test_weights_that_alternate_are_counted_together() -> None:
    counts = zeton.count_corpus(["a", "b"] * 1000, weights=[1, 2] * 1000)
    assert pieces(counts) == {b"a": 1000, b"b": 2000}


def test_a_file_that_is_given_twice_is_remarked_once(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("some text")
    said: list[str] = []
    once = zeton.count_files([tmp_path], on_warning=said.append)
    assert said == []
    a = tmp_path / "a.txt"
    twice = zeton.count_files([tmp_path, a], weights={"a.txt": 3}, on_warning=said.append)
    assert said == [f"1 file is listed more than once: {a} counts 6 times"]
    assert twice.corpus_bytes == once.corpus_bytes + 5 * 9
    zeton.count_files([tmp_path, tmp_path, tmp_path / "." / "a.txt"], on_warning=said.append)
    assert said[1:] == [f"3 files are listed more than once; the first, {a}, counts 3 times"]


@pytest.mark.parametrize("memory", [1, 2, "2", "999KB"])
def test_memory_below_a_megabyte_is_a_typing_error(memory: int | str) -> None:
    with pytest.raises(zeton.errors.TrainError, match="at least 1 MB"):
        zeton.count_corpus(["a"], memory=memory)
