"""An ensemble: several models and joint n-grams choose the answer with the best total score."""

from collections.abc import Sequence

from zeton.seq2seq.errors import Seq2SeqError
from zeton.seq2seq.joint_ngrams import JointNgrams
from zeton.seq2seq.model import Candidate, Seq2Seq
from zeton.seq2seq.pairs import Pair, references_of

__all__ = ["Ensemble"]

WEIGHTS = [step / 10 for step in range(21)]
"""The weights of the n-grams that `tune` tries."""


class Ensemble:
    """Models that answer together: each proposes the answers of its beam, and all score them all.

    The models may have different tokenizers, and write in different directions.
    """

    def __init__(
        self,
        models: Sequence[Seq2Seq],
        joint: JointNgrams | None = None,
        *,
        joint_weight: float = 1.0,
    ) -> None:
        """Combine models; their mean score and `joint_weight` times the n-gram score are added."""
        if not models:
            raise Seq2SeqError("an ensemble of no models; give at least one")
        self.models, self.joint, self.joint_weight = list(models), joint, joint_weight

    def generate(self, texts: Sequence[str], *, beam: int = 5, batch: int = 256) -> list[str]:
        """Return an answer for each text."""
        return [each[0].text for each in self.candidates(texts, beam=beam, batch=batch)]

    def candidates(
        self, texts: Sequence[str], *, beam: int = 5, batch: int = 256
    ) -> list[list[Candidate]]:
        """Return the answers of all beams for each text, the best first."""
        every = self._score_candidates(texts, beam, batch)
        return [_ranked(each, self.joint_weight) for each in every]

    def tune(self, pairs: Sequence[Pair], *, beam: int = 5, batch: int = 256) -> float:
        """Set `joint_weight` to the value with the fewest wrong answers on these pairs.

        The pairs should not be training pairs. Of equally good weights the middle one is taken.
        """
        references = references_of(pairs)
        every = self._score_candidates(list(references), beam, batch)
        wrong = [
            sum(
                _ranked(found, weight)[0].text not in listed
                for found, listed in zip(every, references.values(), strict=True)
            )
            for weight in WEIGHTS
        ]
        best = [weight for weight, count in zip(WEIGHTS, wrong, strict=True) if count == min(wrong)]
        self.joint_weight = best[len(best) // 2]
        return self.joint_weight

    def _score_candidates(
        self, texts: Sequence[str], beam: int, batch: int
    ) -> list[dict[str, tuple[float, float]]]:
        """Return the proposed answers of each text, with their mean score and n-gram score.

        A model's own beam has scores already, so it scores only the proposals of other models.
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


def _ranked(found: dict[str, tuple[float, float]], weight: float) -> list[Candidate]:
    """Return the candidates, the best first; answers that the n-grams exclude are last."""
    every = [Candidate(text, by + weight * counted) for text, (by, counted) in found.items()]
    return sorted(every, key=lambda each: -each.score)
