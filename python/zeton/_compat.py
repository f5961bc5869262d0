"""What the surfaces of other libraries refuse alike."""

from collections.abc import Iterable, Iterator

from zeton.errors import Error, TrainError

__all__ = ["ArgumentError", "check_buffer_size", "str_of", "strs_of", "threads_of"]


class ArgumentError(Error, ValueError, AssertionError):
    """An argument that another library refuses with a ValueError or an assertion."""


def str_of(text: object) -> str:
    """Return a text that must be a str."""
    if not isinstance(text, str):
        raise TypeError(f"a text is a str, not {type(text).__name__}")
    return text


def strs_of(texts: Iterable[object]) -> Iterator[str]:
    """Return many texts that must be strs, as they come."""
    if isinstance(texts, str):
        raise TypeError("many texts are asked for, not one; give a list")
    return map(str_of, texts)


def threads_of(num_threads: int | None) -> int | None:
    """Return a number of threads, in the words of a ThreadPoolExecutor where it is none."""
    if num_threads is not None and num_threads <= 0:
        raise ArgumentError("max_workers must be greater than 0")
    return None if num_threads is None else int(num_threads)


def check_buffer_size(buffer_size: int) -> None:
    """Refuse a buffer that never fills. Texts are gathered by their size, whatever it is."""
    if buffer_size < 1:
        raise TrainError(f"buffer_size is {buffer_size}; it must be at least 1")
