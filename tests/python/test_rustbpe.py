"""`zeton.rustbpe` against rustbpe itself, and its traps, mended."""

import inspect
from collections.abc import Iterator

import pytest
import rustbpe
from hypothesis import given, settings
from hypothesis import strategies as st

import zeton
from support.paths import SHARED, needs_shared
from support.strategies import odd_text, patterns
from zeton.rustbpe import Tokenizer

TEXTS = ["low lower lowest", "the newest, widest — 12345 numbers", "don't stop; l'été à 日本語"] * 3


def trained(texts: list[str], vocab_size: int, **options: object) -> tuple[Tokenizer, object]:
    """Train both alike."""
    ours, theirs = Tokenizer(), rustbpe.Tokenizer()
    ours.train_from_iterator(iter(texts), vocab_size, **options)  # type: ignore[arg-type]
    theirs.train_from_iterator(iter(texts), vocab_size, **options)
    return ours, theirs


@given(st.lists(odd_text, min_size=1), st.sampled_from([None, *patterns().values()]), odd_text)
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore:the vocabulary has")
def test_every_member_gives_what_rustbpe_gives(
    texts: list[str], pattern: str | None, text: str
) -> None:
    ours, theirs = trained(texts, 270, pattern=pattern)
    assert ours.vocab_size == theirs.vocab_size  # type: ignore[attr-defined]
    assert ours.get_pattern() == theirs.get_pattern()  # type: ignore[attr-defined]
    assert ours.get_mergeable_ranks() == theirs.get_mergeable_ranks()  # type: ignore[attr-defined]
    ids = ours.encode(text)
    assert ids == theirs.encode(text)  # type: ignore[attr-defined]
    assert ours.decode(ids) == text
    assert ours.batch_encode([text, *texts]) == theirs.batch_encode([text, *texts])  # type: ignore[attr-defined]


@needs_shared
def test_a_real_text_gives_the_same_ranks() -> None:
    file = min((SHARED / "dev").glob("*/*.txt"), key=lambda path: path.stat().st_size)
    texts = file.read_text().split("\x1e")
    ours, theirs = trained(texts, 2000)
    assert ours.get_mergeable_ranks() == theirs.get_mergeable_ranks()  # type: ignore[attr-defined]


def test_the_members_and_parameters_are_rustbpes() -> None:
    def parameters(value: object) -> list[tuple[str, object]]:
        found = inspect.signature(value).parameters.values()  # type: ignore[arg-type]
        return [(parameter.name, parameter.default) for parameter in found]

    for name in dir(rustbpe.Tokenizer):
        if name.startswith("_") or name == "vocab_size":
            continue
        assert parameters(getattr(Tokenizer, name)) == parameters(getattr(rustbpe.Tokenizer, name))


def test_an_untrained_tokenizer_loses_no_text() -> None:
    tok = Tokenizer()
    assert (tok.vocab_size, tok.get_pattern()) == (256, "")
    assert tok.decode(tok.encode("naïve")) == "naïve"
    assert tok.get_mergeable_ranks() == rustbpe.Tokenizer().get_mergeable_ranks()


def test_a_second_training_replaces_the_first() -> None:
    tok = Tokenizer()
    tok.train_from_iterator(TEXTS, 300)
    tok.train_from_iterator(["aaaa"], 257)
    assert tok.encode("aaaa") == [256, 256]


def test_what_would_hang_or_panic_is_refused() -> None:
    tok = Tokenizer()
    with pytest.raises(zeton.Error, match="buffer_size is 0"):
        tok.train_from_iterator(TEXTS, 300, buffer_size=0)
    with pytest.raises(zeton.Error, match="256"):
        tok.train_from_iterator(TEXTS, 255)
    with pytest.raises(ValueError, match="does not compile"):
        tok.train_from_iterator(TEXTS, 300, pattern="(")
    assert tok.vocab_size == 256


def test_decoding_refuses_with_the_right_errors() -> None:
    tok = Tokenizer()
    with pytest.raises(UnicodeDecodeError):
        tok.decode([255])
    for ids in ([300], iter([300])):
        with pytest.raises(ValueError, match="Unknown token id: 300"):
            tok.decode(ids)  # type: ignore[arg-type]


def test_texts_are_strs() -> None:
    tok = Tokenizer()
    for call in (
        lambda: tok.encode(b"a"),  # type: ignore[arg-type]
        lambda: tok.batch_encode([b"a"]),  # type: ignore[list-item]
        lambda: tok.batch_encode("ab"),  # type: ignore[arg-type]
        lambda: tok.train_from_iterator([b"a"], 300),  # type: ignore[list-item]
        lambda: tok.train_from_iterator("ab", 300),
        lambda: tok.train_from_iterator(5, 300),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError):
            call()


def test_an_error_of_the_iterator_comes_through() -> None:
    def failing() -> Iterator[str]:
        yield "a"
        raise RuntimeError("the disk is gone")

    with pytest.raises(RuntimeError, match="the disk is gone"):
        Tokenizer().train_from_iterator(failing(), 300)


def test_too_little_text_is_said() -> None:
    with pytest.warns(UserWarning, match="no pair occurs any more"):
        Tokenizer().train_from_iterator(["ab"], 300)
