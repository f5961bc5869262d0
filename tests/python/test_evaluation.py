"""The numbers by which tokenizers are compared."""

import pytest

import zeton
from support.strategies import BYTES, vocab_with
from zeton.evaluation import Row, measure, total

TOKENIZERS = {
    "bytes": zeton.Tokenizer(BYTES),
    "pairs": zeton.Tokenizer(vocab_with([b"ab", b"cd"])),
}


def test_counts_the_bytes_and_tokens_of_each_file() -> None:
    texts = [("first", "é".encode()), ("second", b"abcd")]
    assert measure(texts, tokenizers=TOKENIZERS) == [
        Row("first", 2, {"bytes": 2, "pairs": 2}),
        Row("second", 4, {"bytes": 4, "pairs": 2}),
    ]


def test_adds_the_texts_of_a_file_up_and_does_not_join_them() -> None:
    texts = ((name, text) for name, text in [("many", b"a"), ("other", b"ab"), ("many", b"b")])
    assert measure(texts, tokenizers=TOKENIZERS)[0] == Row("many", 2, {"bytes": 2, "pairs": 2})


def test_the_total_is_the_sum_of_all_files() -> None:
    rows = measure([("first", b"ab"), ("second", b"abc")], tokenizers=TOKENIZERS)
    assert total(rows, names=TOKENIZERS) == Row("total", 5, {"bytes": 5, "pairs": 3})
    assert rows[0] == Row("first", 2, {"bytes": 2, "pairs": 1})


def test_no_files_have_a_total() -> None:
    assert total([], names=TOKENIZERS) == Row("total", 0, {"bytes": 0, "pairs": 0})


def test_the_difference_is_positive_where_tokens_are_fewer_than_the_first() -> None:
    row = Row("text", 12, {"first": 8, "fewer": 6, "more": 10})
    assert row.relative_difference() == {"first": 0, "fewer": 25, "more": -25}
    assert row.bytes_per_token() == {"first": 1.5, "fewer": 2, "more": 1.2}


def test_an_empty_text_has_neither_ratio_nor_difference() -> None:
    (row,) = measure([("empty", b"")], tokenizers=TOKENIZERS)
    assert row.bytes_per_token() == {"bytes": None, "pairs": None}
    assert row.relative_difference() == {"bytes": None, "pairs": None}


@pytest.mark.parametrize(
    ("tokens", "best", "worst"),
    [
        ({"a": 3, "b": 2, "c": 4}, "b", "c"),
        ({"a": 3, "b": 2, "c": 2}, None, "a"),
        ({"a": 3, "b": 2, "c": 3}, "b", None),
        ({"a": 3, "b": 3}, None, None),
        ({"a": 3}, None, None),
    ],
)
def test_only_one_is_best_and_only_one_is_worst(
    tokens: dict[str, int], best: str | None, worst: str | None
) -> None:
    row = Row("text", 12, tokens)
    assert (row.best(), row.worst()) == (best, worst)
