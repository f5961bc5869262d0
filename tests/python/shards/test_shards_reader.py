"""Shards are read at any place, and shared out to ranks and workers, each window once."""

import json
import pickle
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zeton
from zeton import shards
from zeton.errors import ShardError
from zeton.shards import Batches, Reader, Windows

pytestmark = pytest.mark.usefixtures("small_shards")

TEXTS = [f"text {number}: " + "lower " * (number % 13) for number in range(120)]


@pytest.fixture(scope="module")
def tok() -> zeton.Tokenizer:
    return zeton.train(TEXTS, vocab_size=290)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


@pytest.fixture(scope="module", params=["bin", "npy", "llmc", "megatron", "parquet"])
def reader(
    request: pytest.FixtureRequest,
    tok: zeton.Tokenizer,
    corpus: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Reader:
    out = tmp_path_factory.mktemp("out") / "shards"
    shards.write([corpus], tokenizer=tok, out=out, format=request.param, shard_size=200)
    return shards.open(out)


def test_any_stretch_of_tokens_is_that_of_one_array(reader: Reader, tok: zeton.Tokenizer) -> None:
    ids = [each for text in TEXTS for each in tok.encode(text)]
    assert len(reader.tokens) == len(ids)
    for start in range(0, len(ids), 37):
        for size in (0, 1, 5, 199, 200, 201, 1000):
            assert reader.tokens[start : start + size].tolist() == ids[start : start + size]
    assert reader.tokens[:].tolist() == ids
    assert reader.tokens[-7:-2].tolist() == ids[-7:-2]
    assert [int(reader.tokens[at]) for at in (0, 200, -1)] == [ids[0], ids[200], ids[-1]]
    with pytest.raises(IndexError, match="is not there"):
        reader.tokens[len(ids)]


def test_texts_are_found_by_their_number(reader: Reader, tok: zeton.Tokenizer) -> None:
    assert len(reader) == 120
    for number in (0, 7, 119, -1):
        assert reader.text(number).tolist() == tok.encode(TEXTS[number])
    with pytest.raises(IndexError, match="text 120 is not there; there are 120"):
        reader.text(120)
    assert "120 texts" in repr(reader)


def test_a_stretch_within_a_shard_is_not_copied(
    tok: zeton.Tokenizer, corpus: Path, tmp_path: Path
) -> None:
    shards.write([corpus], tokenizer=tok, out=tmp_path / "out")
    reader = shards.open(tmp_path / "out")
    assert np.shares_memory(reader.tokens[10:50], reader.tokens[0:100])
    with pytest.raises(ValueError, match="read-only"):
        reader.tokens[10:50][0] = 1


def test_a_reader_is_lazy_and_pickled_as_where_it_is(reader: Reader) -> None:
    assert len(pickle.dumps(reader)) < 500
    again = pickle.loads(pickle.dumps(reader))  # noqa: S301 - our own.
    assert again.tokens._shards == [None] * len(again.tokens._shards)
    assert again.text(3).tolist() == reader.text(3).tolist()


def test_what_is_not_there_is_refused(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(ShardError, match="has no manifest"):
        shards.open(tmp_path)
    with pytest.raises(ShardError, match="has no split 'val'; the only one known is 'train'"):
        shards.open(reader.folder, split="val")
    with pytest.raises(ShardError, match="is not packed"):
        reader.row(0)
    with pytest.raises(ShardError, match="there is no mask"):
        reader.text_mask(0)
    with pytest.raises(ShardError, match="the step is 2"):
        reader.tokens[::2]


def test_windows_follow_one_another_with_some_of_the_next(reader: Reader) -> None:
    ids = reader.tokens[:].tolist()
    windows = Windows(reader, length=32, extra=1)
    assert len(windows) == (len(ids) - 1) // 32
    assert [windows[at].tolist() for at in range(len(windows))] == [
        ids[at * 32 : at * 32 + 33] for at in range(len(windows))
    ]
    with pytest.raises(IndexError, match="is not there"):
        windows[len(windows)]
    assert windows[-1].tolist() == windows[len(windows) - 1].tolist()
    with pytest.raises(ShardError, match="the length is None"):
        Windows(reader)


def test_what_is_no_number_is_refused_in_one_line(reader: Reader) -> None:
    wrong: list[Any] = [slice(1, 2), [1, 2], 1.5, "1", None]
    for each in wrong:
        with pytest.raises(
            TypeError, match=f"a text is named by an int, not {type(each).__name__}"
        ):
            reader.text(each)
        with pytest.raises(TypeError, match="a window is named by an int"):
            Windows(reader, length=8)[each]
        if not isinstance(each, slice):
            with pytest.raises(TypeError, match="a token is named by an int"):
                reader.tokens[each]
    assert reader.text(np.int64(3)).tolist() == reader.text(3).tolist()  # type: ignore[arg-type]


def test_rows_are_counted_from_the_end_too(
    tok: zeton.Tokenizer, corpus: Path, tmp_path: Path
) -> None:
    shards.write([corpus], tokenizer=tok, out=tmp_path / "out", pack=16)
    reader = shards.open(tmp_path / "out")
    assert reader.row(-1).tolist() == reader.row(reader.rows - 1).tolist()
    assert reader.borders(-1).tolist() == reader.borders(reader.rows - 1).tolist()
    with pytest.raises(IndexError, match=f"row {-reader.rows - 1} is not there"):
        reader.row(-reader.rows - 1)


def test_a_damaged_table_is_named(tok: zeton.Tokenizer, corpus: Path, tmp_path: Path) -> None:
    shards.write([corpus], tokenizer=tok, out=tmp_path / "out", format="parquet")
    path = tmp_path / "out" / "train_000000.parquet"
    content = path.read_bytes()
    for damaged in (
        b"",
        content[:-9],
        b"\0" * len(content),
        *(
            content[:at] + bytes(each ^ 255 for each in content[at : at + 40]) + content[at + 40 :]
            for at in range(0, len(content) - 40, 40)
        ),
    ):
        path.write_bytes(damaged)
        said = f"{path} is as it was"
        try:
            shards.open(tmp_path / "out").tokens[:]
        except zeton.Error as error:  # Not all damage is seen without --verify.
            said = str(error)
        assert said.startswith(str(path))
        assert "\n" not in said
    path.unlink()
    with pytest.raises(zeton.Error, match=r"train_000000\.parquet"):
        shards.open(tmp_path / "out").tokens[:]


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize(("ranks", "workers"), [(1, 1), (1, 3), (2, 1), (3, 2), (4, 5)])
def test_ranks_and_workers_see_every_window_once(
    reader: Reader, seed: int | None, ranks: int, workers: int
) -> None:
    windows = Windows(reader, length=8)
    seen: list[int] = []
    for rank in range(ranks):
        batches = Batches(windows, batch_size=3, seed=seed, rank=rank, ranks=ranks)
        of_rank = taken_in_turn(batches, workers)
        assert of_rank == [numbers.tolist() for numbers in batches.numbers()]
        assert len(of_rank) == len(batches)
        seen += [number for batch in of_rank for number in batch]
    assert len(seen) == len(set(seen)) == len(windows) // (3 * ranks) * 3 * ranks
    assert set(seen) <= set(range(len(windows)))


def taken_in_turn(batches: Batches, workers: int) -> list[list[int]]:
    """Take batches as torch's loader does: one of each worker, until all have ended."""
    each = [batches.numbers(worker=worker, workers=workers) for worker in range(workers)]
    found = []
    while each:
        for numbers in list(each):
            batch = next(numbers, None)
            if batch is None:
                each.remove(numbers)
            else:
                found.append(batch.tolist())
    return found


def test_every_epoch_has_its_own_order(reader: Reader) -> None:
    batches = Batches(Windows(reader, length=8), batch_size=4, seed=1)
    first, second = (np.concatenate([batch["ids"] for batch in batches]) for _ in range(2))
    assert first.shape == second.shape
    assert first.tolist() != second.tolist()
    assert batches.epoch == 2


@pytest.mark.parametrize(("ranks_before", "ranks_after"), [(1, 1), (2, 2), (4, 2), (2, 4)])
def test_reading_goes_on_from_a_place_also_with_other_ranks(
    reader: Reader, ranks_before: int, ranks_after: int
) -> None:
    windows = Windows(reader, length=8)
    seen: list[int] = []
    place = {}
    for rank in range(ranks_before):
        batches = Batches(windows, batch_size=2, seed=9, rank=rank, ranks=ranks_before)
        for _, numbers in zip(range(4 // ranks_before), batches.numbers(), strict=False):
            seen += numbers.tolist()
        for _, _ in zip(batches, range(4 // ranks_before), strict=False):
            pass
        place = batches.state_dict()
    assert len(seen) == 8
    for rank in range(ranks_after):
        batches = Batches(windows, batch_size=2, seed=9, rank=rank, ranks=ranks_after)
        batches.position = 8
        seen += [number for numbers in batches.numbers() for number in numbers.tolist()]
    assert (
        len(seen)
        == len(set(seen))
        == 8 + (len(windows) - 8) // (2 * ranks_after) * (2 * ranks_after)
    )
    assert place["epoch"] == 0


def test_a_place_is_kept_and_gone_on_from(reader: Reader) -> None:
    whole = [
        batch["ids"].tolist() for batch in Batches(Windows(reader, length=8), batch_size=4, seed=2)
    ]
    batches = Batches(Windows(reader, length=8), batch_size=4, seed=2)
    some = iter(batches)
    before = [next(some)["ids"].tolist() for _ in range(5)]
    place = json.loads(json.dumps(batches.state_dict()))
    later = Batches(Windows(reader, length=8), batch_size=4, seed=2)
    later.load_state_dict(place)
    assert before + [batch["ids"].tolist() for batch in later] == whole
    with pytest.raises(ShardError, match="seed is 2 in the state and 3 here"):
        Batches(Windows(reader, length=8), batch_size=4, seed=3).load_state_dict(place)
    with pytest.raises(ShardError, match="give the result of state_dict"):
        later.load_state_dict({"epoch": 1})


def test_a_place_in_another_corpus_is_refused(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    found = []
    for name, words in (("a", "low lower " * 99), ("b", "lower low " * 99), ("c", "low " * 99)):
        (tmp_path / f"{name}.txt").write_text(words)
        shards.write([tmp_path / f"{name}.txt"], tokenizer=tok, out=tmp_path / name)
        found.append(Batches(Windows(shards.open(tmp_path / name), length=8), batch_size=2))
    with pytest.raises(ShardError, match=r"windows is \d+ in the state"):
        found[2].load_state_dict(found[0].state_dict())
    assert len(found[0].windows) == len(found[1].windows)
    with pytest.raises(ShardError, match="the state is of other shards than"):
        found[1].load_state_dict(found[0].state_dict())
    found[0].load_state_dict(json.loads(json.dumps(found[0].state_dict())))


def test_batches_of_chats_have_masks(tmp_path: Path) -> None:
    tok = zeton.train(TEXTS, vocab_size=290, specials=zeton.chat.CHATML.specials)
    chat = [{"role": "user", "content": "low"}, {"role": "assistant", "content": "lower"}]
    (tmp_path / "a.jsonl").write_text(json.dumps({"messages": chat}) + "\n")
    shards.write(
        [tmp_path / "a.jsonl"], tokenizer=tok, out=tmp_path / "out", chat="chatml", pack=64, pad=0
    )
    batch = next(iter(Batches(Windows(shards.open(tmp_path / "out")), batch_size=1)))
    rendered = zeton.chat.CHATML.render(chat, tokenizer=tok)
    assert batch["ids"][0].tolist() == rendered.ids + [0] * (64 - len(rendered.ids))
    assert batch["mask"][0].tolist() == rendered.mask + [0] * (64 - len(rendered.ids))


def test_torch_loads_the_same_batches_with_any_number_of_workers(reader: Reader) -> None:
    if not find_spec("torch"):
        with pytest.raises(ShardError, match="need the package torch"):
            import_module("zeton.shards.torch").Rows(Windows(reader, length=8))
    pytest.importorskip("torch")
    from torch.utils.data import DataLoader

    from zeton.shards.torch import Rows, Stream

    def batches() -> Batches:
        return Batches(Windows(reader, length=8, extra=1), batch_size=4, seed=2)

    expected = [batch["ids"].tolist() for batch in batches()]
    for workers in (0, 2):
        loader = DataLoader(Stream(batches()), batch_size=None, num_workers=workers)
        assert [batch["ids"].tolist() for batch in loader] == expected
    rows = Rows(Windows(reader, length=8))
    assert rows[3]["ids"].tolist() == reader.tokens[24:32].tolist()
    assert len(rows) == len(reader.tokens) // 8
