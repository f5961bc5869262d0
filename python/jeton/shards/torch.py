"""Shards as torch's datasets; all that they know is in `batches`.

`Rows(reader, …)` is a `Dataset` of windows. `Stream(batches)` is an `IterableDataset` that yields
whole batches: give it to a `DataLoader` with `batch_size=None` and any number of workers.
"""

from collections.abc import Iterator
from typing import Any

from jeton.errors import ShardError
from jeton.shards.batches import Batches, Windows

try:
    import torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ImportError:  # An extra: whoever makes a dataset is told.
    torch, Dataset, IterableDataset = None, object, object

__all__ = ["Rows", "Stream"]


def _check() -> None:
    if torch is None:
        raise ShardError("datasets for torch need the package torch; install it")


class Rows(Dataset):  # type: ignore[misc] # torch need not be installed.
    """Windows by their numbers, each a dict with `ids`, for chats also `mask`."""

    def __init__(self, windows: Windows) -> None:
        """Take the windows."""
        _check()
        self.windows = windows

    def __len__(self) -> int:
        """Return the number of windows."""
        return len(self.windows)

    def __getitem__(self, number: int) -> dict[str, Any]:
        """Return a window."""
        found = {"ids": self.windows[number]}
        if self.windows.reader.mask is not None:
            found["mask"] = self.windows.mask(number)
        return {name: torch.from_numpy(values.astype("int64")) for name, values in found.items()}


class Stream(IterableDataset):  # type: ignore[misc] # As above.
    """The batches of one rank, in one order whatever the number of workers.

    The position moves in the process that reads. With workers that is not the trainer's: there, set
    `batches.position` to the windows that all ranks are done with before the loader is made.
    """

    def __init__(self, batches: Batches) -> None:
        """Take the batches."""
        _check()
        self.batches = batches

    def __len__(self) -> int:
        """Return how many batches the epoch has yet."""
        return len(self.batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the batches that fall to this worker."""
        worker = get_worker_info()
        if worker is None:
            found: Any = iter(self.batches)
        else:
            found = map(self.batches.read, self.batches.numbers(worker.id, worker.num_workers))
        for batch in found:
            yield {name: torch.from_numpy(values) for name, values in batch.items()}

    def state_dict(self) -> dict[str, int | None]:
        """Return the place to go on from."""
        return self.batches.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a place."""
        self.batches.load_state_dict(state)
