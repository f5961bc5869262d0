"""A split that is a Python function: its pieces are checked, and nobody else splits."""

import copy
import pickle
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.strategies import BYTES, odd_bytes, odd_text, vocab_with
from zeton import _engine, reference
from zeton.chat import CHATML
from zeton.split_tokenizer import SplitTokenizer
from zeton.splitting import Split, mark_of, name_of, pieces_of

CORPUS = ["low lower lowest", "the newest and the widest", "naïve café", ""] * 3
END = {"<|end|>": 9000}
TOKENS = [b"lo", b"low", b"er", b"th", b"the", b" w", b"\xc3\xa9", b"st", b"est"]


def words(text: str) -> list[str]:
    """Split at word borders, which no pattern of the family does."""
    return re.findall(r"\w+|\W", text)


def syllables(text: str) -> Iterator[str]:
    """Yield a piece after each vowel, and empty ones between."""
    for part in re.findall(r"[^aeiou]*[aeiou]|[^aeiou]+", text):
        yield from (part, "")


def halves(text: str) -> list[bytes]:
    """Cut inside characters too."""
    content = text.encode("utf-8", "surrogateescape")
    return [content[: len(content) // 2], content[len(content) // 2 :]]


def lossy(text: str) -> list[str]:
    """Lose what is between words."""
    return text.split()


SPLITS: list[Split] = [words, syllables, halves, list, lambda text: [text]]


def made(split: Split = words, tokens: Iterable[bytes] = TOKENS) -> SplitTokenizer:
    return SplitTokenizer(vocab_with(list(tokens)), split=split, specials=END)


def plainly(text: str | bytes, split: Split, specials: dict[str, int]) -> list[int]:
    """Encode by the reference's words, with the function in the place of its split."""
    vocab, ids = vocab_with(TOKENS), []
    read = reference.read(text)
    stretches = re.split("(<[|]end[|]>)", read) if specials else [read]
    for at, stretch in enumerate(stretches):
        if at % 2:
            ids.append(specials[stretch])
            continue
        for piece in split(stretch):
            raw = piece if isinstance(piece, bytes) else piece.encode("utf-8", "surrogateescape")
            ids += reference.merge(raw, vocab) if raw else []
    return ids


any_text = st.one_of(
    odd_text, odd_bytes, st.lists(st.sampled_from(["<|end|>", "low", "é", " the "])).map("".join)
)


class TestEncode:
    @pytest.mark.parametrize("split", SPLITS)
    @given(text=any_text)
    def test_merges_each_piece_of_the_function(self, split: Split, text: str | bytes) -> None:
        tok = made(split)
        assert tok.encode(text) == plainly(text, split, {})
        assert tok.encode(text, allowed_special="all") == plainly(text, split, END)
        assert tok.decode_bytes(tok.encode(text)) == reference.read(text).encode(
            "utf-8", "surrogateescape"
        )

    @given(texts=st.lists(any_text, max_size=4))
    def test_all_ways_to_encode_agree(self, texts: list[str | bytes]) -> None:
        tok = made(syllables)
        lists = [tok.encode(text, allowed_special="all") for text in texts]
        assert tok.encode_batch(texts, allowed_special="all") == lists
        assert tok.count_batch(texts, allowed_special="all") == list(map(len, lists))
        ids, offsets = tok.encode_batch_array(texts, allowed_special="all")
        assert [ids.dtype, offsets.dtype] == [np.dtype("uint32"), np.dtype("uint64")]
        assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == lists
        for text, expected in zip(texts, lists, strict=True):
            assert tok.encode_array(text, allowed_special="all").tolist() == expected
            assert tok.count(text, allowed_special="all") == len(expected)
            assert tok.count(text, limit=2, allowed_special="all") == min(2, len(expected))
            assert tok.fits(text, n=len(expected), allowed_special="all")
            assert not expected or not tok.fits(text, n=len(expected) - 1, allowed_special="all")
            assert tok.explain(text, allowed_special="all").ids == expected
            located = tok.encode_with_offsets(text, allowed_special="all")  # type: ignore[type-var]
            assert located.ids == expected

    def test_names_of_specials_may_come_once(self) -> None:
        tok = made()
        texts = ["low<|end|>"] * 2
        expected = [[257, 9000]] * 2
        assert tok.encode_batch(texts, allowed_special=iter(END)) == expected
        assert (
            tok.encode_batch_array(texts, allowed_special=iter(END))[0].tolist() == [257, 9000] * 2
        )
        assert tok.count_batch(texts, allowed_special=iter(END)) == [2, 2]

    def test_its_function_stays(self) -> None:
        with pytest.raises(AttributeError):
            made().function = list  # type: ignore[misc]
        assert made().function is words

    def test_bytes_and_str_encode_alike(self) -> None:
        tok = made()
        assert tok.encode("naïve".encode()) == tok.encode("naïve")
        assert tok.encode(bytearray(b"low")) == tok.encode("low")
        assert tok.encode("\ud83d\ude00 \ud800") == tok.encode("😀 \ufffd")

    def test_puts_ids_around_the_text(self) -> None:
        tok = made()
        assert tok.encode("low", prepend="<|end|>", append=97) == [9000, *tok.encode("low"), 97]
        assert tok.encode_batch(["low"], append="<|end|>") == [[*tok.encode("low"), 9000]]
        with pytest.raises(zeton.errors.SpecialError, match="is not a special"):
            tok.encode("low", append="<|no|>")
        with pytest.raises(zeton.errors.IdError):
            tok.encode("low", prepend=77_777)

    def test_refuses_what_encode_refuses(self) -> None:
        tok = made()
        with pytest.raises(zeton.errors.SpecialError):
            tok.encode("low", allowed_special=["<|no|>"])
        with pytest.raises(TypeError, match="a text is str or bytes"):
            tok.encode(7)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="list of texts"):
            tok.encode_batch("low")
        with pytest.raises(zeton.errors.TextError, match="number of tokens is -1; give 0 or more"):
            tok.count("low", limit=-1)

    def test_places_are_those_of_the_text(self) -> None:
        located = made(halves).encode_with_offsets("éé low")
        assert [located.offsets[0], located.offsets[-1]] == [(0, 1), (3, 6)]
        assert made().token_at("é low", position=3).start == 2
        explained = made().explain("é low<|end|>", allowed_special="all").pieces
        assert [(piece.start, piece.end, piece.rule) for piece in explained] == [
            (0, 1, "split"),
            (1, 2, "split"),
            (2, 5, "split"),
            (5, 12, "special"),
        ]

    def test_is_aligned_with_a_tokenizer_that_has_a_pattern(self) -> None:
        other = zeton.Tokenizer(BYTES)
        assert made().align("low low", other=other)[0].ours == [257]
        assert len(other.align("low low", other=made())) == 3


class TestChecks:
    @pytest.mark.parametrize(
        ("split", "error", "line"),
        [
            (lossy, zeton.errors.PatternError, "after 3 bytes the text has ' two', the pieces 'tw"),
            (
                lambda _: ["one", " twist"],
                zeton.errors.PatternError,
                "after 6 bytes the text has 'o",
            ),
            (lambda t: [t, "more"], zeton.errors.PatternError, "the text has nothing, the pieces "),
            (lambda _: [], zeton.errors.PatternError, "'one two'.*the pieces nothing"),
            (lambda t: [t, "\ud800"], zeton.errors.PatternError, "the text has nothing"),
            (lambda t: t, TypeError, "returned str; return a list of pieces"),
            (lambda _: None, TypeError, "returned NoneType"),
            (lambda t: [t, 7], TypeError, "returned a piece of type int; return str, or bytes"),
        ],
    )
    def test_refuses_pieces_that_are_not_the_text(
        self, split: Any, error: type[Exception], line: str
    ) -> None:
        with pytest.raises(error, match=line):
            made(split).encode("one two")
        with pytest.raises(error, match=line):
            zeton.train(["one two"], vocab_size=260, split=split)

    def test_texts_that_look_alike_are_told_apart(self) -> None:
        with pytest.raises(zeton.errors.PatternError, match=r"has 'e\\u0301', the pieces '\\xe9'"):
            made(lambda text: [unicodedata.normalize("NFC", text)]).encode("e\u0301")

    def test_a_refusal_is_one_line_that_names_the_function(self) -> None:
        with pytest.raises(zeton.errors.PatternError) as raised:
            made(lossy).encode("a\n" * 1000)
        assert "test_splitting.lossy" in str(raised.value)
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 250

    def test_a_function_that_never_ends_is_stopped(self) -> None:
        def endless(_: str) -> Iterator[str]:
            while True:
                yield "a"

        with pytest.raises(zeton.errors.PatternError):
            made(endless).encode("aaa")

    def test_what_the_function_raises_passes(self) -> None:
        def failing(_: str) -> list[str]:
            raise LookupError("mine")

        with pytest.raises(LookupError, match="mine"):
            made(failing).encode_array("low")
        with pytest.raises(LookupError, match="mine"):
            zeton.train(["low"], vocab_size=260, split=failing)

    def test_refuses_what_is_no_function(self) -> None:
        with pytest.raises(TypeError, match="split is a function"):
            zeton.train(["low"], vocab_size=260, split="words")  # type: ignore[call-overload]
        with pytest.raises(TypeError, match="split is a function"):
            SplitTokenizer(BYTES, split=7)  # type: ignore[arg-type]

    @given(text=odd_bytes)
    def test_a_byte_that_is_not_utf8_is_a_character(self, text: bytes) -> None:
        assert b"".join(pieces_of(text, list)) == text
        assert len(pieces_of(text, list)) == len(reference.read(text))


class TestTrain:
    @pytest.mark.parametrize("split", SPLITS)
    def test_learns_what_the_reference_learns(self, split: Split) -> None:
        tok = zeton.train(CORPUS, vocab_size=259, split=split, specials=["<|end|>"])
        counts = Counter(piece for text in CORPUS for piece in pieces_of(text, split))
        assert tok.ranks() == reference.learn(counts, 258)
        assert tok.specials == {"<|end|>": tok.vocab_size - 1}
        assert isinstance(tok, SplitTokenizer)
        assert tok.decode(tok.encode("lower café")) == "lower café"

    def test_neither_order_nor_options_change_a_result(self) -> None:
        expected = zeton.train(CORPUS, vocab_size=275, split=words).ranks()
        assert zeton.train(CORPUS[::-1], vocab_size=275, split=words, threads=2).ranks() == expected
        assert zeton.train(CORPUS, vocab_size=275, split=words, memory="1MB").ranks() == expected
        as_bytes = [text.encode() for text in CORPUS]
        assert zeton.train(as_bytes, vocab_size=275, split=words).ranks() == expected
        doubled = zeton.train(CORPUS, vocab_size=275, split=words, weights=[2] * len(CORPUS))
        assert doubled.ranks() == expected

    def test_several_sizes_and_what_is_held_out(self) -> None:
        corpus = [f"{text} {number}" for number in range(300) for text in CORPUS]
        small, large = zeton.train(corpus, vocab_size=[260, 270], split=words, validation=0.3)
        assert isinstance(small, SplitTokenizer)
        assert large.encode("lowest") != []
        assert "training.validation_bytes_per_token" in large.made_by

    def test_goes_on_from_a_tokenizer_of_the_same_function(self) -> None:
        first = zeton.train(CORPUS, vocab_size=260, split=words)
        assert zeton.train(CORPUS, vocab_size=270, initial=first).ranks() == (
            zeton.train(CORPUS, vocab_size=270, split=words).ranks()
        )
        assert zeton.train(CORPUS, vocab_size=270, initial=first, split=words).vocab_size == 270
        for options in ({"split": list}, {"pattern": r"\w+|\W"}):
            with pytest.raises(zeton.errors.TrainError):
                zeton.train(CORPUS, vocab_size=270, initial=first, **options)
        with pytest.raises(zeton.errors.TrainError, match="splits in another way"):
            zeton.train(CORPUS, vocab_size=270, initial=zeton.Tokenizer(BYTES), split=words)

    def test_refuses_a_split_and_a_pattern(self) -> None:
        with pytest.raises(zeton.errors.TrainError, match="give one of them"):
            zeton.train(CORPUS, vocab_size=270, split=words, pattern=r"\w+|\W")

    def test_counts_then_learns(self, tmp_path: Path) -> None:
        counts = zeton.count_corpus(CORPUS, split=words)
        assert counts.most_common(1) == [(b" ", 21)]
        tok = zeton.learn(counts, vocab_size=270)
        assert tok == zeton.train(CORPUS, vocab_size=270, split=words)
        with pytest.raises(zeton.errors.TrainError, match="holds no code"):
            counts.save(tmp_path / "corpus.counts")

    def test_reads_files_whole(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text(" ".join(CORPUS), encoding="utf-8")
        seen: list[str] = []

        def watching(text: str) -> list[str]:
            seen.append(text)
            return words(text)

        tok = zeton.train_files([tmp_path], vocab_size=270, split=watching)
        assert seen == [" ".join(CORPUS)]
        assert tok.ranks() == zeton.train([" ".join(CORPUS)], vocab_size=270, split=words).ranks()
        for options in ({"executor": "local"}, {"checkpoint_dir": tmp_path / "journal"}):
            with pytest.raises(zeton.errors.TrainError, match="is a Python function"):
                zeton.train_files([tmp_path], vocab_size=270, split=words, **options)

    def test_writes_a_report(self, tmp_path: Path) -> None:
        zeton.train(CORPUS, vocab_size=270, split=words, report=tmp_path / "report.html")
        assert "test_splitting.words" in (tmp_path / "report.html").read_text(encoding="utf-8")


class TestFiles:
    def test_a_file_holds_the_name_of_the_function_and_is_loaded_with_it(
        self, tmp_path: Path
    ) -> None:
        path = made().save(tmp_path / "words.zeton")
        assert path.read_bytes().count(b'{"rules":1,"split":"test_splitting.words"}') == 1
        with pytest.raises(zeton.errors.PatternError) as raised:
            zeton.load(path)
        assert str(raised.value) == (
            f"{path}: this tokenizer was saved without its split, the Python function "
            "test_splitting.words; give it again: zeton.load(path, split=test_splitting.words)"
        )
        loaded = zeton.load(path, split=words)
        assert loaded == made()
        assert loaded.encode("lowest é") == made().encode("lowest é")

    def test_another_function_gives_another_tokenizer(self, tmp_path: Path) -> None:
        path = made().save(tmp_path)
        loaded = zeton.load(path, split=list)
        assert loaded == made(list)
        assert loaded != made()
        assert loaded.pattern == '{"rules":1,"split":"builtins.list"}'
        assert loaded.made_by == made().made_by

    def test_a_file_with_a_pattern_takes_no_split(self, tmp_path: Path) -> None:
        path = zeton.Tokenizer(BYTES).save(tmp_path)
        with pytest.raises(zeton.errors.PatternError, match="leave out split="):
            zeton.load(path, split=words)

    def test_pickles_where_the_function_does(self) -> None:
        tok = pickle.loads(pickle.dumps(made()))  # noqa: S301 - our own.
        assert tok == made()
        assert tok.encode("lowest") == made().encode("lowest")
        with pytest.raises((pickle.PicklingError, AttributeError)):
            pickle.dumps(made(lambda text: [text]))

    def test_copies_are_itself(self) -> None:
        tok = made()
        assert copy.copy(tok) is tok
        assert copy.deepcopy(tok) is tok

    def test_keeps_its_split_with_a_chat_template(self) -> None:
        specials = {"<|im_start|>": 9000, "<|im_end|>": 9001}
        tok = SplitTokenizer(vocab_with(TOKENS), split=words, specials=specials)
        kept = CHATML.attach_to(tok)
        assert kept == tok
        assert kept.encode("low") == [257]


class TestSafety:
    """Whatever would split by the engine is refused: there is no pattern that it could use."""

    @pytest.mark.parametrize(
        "name",
        [
            "truncate",
            "chunk",
            "heal",
            "encoder",
            "encode_file",
            "as_tiktoken",
            "digest",
            "grammar",
            "rules",
        ],
    )
    def test_lacks_the_members_that_need_a_pattern(self, name: str) -> None:
        tok = made()
        assert not hasattr(tok, name)
        assert name not in dir(tok)
        with pytest.raises(AttributeError) as raised:
            getattr(tok, name)
        assert str(raised.value) == (
            f"a SplitTokenizer has no {name!r}, which needs a pattern or rules; this one splits by "
            "the Python function test_splitting.words"
        )

    def test_is_no_subclass_that_refuses_its_base(self) -> None:
        tok = made()
        assert not isinstance(tok, zeton.Tokenizer)
        assert isinstance(tok, zeton.TextEncoder)
        assert isinstance(zeton.Tokenizer(BYTES), zeton.TextEncoder)
        members = {name for name in vars(zeton.TextEncoder) if not name.startswith("_")}
        assert members <= set(dir(tok)) & set(dir(zeton.Tokenizer(BYTES)))

    @pytest.mark.parametrize(
        "call",
        [
            lambda tok, _: zeton.search.phrase("low", tokenizer=tok),
            lambda tok, folder: zeton.shards.write([folder], tokenizer=tok, out=folder / "out"),
        ],
    )
    def test_a_function_that_needs_a_pattern_says_so(
        self, call: Callable[[object, Path], object], tmp_path: Path
    ) -> None:
        (tmp_path / "a.txt").write_text("one two")
        with pytest.raises(
            zeton.errors.PatternError, match=r"needs a pattern or rules; <zeton\.Spl"
        ):
            call(made(), tmp_path)

    @pytest.mark.parametrize(
        "call",
        [
            lambda tok: _engine.TokenizerCore.encode(tok, "a"),
            lambda tok: _engine.TokenizerCore.encode(tok, ""),
            lambda tok: _engine.TokenizerCore.encode_array(tok, "a" * 5000),
            lambda tok: _engine.TokenizerCore.encode_batch(tok, ["a"]),
            lambda tok: _engine.TokenizerCore.count(tok, "a"),
            lambda tok: _engine.TokenizerCore.count(tok, "a", limit=1),
            lambda tok: _engine.TokenizerCore.split(tok, "a"),
            lambda tok: _engine.Encoder(tok, None).push("a") + _engine.Encoder(tok, None).finish(),
            lambda tok: _engine.encode_with_places(tok, "a", None, characters=True),
            lambda tok: _engine.find_chunks(tok, "one two", 1, 0, "piece", None),
            lambda tok: _engine.fit_end(tok, "one two", 1, "character", None),
            lambda tok: _engine.fit_start(tok, "one two", 1, "character", None, ""),
            lambda tok: _engine.encode_unstable(tok, b"one", None),
            lambda tok: _engine.explain(tok, "one", None, characters=True),
            lambda tok: _engine.heal(tok, "one", None),
            lambda tok: zeton.Tokenizer(BYTES, pattern=tok.pattern),
            lambda tok: zeton.train(["one"], vocab_size=260, pattern=tok.pattern),
        ],
    )
    def test_the_engine_never_splits_in_its_place(
        self, call: Callable[[SplitTokenizer], object]
    ) -> None:
        with pytest.raises(zeton.errors.PatternError, match=r"the Python function|is a Python"):
            call(made())

    def test_says_what_it_is(self) -> None:
        tok = made()
        assert repr(tok) == (
            "<zeton.SplitTokenizer vocab_size=9001, split=test_splitting.words, "
            "specials=['<|end|>']>"
        )
        assert tok.info.split == tok.info.way == "function"
        assert "test_splitting.words" in tok.info.why
        assert tok.pattern == mark_of(words)

    def test_equal_names_are_not_equal_functions(self) -> None:
        one, other = (made(lambda text: [text]) for _ in range(2))
        assert one.pattern == other.pattern
        assert one != other
        assert one == one  # noqa: PLR0124
        assert hash(one) == hash(other)

    def test_names_what_is_no_plain_function(self) -> None:
        class Odd:
            def __call__(self, text: str) -> list[str]:
                return [text]

        assert name_of(Odd()).endswith("Odd")
        assert made(Odd()).encode("low") == [257]
        Odd.__qualname__ = 'a"b\\\n'
        assert name_of(Odd()) == "test_splitting.a?b??"
        assert made(Odd()).encode("low") == [257]
