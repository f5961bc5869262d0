"""Several models, and counts of the same pairs → the answer that all of them together find best."""

from collections.abc import Sequence

from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.joint import Joint
from zeton.seq2seq.model import Candidate, Seq2Seq
from zeton.seq2seq.pairs import Pair, references_of

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
        """Return for each text what is proposed, with the models' mean and what the counts say.

        What a beam found has its score already; a model weighs only what others propose.
        """
        scores: list[dict[Pair, float]] = []
        for model in self.models:
            own: dict[Pair, float] = {}
            for text, found in zip(
                texts, model.candidates(texts, beam=beam, batch=batch), strict=True
            ):
                for each in found:
                    own.setdefault(Pair(text, each.text), each.score)
            scores.append(own)
        pairs = list(dict.fromkeys(pair for own in scores for pair in own))
        for model, own in zip(self.models, scores, strict=True):
            others = [pair for pair in pairs if pair not in own]
            own.update(zip(others, model.log_probabilities(others, batch=batch), strict=True))
        counted = self.joint.log_probabilities(pairs) if self.joint else [0.0] * len(pairs)
        proposed: dict[str, dict[str, tuple[float, float]]] = {text: {} for text in texts}
        for pair, by_counts in zip(pairs, counted, strict=True):
            mean = sum(own[pair] for own in scores) / len(scores)
            proposed[pair.source][pair.target] = mean, by_counts
        return [proposed[text] for text in texts]


def _ordered(found: dict[str, tuple[float, float]], weight: float) -> list[Candidate]:
    """Return what was found, the best first; what the counts exclude is last."""
    every = [Candidate(text, by + weight * counted) for text, (by, counted) in found.items()]
    return sorted(every, key=lambda each: -each.score)
