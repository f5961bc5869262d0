"""Counts -> vocabularies: sizes, bounds, going on, and what is told of it."""

import random
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Unpack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeton
from zeton import reference
from zeton.training.options import LearnOptions

TEXTS = ["the theme of the thesis then was the theory of them", "a thin thing, a thick thought"]


def quiet(counts: zeton.Counts, size: int, **options: Unpack[LearnOptions]) -> zeton.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zeton.learn(counts, vocab_size=size, **options)


def test_learning_is_what_training_does() -> None:
    counts = zeton.count_corpus(TEXTS)
    assert zeton.learn(counts, vocab_size=270) == zeton.train(TEXTS, vocab_size=270)
    assert zeton.learn(counts, vocab_size=265) == zeton.train(TEXTS, vocab_size=265), (
        "counts can be learned from again"
    )


def test_several_sizes_are_each_a_prefix_of_the_next() -> None:
    small, large = zeton.train(TEXTS, vocab_size=[262, 275], specials=["<|end|>"])
    assert (small.vocab_size, large.vocab_size) == (262, 275)
    assert (small.specials, large.specials) == ({"<|end|>": 261}, {"<|end|>": 274})
    assert list(large.merges().items())[:5] == list(small.merges().items())
    assert small == zeton.train(TEXTS, vocab_size=262, specials=["<|end|>"])
    assert zeton.train(TEXTS, vocab_size=[262]) == [zeton.train(TEXTS, vocab_size=262)]


@pytest.mark.parametrize("sizes", [[], [300, 260], [260, 260], [100]])
def test_refuses_sizes_that_do_not_rise(sizes: list[int]) -> None:
    with pytest.raises(zeton.errors.TrainError, match="vocab_size is"):
        zeton.train(TEXTS, vocab_size=sizes)


def test_refuses_a_size_that_is_no_number() -> None:
    for size in (1.5, "300", True, None, ["300"]):
        with pytest.raises((TypeError, zeton.errors.TrainError)):
            zeton.train(TEXTS, vocab_size=size)  # type: ignore[arg-type]


def merged_plainly(texts: list[str], initial: zeton.Tokenizer, count: int) -> list[tuple[int, int]]:
    """Go on from a tokenizer, by the rule: encode each piece, then join the most frequent pair."""
    words = []
    for piece, weight in reference.count(texts, initial.pattern).items():
        words.append((initial.encode(piece), weight))
    tokens = {rank: token for token, rank in initial.ranks().items()}
    first = 1 + max(*tokens, *initial.specials.values())
    merges: list[tuple[int, int]] = []
    while len(merges) < count:
        pairs: dict[tuple[int, int], int] = {}
        for ids, weight in words:
            for pair in pairwise(ids):
                if tokens[pair[0]] + tokens[pair[1]] not in tokens.values():
                    pairs[pair] = pairs.get(pair, 0) + weight
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        new = first + len(merges)
        tokens[new] = tokens[best[0]] + tokens[best[1]]
        merges.append(best)
        words = [(reference.join(ids, best, new), weight) for ids, weight in words]
    return merges


