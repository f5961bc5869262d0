"""Ids -> text."""

import array
import random
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.strategies import odd_text

TOK = zeton.pretrained("cl100k_base")
ENCODING = TOK.as_tiktoken()
some_ids = st.lists(
    st.one_of(st.integers(0, 100255), st.sampled_from([100257, 100276])), max_size=20
)


@given(text=odd_text)
def test_decode_undoes_encode(text: str) -> None:
    assert TOK.decode(TOK.encode(text)) == text
    assert TOK.decode_bytes(TOK.encode(text)) == text.encode()


@given(ids=some_ids)
def test_any_ids_decode_as_tiktoken_decodes_them(ids: list[int]) -> None:
    assert TOK.decode(ids) == ENCODING.decode(ids)
    assert TOK.decode_bytes(ids) == ENCODING.decode_bytes(ids)
    assert TOK.decode(ids, errors="ignore") == ENCODING.decode(ids, errors="ignore")
    assert TOK.decode_batch([ids, []]) == [TOK.decode(ids), ""]


def test_ids_may_be_any_array() -> None:
    ids = TOK.encode("naïve 中文")
    arrays = [np.array(ids, dtype) for dtype in (np.uint32, np.int64, np.uint64)]
    for given_ids in [
        tuple(ids),
        array.array("I", ids),
        iter(ids),
        *arrays,
        TOK.encode_array("naïve 中文"),
    ]:
        assert TOK.decode(given_ids) == "naïve 中文"


def test_a_large_batch_decodes_on_threads() -> None:
    texts = [f"text {i} " * 100 for i in range(500)]
    assert TOK.decode_batch(TOK.encode_batch(texts), threads=3) == texts


def test_an_id_in_a_gap_is_refused_as_one() -> None:
    calls = (TOK.decode, TOK.decode_bytes, lambda ids: TOK.decode_batch([ids]), TOK.decoder().push)
    for call in calls:
        with pytest.raises(zeton.errors.IdError) as refusal:
            call([0, 100256])
        assert str(refusal.value) == (
            "no token has id 100256; the vocabulary has a gap between ids 100255 and 100257, "
            "so decode with the tokenizer that encoded the text"
        )
    with pytest.raises(zeton.errors.IdError, match="no token has id 100256"):
        TOK.token_bytes(100256)


@pytest.mark.parametrize("unknown", [100277, -1, 2**32, 2**200])
def test_refuses_an_unknown_id_naming_it_and_the_range(unknown: int) -> None:
    for call in (TOK.decode, TOK.decode_bytes, lambda ids: TOK.decode_batch([ids])):
        with pytest.raises(zeton.errors.IdError, match="whose ids are 0 to 100276") as refusal:
            call([0, unknown])
        assert isinstance(refusal.value, KeyError)
        if unknown < 2**127:
            assert f"id {unknown} is not in the vocabulary" in str(refusal.value)
    with pytest.raises(zeton.errors.IdError):
        TOK.token_bytes(unknown)


def test_refuses_what_is_no_id() -> None:
    with pytest.raises(TypeError, match="an id is an int, not str"):
        TOK.decode(["a"])  # type: ignore[list-item]
    for ids in ([True], [1, False], np.array([True]), (True,)):
        with pytest.raises(TypeError, match="an id is an int, not bool"):
            TOK.decode(ids)
        with pytest.raises(TypeError, match="an id is an int, not bool"):
            TOK.decode_batch([ids])


@pytest.mark.parametrize("content", [b"abc", bytearray(b"abc"), "abc", 5, None])
def test_refuses_what_is_no_list_of_ids(content: Any) -> None:
    kind = type(content).__name__
    decoder = TOK.decoder()
    calls: list[Any] = [TOK.decode, TOK.decode_bytes]
    for call in calls if content == 5 else [*calls, decoder.push]:
        with pytest.raises(TypeError, match=f"ids are a list or an array of ints, not {kind}"):
            call(content)
    for batch in (TOK.decode_batch, TOK.decode_batch_bytes):
        found = f"not {kind}" if not isinstance(content, bytearray) else "not one list of ids"
        with pytest.raises(TypeError, match=f"a batch is a list of lists of ids, {found}"):
            batch(content)
    with pytest.raises(TypeError, match="a list of lists of ids, not one list of ids"):
        TOK.decode_batch([1, 2])  # type: ignore[list-item]


def test_refuses_an_unknown_error_handler_of_any_text() -> None:
    for call in (
        lambda: TOK.decode([1], errors="foo"),
        lambda: TOK.decode([], errors="foo"),
        lambda: TOK.decode_batch([[1]], errors="foo"),
        lambda: TOK.decode_batch([], errors="foo"),
        lambda: TOK.decoder(errors="foo"),
    ):
        with pytest.raises(zeton.errors.TextError, match='errors="foo" is not an error handler'):
            call()


def test_a_list_that_never_ends_is_refused() -> None:
    class Endless:
        def tolist(self) -> "Endless":
            return self

    with pytest.raises(TypeError):
        TOK.decode(Endless())  # type: ignore[arg-type]


def test_strict_errors_raise() -> None:
    with pytest.raises(UnicodeDecodeError):
        TOK.decode(TOK.encode("中")[:-1] or [TOK.encode(b"\xe4")[0]], errors="strict")


