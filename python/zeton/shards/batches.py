"""Windows of tokens in an order, shared out to ranks and workers, each exactly once an epoch."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeton.errors import ShardError
from zeton.plural import counted
from zeton.shards.order import permutation
from zeton.shards.reader import Reader, Tokens, place

__all__ = ["Batches", "Windows"]


class Windows:
    """Stretches of one length, one after the other; `extra` tokens of the next come along.

    With `extra=1`, a model learns `window[1:]` from `window[:-1]`, and every token is learned.
    """

    def __init__(self, reader: Reader, *, length: int | None = None, extra: int = 0) -> None:
        """Take the length of packed rows, unless one is given."""
        chosen = reader.row_length if length is None else length
        if chosen is None or chosen < 1 or extra < 0:
            found = f"the length is {chosen}" if extra >= 0 else f"extra is {extra}"
            raise ShardError(f"{found}; give a length of at least 1 token, and no negative extra")
        self.reader = reader
        self.length = chosen
        self.extra = extra
        if not len(self) and len(reader.tokens):
            wanted, there = counted(chosen + extra, "token"), counted(len(reader.tokens), "token")
            raise ShardError(f"no window of {wanted} fits into {reader.folder}, which has {there}")

    def __len__(self) -> int:
        """Return the number of windows; a shorter rest is no window."""
        return max(len(self.reader.tokens) - self.extra, 0) // self.length

    def __getitem__(self, number: int) -> NDArray[Any]:
        """Return the ids of a window."""
        return self._of(self.reader.tokens, number)

    def mask(self, number: int) -> NDArray[Any]:
        """Return the mask of a window, for chats."""
        if self.reader.mask is None:
            raise ShardError(f"{self.reader.folder} has texts, not chats; there is no mask")
        return self._of(self.reader.mask, number)

    def told(self) -> dict[str, Any]:
        """Return the facts that identify these windows."""
        digest = self.reader.manifest.digest()
        shards = f"{self.reader.split} {digest}"
        return {"length": self.length, "extra": self.extra, "windows": len(self), "shards": shards}

    def _of(self, values: Tokens, number: int) -> NDArray[Any]:
        start = place(number, len(self), "window") * self.length
        return values[start : start + self.length + self.extra]


@dataclass
class Batches:
    """Batches of windows for one rank, in file order or shuffled every epoch.

    Every window is in at most one batch of one rank. The last windows, too few for a batch on every
    rank, are in none. `position` counts the windows that all ranks together have done, so another
    number of ranks and workers can resume from it.
    """

    windows: Windows
    _: KW_ONLY
    batch_size: int
    seed: int | None = None
    rank: int = 0
    ranks: int = 1
    epoch: int = 0
    position: int = 0

    def __post_init__(self) -> None:
        """Raise an error for a rank or a batch size that cannot be."""
        if self.batch_size < 1:
            raise ShardError(f"batch_size is {self.batch_size}; it must be at least 1")
        if self.ranks < 1:
            raise ShardError(f"ranks is {self.ranks}; it must be at least 1")
        if not 0 <= self.rank < self.ranks:
            ranks = counted(self.ranks, "rank")
            raise ShardError(f"rank is {self.rank} of {ranks}; ranks go from 0 to {self.ranks - 1}")

    @property
    def step(self) -> int:
        """How many windows all ranks take at once."""
        return self.batch_size * self.ranks

    def __len__(self) -> int:
        """Return how many batches this rank has yet in the epoch."""
        return max(len(self.windows) - self.position, 0) // self.step

    def numbers(self, *, worker: int = 0, workers: int = 1) -> Iterator[NDArray[np.int64]]:
        """Yield the windows of every `workers`-th batch, from number `worker` on.

        A data loader that takes from its workers in turn gets the batches in one order.
        """
        count, first = len(self.windows), self.position + self.rank * self.batch_size
        order = None if self.seed is None else permutation(count, self.seed, stream=self.epoch)
        for number in range(worker, len(self), workers):
            start = first + number * self.step
            chosen = np.arange(start, start + self.batch_size)
            yield chosen if order is None else order[chosen]

    def read(self, numbers: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
        """Return windows as one array, `ids`, for chats also `mask`."""
        chosen = numbers.tolist()
        found = {"ids": np.stack([self.windows[at] for at in chosen]).astype(np.int64)}
        if self.windows.reader.mask is not None:
            found["mask"] = np.stack([self.windows.mask(at) for at in chosen]).astype(np.int64)
        return found

    def __iter__(self) -> Iterator[dict[str, NDArray[np.int64]]]:
        """Yield the batches of the epoch and move the position along; the next epoch follows."""
        for numbers in self.numbers():
            batch = self.read(numbers)
            self.position += self.step
            yield batch
        self.next_epoch()

    def next_epoch(self) -> None:
        """Begin the next epoch."""
        self.epoch, self.position = self.epoch + 1, 0

    def state_dict(self) -> dict[str, Any]:
        """Return the position to resume from, with the facts about its windows."""
        place = {"epoch": self.epoch, "position": self.position}
        return {**place, "seed": self.seed, **self.windows.told()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a position; other windows, another order or other shards are an error."""
        here = self.state_dict()
        if not isinstance(state, dict) or state.keys() != here.keys():
            raise ShardError(f"a state has {', '.join(here)}; give the result of state_dict")
        for name in ("seed", "length", "extra", "windows"):
            if state[name] != here[name]:
                raise ShardError(
                    f"{name} is {state[name]} in the state and {here[name]} here; use equal ones"
                )
        if state["shards"] != here["shards"]:
            folder = self.windows.reader.folder
            raise ShardError(
                f"the state is of other shards than {folder}; open the shards that it is of"
            )
        self.epoch, self.position = int(state["epoch"]), int(state["position"])
