"""Texts as people give them → bytes for the card, without specials, in batches."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from zeton._engine import find_specials
from zeton.text.fit import readable

if TYPE_CHECKING:
    from zeton.tokenizer import Tokenizer

__all__ = ["Specials", "Text", "bytes_of", "grouped", "names", "stretches"]

Text: TypeAlias = str | bytes | bytearray | memoryview
Specials: TypeAlias = str | Iterable[str] | None


def stretches(
    tokenizer: "Tokenizer", text: Text, allowed_special: Specials
) -> Iterator[bytes | int]:
    """Yield the ids of the specials in a text, and what is between them; an empty text is whole."""
    content = bytes_of(text)
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


def bytes_of(text: Text) -> bytes:
    """Return the bytes of a text as the engine reads it."""
    if isinstance(text, str):
        try:
            return text.encode()
        except UnicodeEncodeError:
            return readable(text).encode()
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"a text is str or bytes, not {type(text).__name__}")


def grouped(
    texts: Iterable[Text] | Iterable[Iterable[Text]], batch_bytes: int
) -> Iterator[tuple[list[Text], bool]]:
    """Yield batches as they are, and gather texts that come one by one; tell which is which."""
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


def names(allowed_special: Specials) -> str | list[str] | None:
    """Return names that can be read again for every batch."""
    if allowed_special is None or isinstance(allowed_special, str):
        return allowed_special
    return list(allowed_special)
