"""Ctrl-C: a line on stderr and exit code 130, at any moment of a command."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

STOPPED = 130
"""The exit code of a command that Ctrl-C ends: 128 and the number of SIGINT."""


@contextmanager
def quiet_interrupts() -> Iterator[None]:
    """End the process at once at Ctrl-C, while there is nothing to clean up.

    For example, while modules are imported: KeyboardInterrupt would print a traceback.
    """
    with _handler(_end):
        yield


@contextmanager
def raised_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt at Ctrl-C, so that a command can clean up."""
    with _handler(signal.default_int_handler):
        yield


@contextmanager
def _handler(handler: Callable[..., Any]) -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    if before not in {_end, signal.default_int_handler}:
        yield  # Another program's own handler, or an ignored signal, stays.
        return
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:  # Signals reach the main thread only.
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _end(*_: object) -> NoReturn:
    os.write(2, b"zeton: stopped\n")
    os._exit(STOPPED)
