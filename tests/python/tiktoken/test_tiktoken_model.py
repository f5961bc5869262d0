"""Model -> encoding, as tiktoken has it."""

import inspect

import pytest
import tiktoken.model
from hypothesis import given
from hypothesis import strategies as st

from zeton.tiktoken import model

KNOWN = [*model.MODEL_TO_ENCODING, *model.MODEL_PREFIX_TO_ENCODING]


def test_the_tables_are_tiktokens() -> None:
    assert model.MODEL_TO_ENCODING == tiktoken.model.MODEL_TO_ENCODING
    ours, theirs = model.MODEL_PREFIX_TO_ENCODING, tiktoken.model.MODEL_PREFIX_TO_ENCODING
    assert list(ours.items()) == list(theirs.items())


def test_the_parameters_are_tiktokens() -> None:
    for name in ("encoding_name_for_model", "encoding_for_model"):
        ours, theirs = (getattr(module, name) for module in (model, tiktoken.model))
        assert list(inspect.signature(ours).parameters) == ["model_name"]
        assert list(inspect.signature(theirs).parameters) == ["model_name"]


@given(known=st.sampled_from(KNOWN), prefix=st.sampled_from(["", "ft:", "x"]), rest=st.text("-4o:"))
def test_any_name_has_the_encoding_that_tiktoken_gives_it(
    known: str, prefix: str, rest: str
) -> None:
    try:
        expected = tiktoken.model.encoding_name_for_model(prefix + known + rest)
    except KeyError:
        with pytest.raises(KeyError):
            model.encoding_name_for_model(prefix + known + rest)
    else:
        assert model.encoding_name_for_model(prefix + known + rest) == expected


@pytest.mark.parametrize("known", KNOWN)
def test_every_model_has_an_encoding_that_is_there(known: str) -> None:
    encoding = model.encoding_for_model(known)
    assert encoding.name == model.encoding_name_for_model(known)
    assert encoding is model.encoding_for_model(known)


@pytest.mark.parametrize("unknown", ["", "gpt", "gpt-9", "GPT-4", "o200k_base"])
def test_refuses_an_unknown_model(unknown: str) -> None:
    message = f"Could not automatically map {unknown} to a tokeniser. .* get_encoding"
    with pytest.raises(KeyError, match=message):
        model.encoding_for_model(unknown)
