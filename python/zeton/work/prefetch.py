"""Prefetching: a thread makes the next items while the caller uses the current one."""

import queue
import threading
from collections.abc import Generator, Iterator
from typing import TypeVar

__all__ = ["ahead"]

Item = TypeVar("Item")


def ahead(items: Iterator[Item], count: int) -> Iterator[Item]:
    """Make up to so many items in a thread of their own, before they are asked for."""
    ready: queue.Queue[tuple[Item] | BaseException | None] = queue.Queue(count)
    stopped = threading.Event()

    def put(item: tuple[Item] | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                ready.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def read() -> None:
        try:
            for item in items:
                if not put((item,)):
                    return
            put(None)
        except BaseException as error:  # noqa: BLE001 - raised again, where it is heard.
            put(error)
        finally:
            _end(items)

    # A daemon: an iterator that never comes back must not keep the program from ending.
    reader = threading.Thread(target=read, name="zeton reads ahead", daemon=True)
    reader.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item[0]
    finally:
        stopped.set()
        reader.join(timeout=0.5)  # So that the iterator is the caller's again, if it comes back.


def _end(items: Iterator[Item]) -> None:
    """Close a generator here, with its files, and not when it is collected."""
    if isinstance(items, Generator):
        items.close()
