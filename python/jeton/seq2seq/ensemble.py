"""Several models, and counts of the same pairs → the answer that all of them together find best."""

from collections.abc import Sequence

from jeton.seq2seq.errors import Seq2SeqError
from jeton.seq2seq.joint import Joint
from jeton.seq2seq.model import Candidate, Seq2Seq
from jeton.seq2seq.pairs import Pair, references_of

__all__ = ["Ensemble"]

WEIGHTS = [step / 10 for step in range(21)]
"""Those among which `tune` chooses."""


class Ensemble:
    """Models that answer together: each proposes what its beam finds, all weigh all of it.

    They may have different tokens, and write in different directions.
    """

    def __init__(
        self, models: Sequence[Seq2Seq], joint: Joint | None = None, *, joint_weight: float = 1.0
    ) -> None:
        """Take models; what counts say is added to their mean, `joint_weight` times."""
        if not models:
            raise Seq2SeqError("an ensemble has no model; give one or more")
        self.models, self.joint, self.joint_weight = list(models), joint, joint_weight

    def generate(self, texts: Sequence[str], *, beam: int = 5, batch: int = 256) -> list[str]:
        """Return an answer for each text."""
        return [each[0].text for each in self.candidates(texts, beam=beam, batch=batch)]

    def candidates(
        self, texts: Sequence[str], *, beam: int = 5, batch: int = 256
    ) -> list[list[Candidate]]:
        """Return for each text what the models' beams of that width find, the best first."""
        every = self._weighed(texts, beam, batch)
        return [_ordered(each, self.joint_weight) for each in every]

    def tune(self, pairs: Sequence[Pair], *, beam: int = 5, batch: int = 256) -> float:
        """Take the weight of the counts with which the fewest of these texts are answered wrong.

        Give pairs that were not learned; of equally good weights, the one in their middle is taken.
        """
        references = references_of(pairs)
        every = self._weighed(list(references), beam, batch)
        wrong = [
            sum(
                _ordered(found, weight)[0].text not in listed
                for found, listed in zip(every, references.values(), strict=True)
            )
            for weight in WEIGHTS
        ]
        best = [weight for weight, count in zip(WEIGHTS, wrong, strict=True) if count == min(wrong)]
        self.joint_weight = best[len(best) // 2]
        return self.joint_weight

    def _weighed(
        self, texts: Sequence[str], beam: int, batch: int
    ) -> list[dict[str, tuple[float, float]]]:
        """Return for each text what is proposed, with the models' mean and what the counts say."""
        proposed: list[dict[str, tuple[float, float]]] = [{} for _ in texts]
        for model in self.models:
            found = model.candidates(texts, beam=beam, batch=batch)
            for answers, some in zip(proposed, found, strict=True):
                answers.update((each.text, (0.0, 0.0)) for each in some)
        pairs = [
            Pair(text, answer)
            for text, answers in zip(texts, proposed, strict=True)
            for answer in answers
        ]
        scores = [model.log_probabilities(pairs, batch=batch) for model in self.models]
        means = [sum(each) / len(scores) for each in zip(*scores, strict=True)]
        counted = self.joint.log_probabilities(pairs) if self.joint else [0.0] * len(pairs)
        said = iter(zip(means, counted, strict=True))
        return [{answer: next(said) for answer in answers} for answers in proposed]


def _ordered(found: dict[str, tuple[float, float]], weight: float) -> list[Candidate]:
    """Return what was found, the best first; what the counts exclude is last."""
    every = [Candidate(text, by + weight * counted) for text, (by, counted) in found.items()]
    return sorted(every, key=lambda each: -each.score)
