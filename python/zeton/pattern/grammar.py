"""The meaning of a family pattern, and the table it compiles to, as plain values.

The table has a row for each state and a column for each class of characters. The splitter takes
one step for each character. Two marks, positions to cut at later, replace lookahead.
"""

from dataclasses import dataclass
from typing import Literal

from zeton._engine import TokenizerCore, describe_grammar

CUT_MARK_0, CUT_MARK_1, CUT_HERE, SET_MARK_0, SET_MARK_1 = 1, 2, 4, 8, 16
"""The bits of an action, in the order of execution."""


@dataclass(frozen=True, slots=True)
class Transducer:
    """The table: for each state and class of characters the next state and the actions."""

    states: tuple[str, ...]
    """A name for each state: the characters read so far. The first is the start."""
    next: tuple[bytes, ...]
    """`next[state][class]` is the next state."""
    actions: tuple[bytes, ...]
    """`actions[state][class]` has one bit for each action:

    ```text
    bit 0  CUT_MARK_0   a piece ends at mark 0
    bit 1  CUT_MARK_1   a piece ends at mark 1
    bit 2  CUT_HERE     a piece ends before this character
    bit 3  SET_MARK_0   mark 0 is set after this character
    bit 4  SET_MARK_1   mark 1 is set before this character
    ```
    """
    class_of: bytes
    """The class of every code point."""
    class_of_bad_byte: int
    """The class of a byte that is not UTF-8."""
    class_of_end: int
    """The class of the end of the text, the last step."""


@dataclass(frozen=True, slots=True)
class Grammar:
    """The choices that make one pattern of the family, and their transducer."""

    contractions: tuple[str, ...]
    contractions_place: Literal["nowhere", "piece", "suffix"]
    contractions_ignore_case: bool
    word_prefix: frozenset[str]
    word_case_splits: bool
    word_marks: bool
    number_blank: bool
    number_digits_max: int | None
    punctuation_blank: bool
    punctuation_marks: bool
    punctuation_tail: frozenset[str]
    space_to_end: bool
    space_to_newline: bool
    space_leaves_last: bool
    transducer: Transducer


def read_grammar(engine: TokenizerCore) -> Grammar | None:
    """Return the grammar of a tokenizer's pattern, or None for a pattern outside the family."""
    values = describe_grammar(engine)
    if values is None:
        return None
    classes = values.pop("class_count")

    def rows(name: str) -> tuple[bytes, ...]:
        table = values.pop(name)
        return tuple(table[at : at + classes] for at in range(0, len(table), classes))

    transducer = Transducer(
        states=tuple(values.pop("states")),
        next=rows("next"),
        actions=rows("actions"),
        class_of=values.pop("class_of"),
        class_of_bad_byte=values.pop("class_of_bad_byte"),
        class_of_end=values.pop("class_of_end"),
    )
    values["contractions"] = tuple(values["contractions"])
    values["word_prefix"] = frozenset(values["word_prefix"])
    values["punctuation_tail"] = frozenset(values["punctuation_tail"])
    return Grammar(transducer=transducer, **values)
