"""The engine that runs a tokenizer's pattern, and the reason for it.

For example, `zeton.pretrained("gpt2").info.way` starts with "transducer".
"""

from dataclasses import dataclass
from typing import Literal

from zeton._engine import TokenizerCore, describe_path


@dataclass(frozen=True, slots=True)
class Info:
    """The engine that runs a pattern. All engines give the same pieces, at different speeds."""

    split: Literal["transducer", "automaton", "backtracking", "function"]
    """ "transducer": the table of a family pattern. "automaton": the DFA of most other patterns.
    "backtracking": a regex engine. "function": a Python function in place of a pattern."""
    why: str
    """The reason, in one sentence."""
    states: int | None
    """The number of states of the table, or None without a table."""
    classes: int | None
    """The number of character classes of the table; the end of the text is one of them."""
    vectors: str | None
    """The SIMD instructions that split 64 bytes at once, or None."""

    @property
    def way(self) -> str:
        """The engine and the size of its table, in a few words.

        >>> Info("automaton", "", 3, 4, None).way
        'automaton, 3 states by 4 classes'
        """
        table = f", {self.states} states by {self.classes} classes" if self.states else ""
        return f"{self.split}{table}{f', {self.vectors}' if self.vectors else ''}"


def read_info(engine: TokenizerCore) -> Info:
    """Return the engine that runs a tokenizer's pattern."""
    return Info(**describe_path(engine))
