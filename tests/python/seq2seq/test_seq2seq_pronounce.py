"""The example learns to pronounce: in a minute, better than any rule of one phoneme a letter."""

import sys
from collections import Counter, defaultdict

import pytest

from support.paths import ROOT

pytest.importorskip("torch", reason="torch is not installed; `make torch` does it")

sys.path.insert(0, str(ROOT / "examples" / "pronounce"))

import dictionary
import page
from zeton import seq2seq
from zeton.seq2seq import Options, Pair, Shape, Tokens, error_rates
from zeton.seq2seq.pairs import hash_fraction, references_of


@pytest.fixture(scope="module")
def parts() -> dictionary.Shares:
    try:
        return dictionary.shares(dictionary.read())
    except seq2seq.PairsError as error:
        pytest.skip(f"{error}; `make torch` does it")


def test_the_dictionary_is_read_as_it_is_meant_to_be(parts: dictionary.Shares) -> None:
    every = [pair for part in parts for pair in part]
    assert len(every) == len(set(every)) > 130_000
    assert {letter for pair in every for letter in pair.source} == {*"abcdefghijklmnopqrstuvwxyz'"}
    assert len({phoneme for pair in every for phoneme in pair.target.split()}) == 39
    listed = references_of(every)
    assert listed["read"] == ["R EH D", "R IY D"]
    assert listed["a"] == ["AH", "EY"]
    assert listed["aalborg"][0] == "AO L B AO R G"  # Its remark is left out.


def test_the_shares_are_fixed_and_no_word_is_in_two(parts: dictionary.Shares) -> None:
    words = [{pair.source for pair in part} for part in parts]
    assert sum(map(len, words)) == len(set().union(*words))
    assert [round(100 * len(some) / sum(map(len, words))) for some in words] == [88, 2, 10]
    assert [sorted(some)[1000] for some in words] == ["admissibility", "honest", "bevens"]


def by_letter(pairs: list[Pair]) -> dict[str, str]:
    """Learn the rule of one phoneme a letter from the words that have as many of both."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for word, phonemes in pairs:
        if len(word) == len(phonemes.split()):
            for letter, phoneme in zip(word, phonemes.split(), strict=True):
                counts[letter][phoneme] += 1
    return {letter: found.most_common(1)[0][0] for letter, found in counts.items()}


@pytest.mark.timeout(1200)
def test_beats_the_best_rule_after_a_minute(parts: dictionary.Shares) -> None:
    known = [pair for pair in parts.train if hash_fraction(pair.source, "minute") < 0.1]
    asked = {
        word: listed
        for word, listed in references_of(parts.test).items()
        if hash_fraction(word, "minute") < 0.1
    }
    rule = by_letter(parts.train)  # It may learn from all words, ten times as many.
    spelled = {word: " ".join(rule[each] for each in word if each in rule) for word in asked}
    ((common, _),) = Counter(pair.target for pair in parts.train).most_common(1)
    rules = [
        error_rates(answers, asked, str.split)
        for answers in (spelled, dict.fromkeys(asked, common))
    ]
    model, _ = seq2seq.learn(
        known,
        validation=parts.validation[:500],
        tokens=Tokens.train(known, 258, 323),
        shape=Shape(embedding_size=32, size=128, dropout=0.1),
        options=Options(epochs=4, batch=64, learning_rate=0.005),
    )
    words = list(asked)
    found = error_rates(dict(zip(words, model.generate(words), strict=True)), asked, str.split)
    assert found.text_error < min(each.text_error for each in rules)
    assert found.part_error < min(each.part_error for each in rules)


def test_a_page_of_nothing_is_a_page() -> None:
    assert page.page({}, {}, {}).startswith("# Pronouncing English")
