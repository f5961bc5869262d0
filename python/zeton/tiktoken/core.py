"""`Encoding`: a `zeton.Tokenizer` behind the methods of tiktoken's class."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Literal, NoReturn, Self, TypeVar

from zeton._compat import ArgumentError, str_of, threads_of
from zeton._engine import (
    encode_invalid_utf8_tail,
    encode_piece,
    encode_unstable,
    find_special,
    find_token,
)
from zeton.errors import IdError, SpecialError, TextError
from zeton.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["Encoding", "raise_disallowed_special_token"]

T = TypeVar("T")


class Encoding:
    """A `zeton.Tokenizer` with a name and tiktoken's methods.

    >>> enc = Encoding._of("cl100k_base", __import__("zeton").pretrained("cl100k_base"))
    >>> enc.encode("hello world")
    [15339, 1917]
    >>> enc.encode("<|endoftext|>", allowed_special="all")
    [100257]
    """

    name: str
    tokenizer: Tokenizer
    max_token_value: int
    _special_tokens: dict[str, int]
    _empty: int | None = None
    """The id of the empty token, which Whisper's vocabulary has; no text encodes to it."""

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        """Make an encoding; with `explicit_n_vocab` its ids must be 0 to that number, exclusive."""
        ranks = {token: rank for token, rank in mergeable_ranks.items() if token}
        self._take(name, Tokenizer(ranks, pattern=pat_str, specials=special_tokens))
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self._empty = mergeable_ranks.get(b"")
        if self._empty is not None:
            self.max_token_value = max(self.max_token_value, self._empty)
        tokens = len(mergeable_ranks) + len(special_tokens)
        if explicit_n_vocab and not tokens == self.n_vocab == explicit_n_vocab:
            raise ArgumentError(
                f"explicit_n_vocab is {explicit_n_vocab}: it needs that many tokens, with ids "
                f"up to {explicit_n_vocab - 1}; found {tokens} tokens, with ids up to "
                f"{self.max_token_value}"
            )

    @classmethod
    def _of(cls, name: str, tokenizer: Tokenizer) -> Self:
        """Give a tokenizer a name, without a copy of its tokens."""
        encoding = cls.__new__(cls)
        encoding._take(name, tokenizer)
        return encoding

    def _take(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self.max_token_value = tokenizer.vocab_size - 1
        self._pat_str = tokenizer.pattern
        self._special_tokens = tokenizer.specials

    @cached_property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return self.tokenizer.ranks()

    def __repr__(self) -> str:
        """Show the name."""
        return f"<Encoding {self.name!r}>"

    # ---- text -> ids ----

    def encode_ordinary(self, text: str) -> list[int]:
        """Encode a text; specials in it are ordinary text."""
        return self.tokenizer.encode(text if isinstance(text, str) else str_of(text))

    def encode(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[int]:
        """Encode a text: allowed specials in it become their ids, disallowed ones are an error.

        A special that is neither allowed nor disallowed is ordinary text. By default all specials
        are disallowed.
        """
        allowed, disallowed = self._policy(allowed_special, disallowed_special)
        self._refuse(str_of(text), disallowed)
        return self.tokenizer.encode(text, allowed_special=self._known(allowed))

    def encode_to_numpy(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> "NDArray[np.uint32]":
        """Encode into an array. Unlike in `encode`, lone surrogates are an error."""
        allowed, disallowed = self._policy(allowed_special, disallowed_special)
        self._refuse(str_of(text), disallowed)
        return self.tokenizer.encode_array(text.encode(), allowed_special=self._known(allowed))

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Encode many texts; specials in them are ordinary text."""
        threads = threads_of(num_threads)
        return self.tokenizer.encode_batch([str_of(one) for one in text], threads=threads)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> list[list[int]]:
        """Encode many texts, with `encode`'s rules for specials."""
        allowed, disallowed = self._policy(allowed_special, disallowed_special)
        if disallowed != "all":
            disallowed = frozenset(disallowed)
        threads = threads_of(num_threads)
        known: str | list[str] | None = None
        texts = list(text)
        for one in texts:
            self._refuse(str_of(one), disallowed)
            known = self._known(allowed) if known is None else known
        return self.tokenizer.encode_batch(texts, threads=threads, allowed_special=known)

    def encode_with_unstable(
        self,
        text: str,
        *,
        allowed_special: Literal["all"] | AbstractSet[str] = set(),
        disallowed_special: Literal["all"] | Collection[str] = "all",
    ) -> tuple[list[int], list[list[int]]]:
        """Return the stable ids of a text that may go on, and all completions of its end.

        The completions are lists of ids that a longer text could have instead of the text's end.
        """
        allowed, disallowed = self._policy(allowed_special, disallowed_special)
        self._refuse(str_of(text), disallowed)
        return encode_unstable(self.tokenizer, text.encode(), self._known(allowed))

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of a token or special, given its whole text or bytes."""
        token = _bytes(text_or_bytes)
        found = find_token(self.tokenizer, token) if token else self._empty
        if found is None:
            found = self._special_tokens.get(token.decode(errors="surrogateescape"))
        if found is None:
            raise IdError(token)
        return found

    # ---- ids -> text ----

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids, which may end inside a character."""
        return self._decoded(self.tokenizer.decode_bytes, tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Decode ids; `errors` handles invalid UTF-8 as in `bytes.decode`."""
        try:
            return self._decoded(lambda ids: self.tokenizer.decode(ids, errors=errors), tokens)
        except TextError:  # tiktoken looks for the handler only if the bytes need it.
            return self.decode_bytes(tokens).decode(errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of the token or special with an id."""
        if token == self._empty is not None:
            return b""
        try:
            return self.tokenizer.token_bytes(_id(token))
        except IdError:
            raise IdError(str(token)) from None

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id."""
        return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Decode ids, and return the index of the character at which each token begins.

        A token that begins inside a character has the index of that character.
        """
        parts = self.decode_tokens_bytes(tokens)
        text = b"".join(parts).decode()
        offsets, characters = [], 0
        for part in parts:
            inside = 0x80 <= part[0] < 0xC0
            offsets.append(max(0, characters - inside))
            characters += sum(not 0x80 <= byte < 0xC0 for byte in part)
        return text, offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Decode many lists of ids."""
        threads = threads_of(num_threads)
        return self._decoded_batch(
            lambda lists: self.tokenizer.decode_batch(lists, threads=threads, errors=errors),
            lambda ids: self.decode(ids, errors),
            batch,
        )

    def decode_bytes_batch(
        self, batch: Sequence[Sequence[int]], *, num_threads: int = 8
    ) -> list[bytes]:
        """Return the bytes of many lists of ids."""
        threads = threads_of(num_threads)
        return self._decoded_batch(
            lambda lists: self.tokenizer.decode_batch_bytes(lists, threads=threads),
            self.decode_bytes,
            batch,
        )

    # ---- the vocabulary ----

    def token_byte_values(self) -> list[bytes]:
        """Return all tokens without the specials, sorted."""
        return sorted(self._mergeable_ranks)

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`."""
        return self._special_tokens["<|endoftext|>"]

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The names of the specials."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Return whether an id belongs to a special."""
        if not isinstance(token, int):
            raise ArgumentError(f"a token is an int, not {type(token).__name__}")
        return token in self._special_token_values

    @cached_property
    def _special_token_values(self) -> set[int]:
        return set(self._special_tokens.values())

    @property
    def n_vocab(self) -> int:
        """One more than the highest id."""
        return self.max_token_value + 1

    # ---- private methods that programs use ----

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """Merge bytes as one piece, without splitting them."""
        return encode_piece(self.tokenizer, _bytes(text_or_bytes))

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """Return the result of `encode_ordinary`, because there is only one splitter here."""
        return self.encode_ordinary(text)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Encode bytes; an end that is not UTF-8 gets the same ids as in tiktoken."""
        return encode_invalid_utf8_tail(self.tokenizer, text)

    # ---- pickling ----

    def __getstate__(self) -> object:
        """Pickle a registered encoding by its name, and any other by its parts."""
        from zeton.tiktoken.registry import ENCODINGS  # noqa: PLC0415 - it imports this module.

        if self is ENCODINGS.get(self.name):
            return self.name
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, value: object) -> None:
        """Restore the state that `__getstate__` returned."""
        from zeton.tiktoken.registry import get_encoding  # noqa: PLC0415

        if isinstance(value, str):
            self.__dict__ = get_encoding(value).__dict__
        elif isinstance(value, Mapping):
            self.__init__(**value)  # type: ignore[misc]
        else:
            raise TypeError(f"an Encoding's state is a name or its parts, not {type(value)}")

    # ---- the policy on specials, and errors ----

    def _policy(
        self,
        allowed: Literal["all"] | AbstractSet[str],
        disallowed: Literal["all"] | Collection[str],
    ) -> tuple[AbstractSet[str], Literal["all"] | Collection[str]]:
        """Return the names of both; the string "all" stays if possible, because it is faster."""
        names = self.special_tokens_set if allowed == "all" else allowed
        if disallowed == "all" and names != set():
            return names, self.special_tokens_set - names
        return names, disallowed

    def _refuse(self, text: str, disallowed: Literal["all"] | Collection[str]) -> None:
        """Refuse a text that contains a disallowed string, special or not."""
        if not disallowed:
            return
        if disallowed == "all":
            found = find_special(self.tokenizer, text, "all")
        else:
            names = frozenset(disallowed)
            specials = self.special_tokens_set & names
            others = [name for name in names - specials if name in text]
            found = find_special(self.tokenizer, text, specials) or next(iter(others), None)
        if found is not None:
            raise_disallowed_special_token(found)

    def _known(self, allowed: AbstractSet[str]) -> str | list[str] | None:
        """Return the allowed specials as the engine takes them; unknown names are ignored."""
        if not isinstance(allowed, (set, frozenset)):
            raise TypeError(f'allowed_special is "all" or a set, not {type(allowed).__name__}')
        if not allowed:
            return None
        if not all(isinstance(name, str) for name in allowed):
            raise TypeError(f"allowed_special holds names, not {allowed!r:.80}")
        known = allowed & self.special_tokens_set
        return "all" if len(known) == len(self.special_tokens_set) else list(known)

    def _decoded(self, decode: Callable[[Sequence[int]], T], tokens: Sequence[int]) -> T:
        """Decode; an unknown id raises the error with tiktoken's message."""
        if not _is_sequence(tokens):
            raise TypeError(f"tokens is a sequence of ids, not {type(tokens).__name__}")
        try:
            return decode(tokens)
        except IdError:
            numbers = [_id(token) for token in tokens]
            if self._empty in numbers:
                return self._decoded(decode, [each for each in numbers if each != self._empty])
            unknown = next(number for number in numbers if not self._is_id(number))
            raise IdError(f"Invalid token for decoding: {unknown}") from None
        except TypeError:
            converted = _numbers(tokens)
            if converted is None:
                raise
            return self._decoded(decode, converted)

    def _is_id(self, number: int) -> bool:
        try:
            return bool(self.tokenizer.token_bytes(number))
        except IdError:
            return False

    def _decoded_batch(
        self,
        decode_batch: Callable[[list[Sequence[int]]], list[T]],
        decode: Callable[[Sequence[int]], T],
        batch: Iterable[Sequence[int]],
    ) -> list[T]:
        """Decode many lists together; after an error, decode one by one for the same message."""
        lists = list(batch)
        if all(map(_is_sequence, lists)):
            with suppress(IdError, TextError, TypeError, UnicodeDecodeError):
                return decode_batch(lists)
        return [decode(one) for one in lists]


def _bytes(text_or_bytes: object) -> bytes:
    if isinstance(text_or_bytes, str):
        return text_or_bytes.encode()
    if not isinstance(text_or_bytes, bytes):
        raise TypeError(f"a token is str or bytes, not {type(text_or_bytes).__name__}")
    return text_or_bytes


def _is_sequence(tokens: object) -> bool:
    """Return whether the ids are indexable, so that they can be read twice in order."""
    return hasattr(tokens, "__getitem__") and not isinstance(tokens, (str, Mapping))


def _numbers(tokens: Sequence[int]) -> list[int] | None:
    """Return bytes and bools as numbers, which tiktoken takes for ids; None for other tokens."""
    if isinstance(tokens, (bytes, bytearray)) or any(isinstance(each, bool) for each in tokens):
        return [int(each) if isinstance(each, bool) else each for each in tokens]
    return None


def _id(token: int) -> int:
    """Return a number that fits 32 bits without a sign; refuse any other."""
    if not 0 <= index(token) < 1 << 32:
        raise OverflowError(f"{token} is out of range; no id is negative or has more than 32 bits")
    return int(index(token))


def raise_disallowed_special_token(token: str) -> NoReturn:
    """Raise tiktoken's error about a disallowed special; programs search its first line."""
    raise SpecialError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        f"Pass `allowed_special={{{token!r}}}` to encode it as a special, or "
        "`disallowed_special=()` to encode every special that is not allowed as ordinary text."
    )
