"""How a tokenizer's pattern is run, and why."""

from dataclasses import dataclass
from typing import Literal

from zeton._engine import TokenizerCore, describe_path


@dataclass(frozen=True, slots=True)
class Info:
    """Which way a pattern goes; the pieces are the same on all of them, the speed is not."""

    split: Literal["transducer", "automaton", "backtracking", "function"]
    """A table for the family, a table for most other patterns, an engine that steps back, or no
    pattern: a Python function."""
    why: str
    """The reason, in one sentence."""
    states: int | None
    """The states of the table, if there is one."""
    classes: int | None
    """The classes of characters that the table tells apart, the end of the text being one."""
    vectors: str | None
    """The instructions by which texts are split 64 bytes at once, if they are."""

    @property
    def way(self) -> str:
        """The path and its size, in a few words.

        >>> Info("automaton", "", 3, 4, None).way
        'automaton, 3 states by 4 classes'
        """
        table = f", {self.states} states by {self.classes} classes" if self.states else ""
        return f"{self.split}{table}{f', {self.vectors}' if self.vectors else ''}"


def read_info(engine: TokenizerCore) -> Info:
    """Return how a tokenizer's pattern is run."""
    return Info(**describe_path(engine))
