"""Random calls of tiktoken's surface, made of two encodings of the same parts: theirs and ours."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tiktoken

import zeton
import zeton.tiktoken

ALPHABET = "aAsStlvVeErR ſéÉǅʰ中日\u0301Ⓐ1½٣ \t\n\r\u00a0\u3000'’/!_<|>😀\0\ufffd"
WORDS = [
    "\ud83d",
    "\ude00",
    "hello",
    " world",
    "don't",
    "  \n\n",
    "123456",
    "日本語",
    "!!!\n",
    "naïve",
    " \t",
    "'s",
]

Pair = tuple[Any, Any]
Calls = Iterator[tuple[str, object, dict[str, Any]]]


def published(name: str) -> Pair:
    """Make both encodings of a published vocabulary."""
    theirs = zeton.pretrained(name).as_tiktoken(name=name)
    return theirs, zeton.tiktoken.get_encoding(name)


def custom(rng: random.Random, patterns: list[str]) -> Pair:
    """Make both encodings of a random vocabulary, a published pattern and random specials."""
    tokens = {bytes([byte]): byte for byte in range(256)}
    for _ in range(rng.randrange(60)):
        span = "".join(rng.choices(ALPHABET, k=rng.randrange(1, 5))).encode()
        tokens.setdefault(rng.choice([span, rng.randbytes(rng.randrange(2, 5))]), len(tokens))
    first = len(tokens) + rng.randrange(3)
    names = rng.sample(["<|end|>", "<s>", "é¡", "😀", "[x]"], k=rng.randrange(4))
    parts: dict[str, Any] = {
        "pat_str": rng.choice(patterns),
        "mergeable_ranks": tokens,
        "special_tokens": {name: first + at for at, name in enumerate(names)},
    }
    return tiktoken.Encoding("custom", **parts), zeton.tiktoken.Encoding("custom", **parts)


class Caller:
    """Draws calls without end: the name of a method, its arguments, its options."""

    def __init__(self, rng: random.Random, theirs: tiktoken.Encoding) -> None:
        self.rng = rng
        self.top = theirs.n_vocab
        self.names = sorted(theirs.special_tokens_set)[:6]
        self.ids = theirs.encode_ordinary("Hi, wörld 日本 😀!  \n")
        self.tokens = [theirs.decode_single_token_bytes(one) for one in self.ids]
        self.draw: dict[str, Callable[[], tuple[Any, dict[str, Any]]]] = {
            "encode": lambda: (self.one_text(), self.policy()),
            "encode_ordinary": lambda: (self.one_text(), {}),
            "encode_to_numpy": lambda: (self.one_text(), self.policy()),
            "encode_batch": lambda: (self.texts(), self.policy() | self.threads()),
            "encode_ordinary_batch": lambda: (self.texts(), self.threads()),
            "encode_with_unstable": lambda: (self.one_text(), self.policy()),
            "encode_single_token": lambda: (self.token(), {}),
            "decode": lambda: (self.some_ids(), self.errors()),
            "decode_bytes": lambda: (self.some_ids(), {}),
            "decode_single_token_bytes": lambda: (self.one_id(), {}),
            "decode_tokens_bytes": lambda: (self.some_ids(), {}),
            "decode_with_offsets": lambda: (self.some_ids(), {}),
            "decode_batch": lambda: (self.lists(), self.errors() | self.threads()),
            "decode_bytes_batch": lambda: (self.lists(), self.threads()),
            "is_special_token": lambda: (rng.choice([0, self.top - 1, "a"]), {}),
            "_encode_bytes": lambda: (self.odd_bytes(), {}),
            "_encode_single_piece": lambda: (self.text() or self.odd_bytes() or "a", {}),
        }

    def __iter__(self) -> Calls:
        while True:
            name = self.rng.choice(["encode", *self.draw])
            argument, options = self.draw[name]()
            yield name, argument, options

    def text(self) -> str:
        kind = self.rng.random()
        if kind < 0.5:
            return "".join(self.rng.choices([*WORDS, *self.names], k=self.rng.randrange(6)))
        if kind < 0.9:
            return "".join(self.rng.choices([*ALPHABET, *self.names], k=self.rng.randrange(12)))
        return "".join(chr(self.rng.randrange(0x110000)) for _ in range(self.rng.randrange(6)))

    def one_text(self) -> object:
        return self.text() if self.rng.random() < 0.98 else self.rng.choice([b"a", 3, None])

    def texts(self) -> list[object]:
        return [self.one_text() for _ in range(self.rng.randrange(4))]

    def odd_bytes(self) -> bytes:
        text = self.text().encode("utf-8", "replace")
        parts = [text, self.rng.randbytes(self.rng.randrange(4)), b"\xe4\xb8"]
        return b"".join(self.rng.choices(parts, k=self.rng.randrange(4)))

    def specials(self) -> object:
        names = self.names
        return self.rng.choice(["all", set(), frozenset(names[:1]), set(names[:2]), {"<|none|>"}])

    def policy(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.rng.random() < 0.6:
            chosen = [self.specials(), self.specials(), self.names, {1}]
            options["allowed_special"] = self.rng.choice(chosen)
        if self.rng.random() < 0.6:
            chosen = [self.specials(), (), self.names, ["a"], "all", None]
            options["disallowed_special"] = self.rng.choice(chosen)
        return options

    def threads(self) -> dict[str, Any]:
        chosen = self.rng.choice([1, 2, 8, 0, -1])
        return {"num_threads": chosen} if self.rng.random() < 0.2 else {}

    def errors(self) -> dict[str, Any]:
        chosen = self.rng.choice(["replace", "strict", "ignore", "backslashreplace"])
        return {"errors": chosen} if self.rng.random() < 0.5 else {}

    def token(self) -> object:
        known = self.rng.choice(self.tokens)
        return self.rng.choice([known, self.text(), *self.names, self.odd_bytes(), 5])

    def one_id(self) -> object:
        known = self.rng.randrange(self.top)
        return self.rng.choice(
            [known, self.top - 1, self.top, -1, 1 << 32, 1 << 70, "a", 1.0, None]
        )

    def some_ids(self) -> object:
        known = self.rng.choices(self.ids, k=self.rng.randrange(6))
        if self.rng.random() < 0.1:
            return self.rng.choice([set(known), "ab", b"ab", 7, None, {1: 2}, range(3)])
        if self.rng.random() < 0.1:
            return np.array(known, dtype=np.uint32)
        return [*known, self.one_id()] if self.rng.random() < 0.3 else known

    def lists(self) -> list[object]:
        return [self.some_ids() for _ in range(self.rng.randrange(3))]


def outcome(encoding: object, name: str, argument: object, options: dict[str, Any]) -> Any:
    """Return the result of a call in a comparable form, or its error."""
    try:
        result = getattr(encoding, name)(argument, **options)
    except Exception as error:  # noqa: BLE001 - which it is, is the question.
        return error
    if isinstance(result, np.ndarray):
        return result.dtype, result.tolist()
    if name == "encode_with_unstable":
        return result[0], sorted(result[1])
    return result


def agree(theirs: Any, ours: Any) -> bool:
    """Say whether two outcomes are one: equal, or errors of a type."""
    if isinstance(theirs, Exception):
        return isinstance(ours, type(theirs))
    return bool(theirs == ours)
