"""`tokenizer.pkl`, a pickled tiktoken.Encoding: read and written without running code.

A pickle is a program for a stack machine, and Python's own machine calls any function that the
program names. The machine here has only the instructions that an Encoding's plain state needs.
"""

import pickle
import pickletools
from collections.abc import Callable
from itertools import islice
from typing import Any, ClassVar

from zeton.errors import FormatError
from zeton.pattern.spec import plain_pattern
from zeton.pretrained import pretrained_names
from zeton.tiktoken.core import Encoding
from zeton.tiktoken.registry import get_encoding

__all__ = ["PICKLE_BYTES_MAX", "dumps", "loads"]

_CLASSES = {"tiktoken.core Encoding", "zeton.tiktoken.core Encoding"}

_STATE_TYPES = {"name": str, "pat_str": str, "mergeable_ranks": dict, "special_tokens": dict}

PICKLE_BYTES_MAX = 1 << 26
"""The largest pickle; o200k_base takes 4 million bytes."""

INSTRUCTIONS_MAX = 1 << 22
"""The largest number of instructions; a token takes three."""

STACK_MAX = 1 << 12
"""The largest stack; pickle itself sets a thousand items at once."""

_VALUES = {
    *("BININT", "BININT1", "BININT2", "LONG1"),
    *("SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
    *("SHORT_BINBYTES", "BINBYTES", "BINBYTES8"),
}
"""The instructions that push their argument: a number, a str or bytes."""


def dumps(encoding: Encoding) -> bytes:
    """Return the pickle of a tiktoken.Encoding with the same parts, without importing tiktoken."""
    state = {
        "name": encoding.name,
        "pat_str": plain_pattern(encoding.tokenizer.pattern, "tiktoken"),
        "mergeable_ranks": encoding.tokenizer.ranks(),
        "special_tokens": encoding.tokenizer.specials,
    }
    plain = pickle.dumps(state, protocol=3)
    start, stop = plain[:2], plain[-1:]
    make = b"ctiktoken.core\nEncoding\n)\x81"  # GLOBAL, EMPTY_TUPLE, NEWOBJ.
    return start + make + plain[2:-1] + b"b" + stop  # BUILD gives the object its state.


def loads(content: bytes) -> Encoding:
    """Return the Encoding in a pickle that tiktoken or zeton wrote."""
    try:
        state = _Machine().run(content)
    except FormatError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, MemoryError) as error:
        raise FormatError(f"the pickle is damaged: {error}; save the tokenizer again") from None
    if isinstance(state, str):  # A published encoding is pickled as its name.
        if state not in pretrained_names():
            known = ", ".join(pretrained_names())
            raise FormatError(f"the pickle names the encoding {state!r:.80}; known are {known}")
        return get_encoding(state)
    if not isinstance(state, dict) or state.keys() != _STATE_TYPES.keys():
        raise FormatError("the pickle does not hold the state of a tiktoken.Encoding")
    for name, kind in _STATE_TYPES.items():
        if not isinstance(state[name], kind):
            raise FormatError(f"in the pickle, {name} is not a {kind.__name__}")
    _check_entries(state["mergeable_ranks"], bytes)
    _check_entries(state["special_tokens"], str)
    return Encoding(**state)


def _check_entries(entries: dict[Any, Any], kind: type) -> None:
    for key, value in entries.items():
        if not isinstance(key, kind) or type(value) is not int:
            raise FormatError(f"in the pickle, {key!r:.40} is no token or has no id")


class _Encoding:
    """The only object that a pickle may make."""

    state: object = None


class _Machine:
    """A pickle machine for plain state: a stack, marks in it, and a memo."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, content: bytes) -> object:
        """Run a program, and return the state of the object that it makes."""
        for opcode, argument, _ in islice(pickletools.genops(content), INSTRUCTIONS_MAX):
            if opcode.name == "STOP":
                return self.made().state
            if len(self.stack) > STACK_MAX:
                raise FormatError(
                    f"the pickle needs a stack of more than {STACK_MAX} values; it is no Encoding"
                )
            if opcode.name not in self.STEPS:
                raise FormatError(
                    f"the pickle has the instruction {opcode.name} {argument or ''!r:.60}, "
                    "which the plain state of a tiktoken.Encoding does not need"
                )
            self.STEPS[opcode.name](self, argument)
        raise FormatError(f"the pickle does not end within {INSTRUCTIONS_MAX} instructions")

    def nothing(self, _: object) -> None:
        pass

    def push(self, value: object) -> None:
        self.stack.append(value)

    def push_dict(self, _: object) -> None:
        self.stack.append({})

    def push_tuple(self, _: object) -> None:
        self.stack.append(())

    def mark(self, _: object) -> None:
        self.marks.append(len(self.stack))

    def set_item(self, _: object) -> None:
        self.marks.append(len(self.stack) - 2)
        self.set_items(_)

    def set_items(self, _: object) -> None:
        at = self.marks.pop()
        items = self.stack[at:]
        del self.stack[at:]
        if not all(isinstance(key, str | bytes) for key in items[::2]):
            raise FormatError("the pickle has a key that is no name and no token")
        self.stack[-1].update(zip(items[::2], items[1::2], strict=True))

    def memoize(self, _: object) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def put(self, number: int) -> None:
        self.memo[number] = self.stack[-1]

    def get(self, number: int) -> None:
        self.stack.append(self.memo[number])

    def name(self, named: str | None) -> None:
        if named is None:  # STACK_GLOBAL: the two names are on the stack.
            names = self.stack.pop(-2), self.stack.pop()
            if not all(isinstance(each, str) for each in names):
                raise FormatError("the pickle has a name that is no str")
            named = " ".join(names)
        if named not in _CLASSES:
            named = named.replace(" ", ".")
            raise FormatError(
                f"the pickle names {named:.80}; it may name tiktoken.core.Encoding only"
            )
        self.stack.append(_Encoding)

    def make(self, _: object) -> None:
        if self.stack.pop() != () or self.stack.pop() is not _Encoding:
            raise FormatError("the pickle makes something other than a tiktoken.Encoding")
        self.stack.append(_Encoding())

    def give_state(self, _: object) -> None:
        state = self.stack.pop()
        self.made().state = state

    def made(self) -> _Encoding:
        """Return the object on top of the stack."""
        if not isinstance(self.stack[-1], _Encoding):
            raise FormatError("the pickle holds something other than a tiktoken.Encoding")
        return self.stack[-1]

    STEPS: ClassVar[dict[str, Callable[["_Machine", Any], None]]] = {
        **dict.fromkeys(_VALUES, push),
        "PROTO": nothing,
        "FRAME": nothing,
        "EMPTY_DICT": push_dict,
        "EMPTY_TUPLE": push_tuple,
        "MARK": mark,
        "SETITEM": set_item,
        "SETITEMS": set_items,
        "MEMOIZE": memoize,
        "BINPUT": put,
        "LONG_BINPUT": put,
        "BINGET": get,
        "LONG_BINGET": get,
        "GLOBAL": name,
        "STACK_GLOBAL": name,
        "NEWOBJ": make,
        "BUILD": give_state,
    }
