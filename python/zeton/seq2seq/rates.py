"""How wrong answers are: texts that are no listed one, and edits to the nearest."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Rates", "edits", "rates"]


@dataclass(frozen=True)
class Rates:
    """Errors of answers against what was listed."""

    texts: int
    wrong: int
    """Texts whose answer is none of those listed."""
    parts: int
    """Of the listed texts that the answers are nearest to."""
    edits: int
    """Parts to put in, leave out or change."""

    @property
    def text_error(self) -> float:
        """The share of wrong texts; of single words, the word error rate."""
        return self.wrong / max(self.texts, 1)

    @property
    def part_error(self) -> float:
        """Edits for each part; of phonemes, the phoneme error rate."""
        return self.edits / max(self.parts, 1)


def rates(
    answers: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    parts: Callable[[str], Sequence[Hashable]] = list,
) -> Rates:
    """Compare answers, by their sources, with all that may be right; `parts` cuts up a text.

    >>> listed = {"cat": ["K AA T"], "a": ["EY", "AH"]}
    >>> found = rates({"cat": "K AE T", "a": "AH"}, listed, str.split)
    >>> found.text_error, found.part_error
    (0.5, 0.25)
    """
    wrong = total = total_edits = 0
    for source, answer in answers.items():
        listed = references[source]
        wrong += answer not in listed
        found = [(edits(parts(answer), parts(each)), len(parts(each))) for each in listed]
        nearest, length = min(found, key=lambda each: each[0] / max(each[1], 1))
        total_edits, total = total_edits + nearest, total + length
    return Rates(len(answers), wrong, total, total_edits)


def edits(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return how many parts to put in, leave out or change make one of the other.

    >>> edits("kitten", "sitting")
    3
    """
    if first == second:
        return 0
    row = list(range(len(second) + 1))
    for above, left in enumerate(first, 1):
        last, row[0] = row[0], above
        for at, right in enumerate(second, 1):
            last, row[at] = row[at], min(row[at] + 1, row[at - 1] + 1, last + (left != right))
    return row[-1]
