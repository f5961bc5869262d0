"""Arguments of a wrong kind are refused in one line that says what to give."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zeton
from zeton.errors import ArgumentTypeError, TrainError

TEXTS = ["low lower lowest"]
UNTYPED: Any = zeton
"""The package for calls that a type checker refuses."""

WRONG: list[tuple[Callable[[Path], object], str]] = [
    (
        lambda path: UNTYPED.train_files([path], vocab_size=300, weights=[1, 2]),
        "weights is a dict from a path, a name or a glob to an int, not list",
    ),
    (
        lambda _: UNTYPED.train(TEXTS, vocab_size=300, weights=5),
        "weights is a list with an int for each text, not int",
    ),
    (
        lambda _: UNTYPED.train(TEXTS, vocab_size=300, specials=[5]),
        "the name of a special token is a str, not int: 5",
    ),
    (lambda _: UNTYPED.load(5), "a path is a str or a Path, not int"),
    (
        lambda _: UNTYPED.train(TEXTS, vocab_size=300, threads="2"),
        "threads is an int, not str",
    ),
]


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_value_of_a_wrong_type_is_refused(
    call: Callable[[Path], object], message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("low lower")
    with pytest.raises(ArgumentTypeError, match=message):
        call(tmp_path / "a.txt")


@pytest.mark.parametrize("threads", [0, -1])
def test_no_thread_is_refused(threads: int) -> None:
    with pytest.raises(TrainError, match="give at least 1, or None for one thread a core"):
        zeton.train(TEXTS, vocab_size=300, threads=threads)


def test_more_threads_than_any_machine_needs_are_as_many_as_are_allowed() -> None:
    tok = zeton.train(TEXTS, vocab_size=257, threads=10**9)
    assert tok.vocab_size == 257


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        (2, r"memory is 2 bytes; give at least 1 MB, such as '2GB'"),
        (1, r"memory is 1 byte; give at least 1 MB, such as '1GB'"),
        (2000, r"memory is 2,000 bytes; give at least 1 MB, such as '2GB'"),
    ],
)
def test_a_memory_of_a_few_bytes_is_a_typing_error(memory: int, message: str) -> None:
    with pytest.raises(TrainError, match=message):
        zeton.train(TEXTS, vocab_size=300, memory=memory)


def test_counts_say_how_many_in_the_right_number() -> None:
    counts = zeton.count_corpus(TEXTS)
    assert repr(counts) == "<zeton.Counts of 3 pieces, 16 bytes, 1 text>"
