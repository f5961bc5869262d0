"""Texts as callers give them → bytes for the card, without specials, in batches.

For example, `"hi<|end|>"` with `<|end|>` allowed becomes `b"hi"` for the card and the special's id.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from zeton._engine import find_specials
from zeton.text.fit import readable

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["Specials", "Text", "cut_specials", "freeze_specials", "group_texts", "to_bytes"]

Text: TypeAlias = str | bytes | bytearray | memoryview
Specials: TypeAlias = str | Iterable[str] | None


def cut_specials(
    tokenizer: "Tokenizer", text: Text, allowed_special: Specials
) -> Iterator[bytes | int]:
    """Yield the ids of specials in a text, and the bytes between them; an empty text yields b""."""
    content = to_bytes(text)
    if allowed_special is None:
        yield content
        return
    at = 0
    found = find_specials(tokenizer, content, allowed_special, characters=False)
    for start, end, special in found:
        if at < start:
            yield content[at:start]
        yield special
        at = end
    if at < len(content) or not found:
        yield content[at:]


def to_bytes(text: Text) -> bytes:
    """Return the bytes of a text as the engine reads it: UTF-8, lone surrogates replaced."""
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return readable(text).encode()
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"a text is str or bytes, not {type(text).__name__}")


def group_texts(
    texts: Iterable[Text] | Iterable[Iterable[Text]], batch_bytes: int
) -> Iterator[tuple[list[Text], bool]]:
    """Yield (texts, is_batch): batches unchanged, single texts gathered to `batch_bytes`."""
    gathered: list[Text] = []
    size = 0
    for item in texts:
        if isinstance(item, (str, bytes, bytearray, memoryview)):
            gathered.append(item)
            size += len(item)
            if size < batch_bytes:
                continue
        if gathered:
            yield gathered, False
            gathered, size = [], 0
        if not isinstance(item, (str, bytes, bytearray, memoryview)):
            yield list(item), True
    if gathered:
        yield gathered, False


def freeze_specials(allowed_special: Specials) -> str | list[str] | None:
    """Return allowed specials as a value that can be read once per batch, not an iterator."""
    if allowed_special is None or isinstance(allowed_special, str):
        return allowed_special
    return list(allowed_special)
