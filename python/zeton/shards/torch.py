"""Shards as torch's datasets; all that they know is in `batches`.

`Rows(reader, …)` is a `Dataset` of windows. `Stream(batches)` is an `IterableDataset` that yields
whole batches: give it to a `DataLoader` with `batch_size=None` and any number of workers.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from zeton.errors import ShardError
from zeton.shards.batches import Batches, Windows

try:
    import torch
    from torch.utils.data import Dataset, IterableDataset, get_worker_info
except ImportError:  # An extra: making a dataset raises an error.
    torch, Dataset, IterableDataset = None, object, object

__all__ = ["Rows", "Stream"]

WORKERS_MAX = 128
"""Of one loader: each has a place to count in."""


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


class Stream(IterableDataset):  # type: ignore[misc] # torch need not be installed.
    """The batches of one rank, in one order for any number of workers; epochs follow.

    Workers read copies of the stream, so each counts the epochs that it began in memory that all
    of them share. Every iteration of a loader is the next epoch: the first begins at the position
    of `batches`, and later ones at 0.
    """

    def __init__(self, batches: Batches) -> None:
        """Take the batches."""
        _check()
        self.batches = batches
        self._begun = torch.zeros((WORKERS_MAX + 1, WORKERS_MAX, 4), dtype=torch.int64)
        """By how many workers there are, and which: a base, and the epochs begun from there."""
        self._told = torch.zeros(3, dtype=torch.int64)
        """The last base that was set after the stream was made; its number, which grows, is last.
        This is how a worker that stays hears of it."""
        self._heard: int | None = None
        self._share()

    @property
    def epoch(self) -> int:
        """The epoch that is being read, or that begins next if none was begun."""
        return self.batches.epoch + max(self._count() - 1, 0)

    def set_epoch(self, epoch: int) -> None:
        """Let the next iteration read an epoch; one that is about to begin keeps its position."""
        if self._count() or epoch != self.batches.epoch:
            self.batches.epoch, self.batches.position = epoch, 0
            self._tell()

    def __len__(self) -> int:
        """Return how many batches the next epoch has; without workers, this one yet."""
        return len(replace(self.batches, position=0) if self._count() else self.batches)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the batches that fall to this worker."""
        worker = get_worker_info()
        if worker is None:
            if count := self._count():  # Workers read before.
                self.batches.epoch, self.batches.position = self.batches.epoch + count, 0
                self._tell()
            return map(_tensors, self.batches)
        # Not when the first batch is asked for: an epoch that is broken off is begun by all.
        batches = self._next(worker.id, worker.num_workers)
        return map(
            _tensors,
            map(batches.read, batches.numbers(worker=worker.id, workers=worker.num_workers)),
        )

    def state_dict(self, *, done: int = 0) -> dict[str, Any]:
        """Return the position to resume from; with workers, `done` batches of the epoch are done.

        They read ahead, so that only the trainer knows.
        """
        position = 0 if self._count() > 1 else self.batches.position
        position += done * self.batches.step if self._count() else 0
        return replace(self.batches, epoch=self.epoch, position=position).state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a position."""
        self.batches.load_state_dict(state)
        self._tell()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Share the counters of a copy with its workers; in a worker they are shared already."""
        self.__dict__.update(state)
        self._share()

    def _share(self) -> None:
        self._begun.share_memory_()
        self._told.share_memory_()

    def _tell(self) -> None:
        place = [self.batches.epoch, self.batches.position, int(self._told[2]) + 1]
        self._told.copy_(torch.tensor(place))

    def _base(self) -> Any:  # noqa: ANN401 - a tensor.
        return torch.tensor([self.batches.epoch, self.batches.position, int(self._told[2])])

    def _count(self) -> int:
        """Return how many epochs the workers began from the base, for any number of workers."""
        return sum(self._counts())

    def _counts(self) -> list[int]:
        is_ours = (self._begun[:, :, :3] == self._base()).all(dim=2)
        return [int(count) for count in (self._begun[:, :, 3] * is_ours).amax(dim=1)]

    def _next(self, worker: int, workers: int) -> Batches:
        """Return the batches of the next epoch; a worker writes to its own place only."""
        if workers > WORKERS_MAX:
            raise ShardError(f"there are {workers} workers; a stream has {WORKERS_MAX} at most")
        if self._heard is not None and self._heard != int(self._told[2]):
            self.batches.epoch, self.batches.position = (int(each) for each in self._told[:2])
        self._heard = int(self._told[2])
        base, place = self._base(), self._begun[workers, worker]
        begun = int(place[3]) if bool((place[:3] == base).all()) else 0
        counts = self._counts()
        counts[workers] = begun  # The others of this loader may have begun already, or not yet.
        before = sum(counts)
        place.copy_(torch.cat([base, torch.tensor([begun + 1])]))
        if not before:
            return self.batches
        return replace(self.batches, epoch=self.batches.epoch + before, position=0)


def _tensors(batch: dict[str, Any]) -> dict[str, Any]:
    return {name: torch.from_numpy(values) for name, values in batch.items()}