def joined(ids: list[int]) -> bytes:
    """Look up each id alone."""
    return b"".join(map(TOK.token_bytes, ids))


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 255, 256, 257, 10_000])
def test_lists_of_any_length_decode_as_their_ids_do(count: int) -> None:
    ids = [(7919 * number) % 100_256 for number in range(count)]
    ids[::97] = [100_257] * len(ids[::97])
    expected = joined(ids)
    for given_ids in (ids, Plain(ids), tuple(ids), np.array(ids, np.uint32), np.array(ids)):
        assert TOK.decode_bytes(given_ids) == expected
        assert TOK.decode(given_ids) == expected.decode(errors="replace")
        assert TOK.decode_batch_bytes([given_ids, []]) == [expected, b""]


class Plain(list[int]):
    """A list that is read through Python's interface."""


class Doubled(list[int]):
    def __iter__(self) -> Iterator[int]:
        return (one for one in [*list.__iter__(self)] for _ in range(2))


class Number(int):
    pass


class Index:
    """A number that changes the list that it is in."""

    def __init__(self, ids: list[Any]) -> None:
        self.ids = ids

    def __index__(self) -> int:
        del self.ids[5:]
        return 97


def test_numbers_of_all_kinds_are_ids() -> None:
    mixed: list[Any] = [97, Number(98), np.int64(99), np.uint8(100), 0, 256]
    assert TOK.decode_bytes(mixed) == joined([97, 98, 99, 100, 0, 256])
    assert TOK.decode_bytes(Doubled([97, 98])) == joined([97, 97, 98, 98])


def test_a_list_may_change_while_it_is_read() -> None:
    ids: list[Any] = [97] * 1000
    ids[3] = Index(ids)
    assert TOK.decode_bytes(ids) == joined([97] * 5)


def test_arrays_of_all_layouts_are_read() -> None:
    ids = np.array([97, 98, 99, 100, 101, 102])
    expected = joined(ids.tolist())
    for dtype in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", ">u4", ">i8", "<u2"):
        assert TOK.decode_bytes(ids.astype(dtype)) == expected, dtype
    assert TOK.decode_bytes(ids[::2]) == joined([97, 99, 101])
    assert TOK.decode_bytes(ids[::-1]) == joined(ids.tolist()[::-1])
    assert TOK.decode_bytes(ids[:0]) == b""
    assert TOK.decode_bytes(memoryview(array.array("I", [97, 98]))) == joined([97, 98])
    assert TOK.decode_bytes(np.ma.array([97, 98])) == joined([97, 98])
    read_only = ids.copy()
    read_only.flags.writeable = False
    assert TOK.decode_bytes(read_only) == expected


@pytest.mark.parametrize(
    "refused",
    [
        np.array([[97, 98]]),
        np.array([97.0]),
        np.array(97),
        np.ma.array([97, 98], mask=[False, True]),
        [97, 98.0],
        [97, None],
        # What is no id is refused before an id that stands for nothing.
        [100_256, "a"],
        [100_256] * 5000 + ["a"],
    ],
)
def test_refuses_what_holds_no_ids(refused: Any) -> None:
    for call in (TOK.decode, TOK.decode_bytes, lambda ids: TOK.decode_batch([ids])):
        with pytest.raises(TypeError):
            call(refused)


@pytest.mark.parametrize("dtype", ["u4", "i4", "u8", "i8"])
def test_refuses_an_unknown_id_in_an_array(dtype: str) -> None:
    with pytest.raises(zeton.errors.IdError, match="no token has id 100256"):
        TOK.decode(np.array([97] * 500 + [100_256], dtype))


@pytest.mark.parametrize("number", [-1, 2**32, 2**32 + 97])
def test_refuses_a_number_in_an_array_that_no_id_has(number: int) -> None:
    with pytest.raises(zeton.errors.IdError, match=f"id {number} is not in the vocabulary"):
        TOK.decode(np.array([97, number]))


@pytest.mark.parametrize(
    "errors", ["replace", "ignore", "backslashreplace", "surrogateescape", "strict"]
)
def test_errors_are_those_of_bytes(errors: str) -> None:
    short = [b"abc", "naïve 中文 🙂".encode(), b"a\xffb", b"\xe4\xb8", b"\xed\xa0\x80a"]
    for content in [*short, *(content * 500 for content in short)]:
        ids = TOK.encode(content)
        try:
            expected = content.decode(errors=errors)
        except UnicodeDecodeError as refusal:
            with pytest.raises(type(refusal)):
                TOK.decode(ids, errors=errors)
        else:
            assert TOK.decode(ids, errors=errors) == expected


@pytest.mark.parametrize("highest", [0x7F, 0xFF, 0x7FF, 0xFFFF, 0x10FFFF])
@pytest.mark.parametrize("share", [0.001, 0.1, 1.0])
def test_a_long_text_is_the_str_that_python_makes(highest: int, share: float) -> None:
    chance = random.Random(highest)
    for length in (510, 511, 512, 513, 5_000, 300_000):
        codes = [
            chance.randint(0, highest if chance.random() < share else 0x7F) for _ in range(length)
        ]
        content = "".join(map(chr, codes)).encode(errors="ignore")
        text, expected = TOK.decode(TOK.encode_array(content)), content.decode()
        assert text == expected
        assert hash(text) == hash(expected)
        assert text.isascii() == expected.isascii()
        assert sys.getsizeof(text) == sys.getsizeof(expected)
        assert (text + "x")[-3:] == (expected + "x")[-3:]
