"""nanochat's tokenizer class: train, encode, render chats, save, load."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, overload

from zeton._compat import check_buffer_size, strs_of, threads_of
from zeton._engine import DEFAULT_PATTERN
from zeton.chat import NANOCHAT, Conversation, Keep, Renderer
from zeton.errors import ChatError, IdError, TextError
from zeton.nanochat import folder
from zeton.tiktoken.core import Encoding
from zeton.tiktoken.registry import get_encoding
from zeton.tokenizer import Tokenizer
from zeton.training.count import count_corpus
from zeton.training.learn import learn
from zeton.work.files import require_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["SPECIAL_TOKENS", "SPLIT_PATTERN", "RustBPETokenizer", "get_tokenizer"]

SPECIAL_TOKENS = list(NANOCHAT.specials)
SPLIT_PATTERN = DEFAULT_PATTERN

RED, GREEN, GRAY, RESET = "\x1b[91m", "\x1b[92m", "\x1b[90m", "\x1b[0m"


class RustBPETokenizer:
    """A tokenizer with nanochat's methods, around an Encoding of zeton or of tiktoken."""

    def __init__(self, enc: Any, bos_token: str) -> None:  # noqa: ANN401 - tiktoken may be missing.
        """Wrap an encoding; `bos_token` is the name of the special at the beginning of texts."""
        self.enc = _encoding(enc)
        self.bos_token_id = self.encode_special(bos_token)
        self._bos_token = bos_token

    @classmethod
    def train_from_iterator(
        cls, text_iterator: Iterable[str], vocab_size: int, buffer_size: int = 8192
    ) -> Self:
        """Train on texts; `vocab_size` includes the nine specials, which have the last ids."""
        check_buffer_size(buffer_size)
        counts = count_corpus(text_iterator, pattern=SPLIT_PATTERN)
        tok = learn(counts, vocab_size=vocab_size, specials=SPECIAL_TOKENS)
        return cls(Encoding._of(folder.ENCODING_NAME, tok), SPECIAL_TOKENS[0])

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> Self:
        """Read a folder that `save` or nanochat wrote; no code in it is run."""
        return cls(folder.read(require_path(tokenizer_dir)), SPECIAL_TOKENS[0])

    @classmethod
    def from_pretrained(cls, tiktoken_name: str) -> Self:
        """Return a bundled encoding by name, for example "gpt2"."""
        return cls(get_encoding(tiktoken_name), "<|endoftext|>")

    @property
    def tokenizer(self) -> Tokenizer:
        """The underlying `zeton.Tokenizer`."""
        return self.enc.tokenizer

    def get_vocab_size(self) -> int:
        """Return one more than the highest id."""
        return self.enc.n_vocab

    def get_special_tokens(self) -> set[str]:
        """Return the names of the specials."""
        return self.enc.special_tokens_set

    def id_to_token(self, id: int) -> str:  # noqa: A002 - nanochat's word.
        """Return the text of one id."""
        return self.enc.decode([id])

    def encode_special(self, text: str) -> int:
        """Return the id of the special with a name."""
        try:
            return self.enc.encode_single_token(text)
        except IdError:
            known = ", ".join(sorted(self.get_special_tokens())[:12])
            raise IdError(
                f"{text!r:.80} is not a special of this tokenizer; it has {known}"
            ) from None

    def get_bos_token_id(self) -> int:
        """Return the id at the beginning of texts."""
        return self.bos_token_id

    # ---- text -> ids -> text ----

    @overload
    def encode(
        self,
        text: str,
        prepend: int | str | None = None,
        append: int | str | None = None,
        num_threads: int = 8,
    ) -> list[int]: ...
    @overload
    def encode(
        self,
        text: list[str],
        prepend: int | str | None = None,
        append: int | str | None = None,
        num_threads: int = 8,
    ) -> list[list[int]]: ...
    def encode(
        self,
        text: str | list[str],
        prepend: int | str | None = None,
        append: int | str | None = None,
        num_threads: int = 8,
    ) -> list[int] | list[list[int]]:
        """Encode a text, or a list of texts; specials in them are ordinary text.

        `prepend` and `append`, ids or names of specials, are added before and after every text.
        """
        first, last = self._end(prepend), self._end(append)
        if isinstance(text, str):
            return self.tokenizer.encode(text, allowed_special=None, prepend=first, append=last)
        if isinstance(text, list):
            threads = threads_of(num_threads)
            return self.tokenizer.encode_batch(
                strs_of(text), threads=threads, allowed_special=None, prepend=first, append=last
            )
        raise TextError(f"Invalid input type: {type(text)}; give a str or a list of them")

    __call__ = encode

    def _end(self, end: int | str | None) -> int | None:
        return end if end is None or isinstance(end, int) else self.encode_special(end)

    def decode(self, ids: Sequence[int]) -> str:
        """Decode ids; bytes that are not UTF-8 become U+FFFD."""
        return self.enc.decode(ids)

    def decode_single_token_bytes(self, id: int) -> bytes:  # noqa: A002
        """Return the bytes of one id."""
        return self.enc.decode_single_token_bytes(id)

    def token_bytes(self) -> "NDArray[np.int32]":
        """Return the number of bytes of each id; specials have 0."""
        return folder.token_bytes(self.tokenizer)

    def save(self, tokenizer_dir: str | os.PathLike[str], *, pickle: bool = True) -> None:
        """Write `tokenizer.zeton` and `token_bytes`; with `pickle` also nanochat's own file."""
        folder.write(require_path(tokenizer_dir), self.enc, pickle=pickle)
        print(f"Saved the tokenizer to {tokenizer_dir}")  # noqa: T201 - as nanochat does.

    # ---- chats ----

    @cached_property
    def _renderer(self) -> Renderer:
        specials = (self._bos_token, *NANOCHAT.specials[1:])
        return replace(NANOCHAT, begin=self._bos_token, specials=specials).bind(self.tokenizer)

    def render_conversation(
        self, conversation: Conversation, max_tokens: int | None = 2048, keep: Keep | None = None
    ) -> tuple[list[int], list[int]]:
        """Render a chat into ids and a loss mask, which is 1 at the assistant's tokens.

        A chat that is too long is cut at `max_tokens`, also inside a message. With `keep` it
        loses whole exchanges instead; see `zeton.chat`.
        """
        if keep is not None:
            rendered = self._renderer.render(conversation, max_tokens=max_tokens, keep=keep)
            return rendered.ids, rendered.mask
        rendered = self._renderer.render(conversation)
        return rendered.ids[:max_tokens], rendered.mask[:max_tokens]

    def render_for_completion(
        self, conversation: Conversation, max_tokens: int | None = 2048, keep: Keep | None = None
    ) -> list[int]:
        """Render a chat without its last answer, as a prompt for the assistant.

        Without `keep`, a chat that is too long loses its end, as in nanochat, also the last
        question.
        """
        given: Any = conversation
        match given:
            case {"messages": [*before, {"role": "assistant"}]} | [*before, {"role": "assistant"}]:
                pass
            case _:
                raise ChatError(
                    "the last message is not the assistant's; give a chat that ends with one"
                )
        if keep is not None:
            return self._renderer.render_prompt(before, max_tokens=max_tokens, keep=keep).ids
        ids, _ = self.render_conversation(before, max_tokens)
        return [*ids, self.encode_special("<|assistant_start|>")]

    def visualize_tokenization(
        self,
        ids: Sequence[int],
        mask: Sequence[int],
        with_token_id: bool = False,  # noqa: FBT001, FBT002
    ) -> str:
        """Colour the tokens of a rendered chat: green is in the loss, red is not."""
        shown = []
        for number, learned in zip(ids, mask, strict=False):
            color = GREEN if learned == 1 else RED
            shown.append(f"{color}{self.decode([number])}{RESET}")
            if with_token_id:
                shown.append(f"{GRAY}({number}){RESET}")
        return "|".join(shown)


def get_tokenizer() -> RustBPETokenizer:
    """Read the tokenizer in nanochat's folder."""
    return RustBPETokenizer.from_directory(folder.tokenizer_folder())


def _encoding(enc: Any) -> Encoding:  # noqa: ANN401
    """Return a zeton Encoding with the parts of any encoding or tokenizer."""
    if isinstance(enc, Encoding):
        return enc
    if isinstance(enc, Tokenizer):
        return Encoding._of(folder.ENCODING_NAME, enc)
    try:
        return Encoding(
            enc.name,
            pat_str=enc._pat_str,
            mergeable_ranks=enc._mergeable_ranks,
            special_tokens=enc._special_tokens,
        )
    except AttributeError:
        raise TypeError(f"enc is an Encoding, not {type(enc).__name__}") from None
