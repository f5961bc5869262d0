"""Error rates: the share of wrong texts, and the edit distance to the nearest reference."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["ErrorRates", "edit_distance", "error_rates"]


@dataclass(frozen=True)
class ErrorRates:
    """Errors of answers against references."""

    texts: int
    wrong: int
    """Texts with an answer that is no reference."""
    parts: int
    """Parts of the references nearest to the answers."""
    edits: int
    """Insertions, deletions and substitutions of parts."""

    @property
    def text_error(self) -> float:
        """The share of wrong texts; for single words, the word error rate (WER)."""
        return self.wrong / max(self.texts, 1)

    @property
    def part_error(self) -> float:
        """Edits per part; for phonemes, the phoneme error rate (PER)."""
        return self.edits / max(self.parts, 1)


def error_rates(
    answers: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    parts: Callable[[str], Sequence[Hashable]] = list,
) -> ErrorRates:
    """Compare the answers of sources with their references; `parts` splits a text.

    >>> listed = {"cat": ["K AA T"], "a": ["EY", "AH"]}
    >>> found = error_rates({"cat": "K AE T", "a": "AH"}, listed, str.split)
    >>> found.text_error, found.part_error
    (0.5, 0.25)
    """
    wrong = total = total_edits = 0
    for source, answer in answers.items():
        listed = references[source]
        wrong += answer not in listed
        found = [(edit_distance(parts(answer), parts(each)), len(parts(each))) for each in listed]
        nearest, length = min(found, key=lambda each: each[0] / max(each[1], 1))
        total_edits, total = total_edits + nearest, total + length
    return ErrorRates(len(answers), wrong, total, total_edits)


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """Return the number of insertions, deletions and substitutions between two sequences.

    >>> edit_distance("kitten", "sitting")
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
