"""Ids -> text."""

import array

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from conftest import odd_text

TOK = jeton.pretrained("cl100k_base")
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


@pytest.mark.parametrize("unknown", [100256, 100277, -1, 2**32, 2**200])
def test_refuses_an_unknown_id_naming_it_and_the_range(unknown: int) -> None:
    for call in (TOK.decode, TOK.decode_bytes, lambda ids: TOK.decode_batch([ids])):
        with pytest.raises(jeton.errors.IdError, match="ids are below 100277") as refusal:
            call([0, unknown])
        assert isinstance(refusal.value, KeyError)
        if unknown < 2**127:
            assert f"id {unknown} is not in the vocabulary" in str(refusal.value)
    with pytest.raises(jeton.errors.IdError):
        TOK.token_bytes(unknown)


def test_refuses_what_is_no_id() -> None:
    with pytest.raises(TypeError, match="an id is an int, not str"):
        TOK.decode(["a"])  # type: ignore[list-item]


def test_a_list_that_never_ends_is_refused() -> None:
    class Endless:
        def tolist(self) -> "Endless":
            return self

    with pytest.raises(TypeError):
        TOK.decode(Endless())  # type: ignore[arg-type]


def test_strict_errors_raise() -> None:
    with pytest.raises(UnicodeDecodeError):
        TOK.decode(TOK.encode("中")[:-1] or [TOK.encode(b"\xe4")[0]], errors="strict")
