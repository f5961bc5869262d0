"""Checks of arguments that the surfaces of other libraries share.

For example, `threads_of(0)` raises the error of a `ThreadPoolExecutor`.
"""

from collections.abc import Iterable, Iterator

from zeton import errors
from zeton.errors import ArgumentTypeError, TrainError

__all__ = ["ArgumentError", "check_buffer_size", "str_of", "strs_of", "threads_of"]


class ArgumentError(errors.ArgumentError, AssertionError):
    """An argument that another library refuses with a ValueError or an assertion."""


def str_of(text: object) -> str:
    """Return a text, or refuse any other type than str."""
    if not isinstance(text, str):
        raise ArgumentTypeError(f"a text is a str, not {type(text).__name__}")
    return text


def strs_of(texts: Iterable[object]) -> Iterator[str]:
    """Return many texts as they come, or refuse any other type than str."""
    if isinstance(texts, str):
        raise ArgumentTypeError("texts is a list of texts, not one text; give [text]")
    return map(str_of, texts)


def threads_of(num_threads: int | None) -> int | None:
    """Return a number of threads, or raise the error of a ThreadPoolExecutor."""
    if num_threads is not None and num_threads <= 0:
        raise ArgumentError("max_workers must be greater than 0")
    return None if num_threads is None else int(num_threads)


def check_buffer_size(buffer_size: int) -> None:
    """Refuse a buffer without room for a text. The size has no other effect."""
    if buffer_size < 1:
        raise TrainError(f"buffer_size is {buffer_size}; it must be at least 1")
