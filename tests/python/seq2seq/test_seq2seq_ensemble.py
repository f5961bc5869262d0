"""Ensembles: every model scores the proposals of all."""

import pytest

import zeton

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` does it")

from zeton import seq2seq  # noqa: E402 - it needs torch.
from zeton.seq2seq import Ensemble, JointNgrams, Options, Pair, Seq2Seq, Shape, Tokens  # noqa: E402

torch.set_num_threads(1)

BYTES = Tokens.of(*[zeton.Tokenizer({bytes([byte]): byte for byte in range(256)})] * 2)
WORDS = [a + b + c for a in "abcde" for b in "abcde" for c in "abcde"]
PAIRS = [Pair(word, word.upper()) for word in WORDS]


@pytest.fixture(scope="module")
def models() -> list[Seq2Seq]:
    """Two that have learned a little, with other tokens and the other way round."""
    made = []
    for seed, size, backward in ((0, 258, False), (1, 265, True)):
        model, _ = seq2seq.learn(
            PAIRS,
            validation=0.2,
            tokens=Tokens.train(PAIRS, size, 258),
            shape=Shape(embedding_size=8, size=16, backward=backward, dropout=0.0),
            options=Options(epochs=10, batch=8, learning_rate=0.01, seed=seed),
        )
        made.append(model)
    return made


def test_the_best_of_all_that_is_proposed_is_the_answer(models: list[Seq2Seq]) -> None:
    joint = JointNgrams.learn(PAIRS[::3], BYTES, order=3)
    ensemble = Ensemble(models, joint, joint_weight=0.5)
    every = ensemble.candidates(WORDS, beam=3)
    assert ensemble.generate(WORDS, beam=3) == [each[0].text for each in every]
    for word, found in zip(WORDS[::9], every[::9], strict=True):
        proposed = {each.text for model in models for each in model.candidates([word], beam=3)[0]}
        assert {each.text for each in found} == proposed
        for answer, score in found:
            pair = [Pair(word, answer)]
            mean = sum(model.log_probabilities(pair)[0] for model in models) / 2
            assert score == pytest.approx(mean + joint.log_probabilities(pair)[0] / 2, abs=1e-4)
        assert [each.score for each in found] == sorted(each.score for each in found)[::-1]


def test_one_model_alone_answers_as_it_does_by_itself(models: list[Seq2Seq]) -> None:
    assert Ensemble(models[:1]).generate(WORDS, beam=4) == models[0].generate(WORDS, beam=4)
    assert Ensemble(models).generate([]) == []


def test_tuned_it_is_no_worse_than_the_models_alone(models: list[Seq2Seq]) -> None:
    ensemble = Ensemble(models, JointNgrams.learn(PAIRS, BYTES, order=3), joint_weight=0.0)

    def wrong() -> int:
        return sum(
            answer != word.upper()
            for word, answer in zip(WORDS, ensemble.generate(WORDS), strict=True)
        )

    alone = wrong()
    assert ensemble.tune(PAIRS) == ensemble.joint_weight > 0
    assert wrong() < alone


def test_refuses_to_be_none() -> None:
    with pytest.raises(seq2seq.Seq2SeqError, match="an ensemble of no models"):
        Ensemble([])
