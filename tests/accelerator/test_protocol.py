"""Packed frames are read back, and no bytes break the reader."""

from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from zeton.accel.service import (
    Code,
    ProtocolError,
    RefusedError,
)
from zeton.accel.service.protocol import (
    Options,
    join_answer,
    pack_ids,
    pack_request,
    read_answer,
    read_request,
    split_requests,
)


@given(st.binary(max_size=80))
def test_no_bytes_break_the_reading_of_a_request(body: bytes) -> None:
    try:
        wanted = read_request(body)
    except RefusedError as error:
        assert error.code == Code.REQUEST  # noqa: PT017
    else:
        assert read_request(pack_request(wanted.done, wanted.options, wanted.texts)) == wanted


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(1, 5))
def test_what_is_packed_is_read(texts: list[bytes], texts_max: int) -> None:
    options = Options(("<|x|>",), "<|end|>", 7)
    assert read_request(pack_request(3, options, texts)).texts == texts
    assert read_request(pack_request(3, options, texts)).options == options
    ids = [list(text) for text in texts]
    assert read_answer(join_answer([pack_ids(ids[:2]), pack_ids(ids[2:])]), len(ids)) == ids
    groups = list(split_requests(texts, texts_max))
    assert [text for group in groups for text in group] == texts
    assert all(1 <= len(group) <= texts_max for group in groups)


@given(st.binary(max_size=40), st.integers(0, 4))
def test_an_answer_that_is_none_is_refused(body: bytes, texts: int) -> None:
    with suppress(ProtocolError):
        assert len(read_answer(body, texts)) == texts
