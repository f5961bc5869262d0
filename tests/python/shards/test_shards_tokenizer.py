"""Shards carry their tokenizer, and errors about shards are zeton's own."""

from pathlib import Path

import pytest

import zeton
from zeton import shards
from zeton.errors import ShardError, SpecialError
from zeton.shards import Batches, Windows

END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tok() -> zeton.Tokenizer:
    return zeton.train(["low lower lowest"] * 2, vocab_size=262, specials=[END])


@pytest.fixture
def folder(tok: zeton.Tokenizer, tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("low lower lowest")
    shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out", eos=END)
    return tmp_path / "out"


def test_shards_carry_their_tokenizer(folder: Path, tok: zeton.Tokenizer) -> None:
    reader = shards.open(folder)
    assert reader.tokenizer == tok
    assert reader.tokenizer.decode(reader[0]) == f"low lower lowest{END}"
    assert shards.verify(folder) == []
    assert shards.verify(folder, paths=[folder.parent / "a.txt"]) == []


def test_another_tokenizer_in_the_folder_is_an_error(folder: Path) -> None:
    other = zeton.train(["new"], vocab_size=257)
    other.save(folder / "tokenizer.zeton")
    with pytest.raises(ShardError, match=r"tokenizer\.zeton is not the tokenizer that made"):
        _ = shards.open(folder).tokenizer
    assert any("tokenizer.zeton" in line for line in shards.verify(folder))
    (folder / "tokenizer.zeton").unlink()
    with pytest.raises(zeton.errors.MissingFileError):
        _ = shards.open(folder).tokenizer
    assert shards.verify(folder) == [f"{folder / 'tokenizer.zeton'} is missing"]


def test_a_place_that_is_not_there_is_a_zeton_error(folder: Path) -> None:
    reader = shards.open(folder)
    wrongs = [(reader.text, 10**6), (reader.text, -2), (reader.tokens.__getitem__, 99)]
    for read, place in wrongs:
        with pytest.raises(zeton.Error, match=r"is not there; there (is|are) ") as error:
            read(place)
        assert isinstance(error.value, IndexError)


def test_windows_larger_than_the_shards_are_refused(folder: Path) -> None:
    with pytest.raises(ShardError, match="no window of 1,000,000,000 tokens fits into"):
        Windows(shards.open(folder), length=10**9)


def test_batches_say_which_number_is_wrong(folder: Path) -> None:
    windows = Windows(shards.open(folder), length=2)
    with pytest.raises(ShardError, match="batch_size is 0; it must be at least 1"):
        Batches(windows, batch_size=0)
    with pytest.raises(ShardError, match="rank is 2 of 2 ranks; ranks go from 0 to 1"):
        Batches(windows, batch_size=1, rank=2, ranks=2)


def test_names_that_are_nearly_right_get_a_suggestion(tok: zeton.Tokenizer, folder: Path) -> None:
    corpus, out = [folder.parent / "a.txt"], folder.parent / "new"
    with pytest.raises(SpecialError, match=r"no special of the tokenizer; the only one known is"):
        shards.write(corpus, tokenizer=tok, out=out, eos="eos")
    with pytest.raises(SpecialError, match=r"did you mean '<\|endoftext\|>'\?"):
        shards.write(corpus, tokenizer=tok, out=out, eos="<|endoftxt|>")
    with pytest.raises(ShardError, match=r"format is 'numpy'; did you mean 'npy'\?"):
        shards.write(corpus, tokenizer=tok, out=out, format="numpy")
    with pytest.raises(ShardError, match=r"did you mean 'chatml'\?"):
        shards.write(corpus, tokenizer=tok, out=out, chat="chatlm")
    with pytest.raises(ShardError, match=r"has no split 'trian'; did you mean 'train'\?"):
        shards.open(folder, split="trian")
