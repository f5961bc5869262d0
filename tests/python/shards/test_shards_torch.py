"""Epochs are right in torch's loaders, whatever the workers, also after a resume."""

import json
import pickle
from typing import Any

import pytest

import zeton
from zeton import shards
from zeton.shards import Batches, Windows

torch = pytest.importorskip("torch")
# A loader warns of more workers than cores.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create:UserWarning")

WAYS = [(0, False), (1, False), (3, False), (1, True), (3, True)]


@pytest.fixture(scope="module")
def windows(tmp_path_factory: pytest.TempPathFactory) -> Windows:
    folder = tmp_path_factory.mktemp("torch")
    texts = [f"text {number}: " + "lower " * (number % 13) for number in range(120)]
    rows = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (folder / "a.jsonl").write_text(rows)
    shards.write(
        [folder / "a.jsonl"], tokenizer=zeton.train(texts, vocab_size=290), out=folder / "out"
    )
    return Windows(shards.open(folder / "out"), length=8)


def expected(windows: Windows, epoch: int, position: int = 0) -> list[Any]:
    return [
        batch["ids"].tolist()
        for batch in Batches(
            windows, batch_size=4, seed=2, rank=0, ranks=1, epoch=epoch, position=position
        )
    ]


def loaded(stream: Any, workers: int, *, stay: bool = False, **options: Any) -> Any:
    from torch.utils.data import DataLoader

    options |= {"persistent_workers": stay}
    return DataLoader(stream, batch_size=None, num_workers=workers, **options)


def epoch_of(loader: Any) -> list[Any]:
    return [batch["ids"].tolist() for batch in loader]


def stream_of(windows: Windows, position: int = 0) -> Any:
    from zeton.shards.torch import Stream

    return Stream(Batches(windows, batch_size=4, seed=2, position=position))


@pytest.mark.parametrize(("workers", "stay"), WAYS)
def test_every_epoch_is_whole_and_in_its_own_order(
    windows: Windows, workers: int, *, stay: bool
) -> None:
    stream = stream_of(windows)
    loader = loaded(stream, workers, stay=stay)
    for epoch in range(4):
        assert len(loader) == len(windows) // 4
        assert epoch_of(loader) == expected(windows, epoch)
        assert stream.epoch == epoch + (not workers)
    assert expected(windows, 0) != expected(windows, 1)


@pytest.mark.parametrize(("workers", "stay"), WAYS)
def test_after_a_resume_only_the_first_epoch_is_a_tail(
    windows: Windows, workers: int, *, stay: bool
) -> None:
    before = stream_of(windows)
    loader = loaded(before, workers, stay=stay)
    epoch_of(loader)
    for done, _ in enumerate(loader, 1):
        if done == 5:
            break
    state = json.loads(json.dumps(before.state_dict(done=done)))
    assert (state["epoch"], state["position"]) == (1, 20)
    for count in {workers, 2}:
        stream = stream_of(windows)
        stream.load_state_dict(state)
        loader = loaded(stream, count, stay=stay and count > 0)
        assert len(loader) == len(expected(windows, 1)) - 5
        assert epoch_of(loader) == expected(windows, 1)[5:]
        for epoch in (2, 3):
            assert (
                len(loader) == len(windows) // 4
            )  # torch holds an epoch against what it was told.
            assert epoch_of(loader) == expected(windows, epoch)


@pytest.mark.parametrize(("workers", "stay"), WAYS)
def test_an_epoch_may_be_set(windows: Windows, workers: int, *, stay: bool) -> None:
    stream = stream_of(windows, position=20)
    loader = loaded(stream, workers, stay=stay)
    stream.set_epoch(0)
    assert epoch_of(loader) == expected(windows, 0, 20)
    for epoch in (1, 2, 7, 3):
        stream.set_epoch(epoch)
        assert epoch_of(loader) == expected(windows, epoch)
    assert epoch_of(loader) == expected(windows, 4)
    stream.load_state_dict(stream.state_dict() | {"epoch": 4, "position": 8})
    assert epoch_of(loader) == expected(windows, 4, 8)
    assert epoch_of(loader) == expected(windows, 5)


@pytest.mark.parametrize(("workers", "stay"), WAYS)
def test_an_epoch_that_is_broken_off_may_be_gone_on_with(
    windows: Windows, workers: int, *, stay: bool
) -> None:
    stream = stream_of(windows, position=8)
    loader = loaded(stream, workers, stay=stay)
    for done, _ in enumerate(loader, 1):
        if done == 5:
            break
    stream.load_state_dict(stream.state_dict(done=done))
    assert epoch_of(loader) == expected(windows, 0, 28)
    next(iter(loader))
    if workers:  # Otherwise it goes on by itself.
        assert epoch_of(loader) == expected(windows, 2)


def test_loaders_of_other_workers_go_on(windows: Windows) -> None:
    stream = stream_of(windows, position=8)
    for epoch, workers in enumerate([3, 1, 3, 0, 2, 2, 0, 1]):
        assert epoch_of(loaded(stream, workers)) == expected(windows, epoch, 0 if epoch else 8)


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_copy_goes_to_workers_however_they_start(windows: Windows, way: str) -> None:
    stream = pickle.loads(pickle.dumps(stream_of(windows)))  # noqa: S301 - our own.
    loader = loaded(stream, 2, multiprocessing_context=way)
    assert epoch_of(loader) == expected(windows, 0)
    assert epoch_of(loader) == expected(windows, 1)