@given(seed=st.integers(0, 10**6), size=st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_going_on_keeps_all_ids_and_adds_the_next_best(seed: int, size: int) -> None:
    chance = random.Random(seed)

    def text() -> str:
        return "".join(chance.choice("aab c") for _ in range(chance.randrange(60)))

    initial = quiet(
        zeton.count_corpus([text(), text()]), 256 + size, specials=["<|x|>"][: size % 2]
    )
    texts = [text() for _ in range(3)]
    counts = zeton.count_corpus(texts)
    wanted = chance.randrange(8)
    tok = quiet(counts, initial.vocab_size + wanted, initial=initial)
    assert initial.ranks().items() <= tok.ranks().items()
    assert tok.specials == initial.specials
    new = [pair for pair, rank in tok.merges().items() if rank not in initial.ranks().values()]
    assert new == merged_plainly(texts, initial, wanted)
    assert tok.decode(tok.encode(texts[0])) == texts[0]


def test_going_on_with_more_of_the_same_is_training_on() -> None:
    small, large = zeton.train(TEXTS, vocab_size=[262, 275])
    assert zeton.train(TEXTS, vocab_size=275, initial=small) == large


def test_going_on_refuses_another_pattern_and_takes_new_specials() -> None:
    initial = zeton.train(TEXTS, vocab_size=262, specials=["<|a|>"], pattern=r"\w+|\W")
    tok = zeton.train(TEXTS, vocab_size=266, initial=initial, specials=["<|b|>"])
    assert tok.pattern == r"\w+|\W"
    assert tok.specials == {"<|a|>": 261, "<|b|>": 265}
    with pytest.raises(zeton.errors.TrainError, match="they must be the same"):
        zeton.train(TEXTS, vocab_size=266, initial=initial, pattern=zeton.DEFAULT_PATTERN)
    with pytest.raises(zeton.errors.TrainError, match="at least 262: 262 initial tokens"):
        zeton.train(TEXTS, vocab_size=261, initial=initial)
    with pytest.raises(zeton.Error):
        zeton.train(TEXTS, vocab_size=266, initial=initial, specials=["<|a|>"])


def test_rare_pieces_are_left_out_only_when_asked_for_and_it_is_said() -> None:
    counts = zeton.count_corpus(["ab ab ab cd"])
    with pytest.warns(UserWarning, match="left out 2 pieces with fewer than 2 occurrences: 2 occ"):
        tok = zeton.learn(counts, vocab_size=258, min_count=2)
    assert list(tok.ranks())[256:] == [b" a", b" ab"] or tok.vocab_size == 258
    assert b"cd" not in tok.ranks()
    with pytest.raises(zeton.errors.TrainError, match="min_count is 0"):
        zeton.learn(counts, vocab_size=258, min_count=0)


def test_tokens_are_no_longer_than_asked_for() -> None:
    counts = zeton.count_corpus(["abcdefgh " * 50])
    tok = quiet(counts, 300, max_token_bytes=3)
    assert max(map(len, tok.ranks())) == 3
    assert max(map(len, quiet(counts, 300).ranks())) == 9
    with pytest.raises(zeton.errors.TrainError, match="max_token_bytes is 1"):
        zeton.learn(counts, vocab_size=300, max_token_bytes=1)


def test_what_was_held_out_is_measured_as_the_vocabulary_grows() -> None:
    told: list[zeton.Progress] = []
    texts = [" ".join(f"{word}{n * 7919:x}" for n in range(3000)) for word in ("some", "words")]
    tok = zeton.train(texts, vocab_size=300, validation=0.3, progress=told.append)
    curve = [(now.vocab_size, now.bytes_per_token) for now in told if now.stage == "measure"]
    sizes = [size for size, _ in curve]
    assert sizes == sorted(set(sizes))
    assert sizes[0] == 256
    assert sizes[-1] == tok.vocab_size
    assert curve[0][1] == 1.0
    assert curve[-1][1] > 1.5
    # It is told while merges are learned, not after them.
    assert told[-1].stage == "learn"
    assert (told[-1].vocab_size, told[-1].bytes_per_token) == curve[-1]
    held_out = zeton.count_corpus(texts, validation=0.3).validation
    assert held_out is not None
    for size, value in curve:
        small = zeton.train(texts, vocab_size=size, validation=0.3)
        assert value == held_out.corpus_bytes / held_out.raw.tokens(small)


def test_what_was_held_out_is_measured_where_one_goes_on() -> None:
    told: list[zeton.Progress] = []
    texts = [" ".join(f"{word}{n * 7919:x}" for n in range(3000)) for word in ("some", "words")]
    start = zeton.train(texts, vocab_size=290, specials=["<|a|>"])
    tok = zeton.train(
        texts,
        vocab_size=[296, 310],
        initial=start,
        specials=["<|b|>"],
        validation=0.3,
        progress=told.append,
    )[-1]
    held_out = zeton.count_corpus(texts, validation=0.3).validation
    assert held_out is not None
    measured = {now.vocab_size: now.bytes_per_token for now in told if now.stage == "measure"}
    assert {295, 309} <= measured.keys()
    assert measured[309] == held_out.corpus_bytes / held_out.raw.tokens(tok)


def test_progress_tells_the_merges_and_the_latest_token() -> None:
    told: list[zeton.Progress] = []
    zeton.train(TEXTS, vocab_size=270, progress=told.append)
    last = [now for now in told if now.stage == "learn"][-1]
    assert (last.merges, last.merges_total) == (14, 14)
    assert last.token in zeton.train(TEXTS, vocab_size=270).ranks()
    assert len(last.token) > 1


def test_a_report_is_written(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    zeton.train(TEXTS, vocab_size=270, validation=0.0, report=path)
    page = path.read_text()
    assert page.lower().startswith("<!doctype html>")
    assert "the" in page
    assert "<svg" in page


def test_a_report_tells_each_size_and_counts_gaps_as_the_tokenizer_does(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 500}
    initial = zeton.Tokenizer(ranks, specials={"<|a|>": 300})
    counts, path = zeton.count_corpus(TEXTS), tmp_path / "report.html"
    made = zeton.learn(
        counts, vocab_size=[504, 510], initial=initial, specials=["<|b|>"], report=path
    )
    assert [tok.vocab_size for tok in made] == [504, 510]
    page = path.read_text()
    assert "<dt>vocabulary size</dt><dd>510</dd>" in page
    for tok in made:
        ratio = f"{counts.corpus_bytes / counts.raw.tokens(tok):.3f}"
        assert f'<td class="number">{tok.vocab_size}</td><td>{ratio}</td>' in page


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        zeton.train(TEXTS, vocab_size=270, vocabulary=3)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="unexpected keyword"):
        zeton.train_files([__file__], vocab_size=270, vocabulary=3)  # type: ignore[call-overload]


def test_says_what_is_no_counts_and_no_new_special() -> None:
    with pytest.raises(TypeError, match=r"Counts\.load reads it"):
        zeton.learn("a.counts", vocab_size=300)  # type: ignore[call-overload]
    initial = zeton.train(TEXTS, vocab_size=262, specials=["<|a|>"])
    with pytest.raises(zeton.errors.TrainError, match=r"has the special '<\|a\|>'; leave it out"):
        zeton.train(TEXTS, vocab_size=266, initial=initial, specials=["<|a|>"])


def test_notes_tell_what_was_held_out() -> None:
    texts = [" ".join(f"{number * 7919:x}" for number in range(3000))]
    tok = zeton.train(texts, vocab_size=260, validation=0.4)
    assert float(tok.made_by["training.validation_bytes_per_token"]) > 1
    with pytest.warns(UserWarning, match="too small for a validation share"):
        zeton.train(["abab"], vocab_size=257, validation=0.0001)
