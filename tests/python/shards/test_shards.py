"""Shards hold the ids of every text, in order, whatever the files, units and threads."""

import gzip
import hashlib
import json
import lzma
import os
import pickle
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

import zeton
from zeton import corpus as corpora
from zeton import shards
from zeton.corpus.formats import text as plain_text
from zeton.errors import CorpusError, ShardError, SpecialError
from zeton.shards import arrange, inputs, texts, work, writing
from zeton.shards import options as options_of
from zeton.shards.options import Options
from zeton.shards.order import permutation

pytestmark = pytest.mark.usefixtures("small_shards")

END = "<|end|>"


@pytest.fixture(scope="module")
def tok() -> zeton.Tokenizer:
    return zeton.train(
        [story(seed, 3000) for seed in range(20)], vocab_size=320, specials=[END, "<|bos|>"]
    )


@pytest.fixture(autouse=True)
def _fast_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave to the system when it writes: no test here pulls the plug."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _: None)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrange so few tokens at a time that texts go from piece to piece."""
    monkeypatch.setattr(arrange, "PIECE_TOKENS", 1 << 6)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Units, looks and parts so small that a few kilobytes are many."""
    monkeypatch.setattr(inputs, "UNIT_BYTES", 1 << 10)
    monkeypatch.setattr(plain_text, "LOOK_BYTES", 1 << 6)
    monkeypatch.setattr(plain_text, "READ_BYTES", 1 << 9)
    monkeypatch.setattr(texts, "HEAD_BYTES", 1 << 8)
    monkeypatch.setattr(work, "HEAD_BYTES", 1 << 8)
    monkeypatch.setattr(work, "ALONE_BYTES", 1 << 8)
    monkeypatch.setattr(work, "HELD_TOKENS", 1 << 9)


def story(seed: int, size: int) -> str:
    chance = random.Random(seed)
    words = ["low", "lower", "newest", "wide ", "été", "中文", "12345", "\n", "!?", "don't", "😀"]
    words += [f"{chance.randrange(9999):x}" for _ in range(20)]
    return " ".join(chance.choice(words) for _ in range(size // 3))[:size]


def stories(count: int, size: int = 300) -> list[str]:
    return [story(seed, random.Random(seed).randrange(size)) for seed in range(count)]


def lines(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(out: Path, split: str = "train") -> list[list[int]]:
    return [text.tolist() for text in shards.open(out, split=split)]


def test_a_plain_file_is_one_text(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("low lower")
    made = shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out")
    assert read(tmp_path / "out") == [tok.encode("low lower")]
    assert (made.texts, made.dtype, made.format) == (1, "<u2", "bin")


@pytest.mark.usefixtures("small")
def test_a_long_text_is_cut_into_units_and_has_the_ids_of_the_whole(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    text = story(1, 50_000)
    (tmp_path / "a.txt").write_text(text)
    units = inputs.plan([tmp_path / "a.txt"], work.cutter(tok, Options()), tmp_path / "out").units
    assert len(units) > 30
    shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out", bos="<|bos|>", eos=END)
    assert read(tmp_path / "out") == [tok.encode(text, prepend="<|bos|>", append=END)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", ["\x1e", "<|endoftext|>", "|-"])
def test_texts_end_where_they_are_said_to(tok: zeton.Tokenizer, tmp_path: Path, end: str) -> None:
    given = [*stories(60), "", story(9, 5000), "", *stories(30)]
    for name, content in {"a.txt": end.join(given) + end, "b.txt": end.join(given)}.items():
        (tmp_path / name).write_text(content)
        with gzip.open(tmp_path / f"{name}.gz", "wb") as file:
            file.write(content.encode())
        for path in (tmp_path / name, tmp_path / f"{name}.gz"):
            out = tmp_path / f"{path.name}.out"
            shards.write([path], tokenizer=tok, out=out, texts_end_with=end)
            assert read(out) == [tok.encode(text) for text in given], path.name


@pytest.fixture
def tiny(small: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - it sets the rest.
    """Units so small that their edges meet texts and ends at every place."""
    monkeypatch.setattr(inputs, "UNIT_BYTES", 1 << 5)
    monkeypatch.setattr(plain_text, "LOOK_BYTES", 1 << 3)


@pytest.mark.usefixtures("tiny")
@settings(max_examples=100)
@given(
    content=st.text("ab \n\x1e中'1", max_size=200).map(lambda text: text * 3),
    end=st.sampled_from(["\x1e", "ab", "b\x1e", "a 1", "b a1 a"]),
)
def test_any_content_falls_into_the_texts_that_splitting_it_gives(
    tok: zeton.Tokenizer, tmp_path_factory: pytest.TempPathFactory, content: str, end: str
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / "a.txt").write_text(content + "x")
    expected = (content + "x").split(end)
    shards.write([folder / "a.txt"], tokenizer=tok, out=folder / "out", texts_end_with=end, eos=END)
    assert read(folder / "out") == [tok.encode(text, append=END) for text in expected]


@pytest.mark.usefixtures("tiny")
def test_no_cut_goes_through_an_end(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    """Between a letter and a space a text may be cut, but not where they are in an end."""
    path = tmp_path / "a.txt"
    for before in range(20, 40):
        path.write_text("x" * before + "a b" + "y" * 60)
        shards.write(
            [path], tokenizer=tok, out=tmp_path / "out", texts_end_with="a b", restart=True
        )
        assert read(tmp_path / "out") == [tok.encode("x" * before), tok.encode("y" * 60)]


def test_an_end_that_can_overlap_itself_is_refused(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(ShardError, match="can overlap itself"):
        shards.write([tmp_path], tokenizer=tok, out=tmp_path / "out", texts_end_with="\n\n")


@pytest.mark.usefixtures("small")
def test_every_kind_of_file_is_read_in_order(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    given = stories(40)
    rows = [{"body": text} for text in given]
    content = lines(tmp_path / "b.jsonl", rows).read_bytes()
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(content)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(content))
    (folder / "c.jsonl.zst").write_bytes(zstandard.compress(content))
    (folder / "d.jsonl.xz").write_bytes(lzma.compress(content))
    pq.write_table(pa.table({"body": given}), folder / "e.parquet", row_group_size=7)
    (folder / "f.txt").write_text("the end")
    for paths in ([folder], [str(folder / "*")], sorted(folder.iterdir())):
        shards.write(paths, tokenizer=tok, out=tmp_path / "out", field="body", restart=True)
        expected = [tok.encode(text) for text in [*given * 5, "the end"]]
        assert read(tmp_path / "out") == expected


@pytest.mark.usefixtures("small")
def test_threads_do_not_change_a_byte(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in stories(100)])
    for threads in (1, 3):
        shards.write(
            [path], tokenizer=tok, out=tmp_path / str(threads), threads=threads, shard_size=500
        )
    assert contents(tmp_path / "1") == contents(tmp_path / "3")


def contents(out: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in out.iterdir()}


def test_a_large_vocabulary_takes_four_bytes_an_id(tmp_path: Path) -> None:
    tok = zeton.pretrained("cl100k_base")
    (tmp_path / "a.txt").write_text("naïve café, 12345")
    made = shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out")
    assert made.dtype == "<u4"
    assert read(tmp_path / "out") == [tok.encode("naïve café, 12345")]


def test_a_shard_has_just_the_stated_size(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in stories(100)])
    made = shards.write([path], tokenizer=tok, out=tmp_path / "out", shard_size=512)
    sizes = [shard["tokens"] for shard in made.splits["train"]["shards"]]
    assert set(sizes[:-1]) == {512}
    assert 0 < sizes[-1] <= 512
    assert sum(sizes) == made.tokens == sum(len(tok.encode(text)) for text in stories(100))
    assert sum(shard["texts"] for shard in made.splits["train"]["shards"]) == 100
    assert read(tmp_path / "out") == [tok.encode(text) for text in stories(100)]


@pytest.mark.parametrize("layout", ["bin", "npy", "llmc", "megatron", "parquet"])
def test_every_format_holds_the_same_texts(
    tok: zeton.Tokenizer,
    tmp_path: Path,
    layout: str,
) -> None:
    given = ["", *stories(100), ""]
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in given])
    for size in (10**8, 700, 70):
        shards.write(
            [path],
            tokenizer=tok,
            out=tmp_path / "out",
            format=layout,
            shard_size=size,
            restart=True,
        )
        assert read(tmp_path / "out") == [tok.encode(text) for text in given]
        assert shards.verify(tmp_path / "out") == []


def test_a_special_in_a_text_is_text_unless_asked_for(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"low{END}lower")
    for name, specials in {"none": None, "all": "all", "one": [END]}.items():
        shards.write(
            [tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / name, allowed_special=specials
        )
        assert read(tmp_path / name) == [tok.encode(f"low{END}lower", allowed_special=specials)]


@pytest.mark.usefixtures("small")
def test_a_text_with_specials_is_never_cut(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    text = END.join(stories(100))
    (tmp_path / "a.txt").write_text(text)
    shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out", allowed_special="all")
    assert read(tmp_path / "out") == [tok.encode(text, allowed_special="all")]


def test_validation_depends_on_the_text_alone(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    given = sorted(set(stories(300)))
    shards.write(
        [lines(tmp_path / "a.jsonl", [{"text": text} for text in given])],
        tokenizer=tok,
        out=tmp_path / "a",
        validation=0.2,
    )
    (tmp_path / "b.txt").write_text("\x1e".join(["another", *reversed(given)]))
    shards.write(
        [tmp_path / "b.txt"],
        tokenizer=tok,
        out=tmp_path / "b",
        validation=0.2,
        texts_end_with=b"\x1e",
    )
    chosen = read(tmp_path / "a", "val")
    assert 30 < len(chosen) < 90
    assert len(chosen) + len(read(tmp_path / "a")) == len(given)
    others = read(tmp_path / "b", "val")
    assert [text for text in reversed(others) if text != tok.encode("another")] == chosen
    shards.write(
        [tmp_path / "a.jsonl"], tokenizer=tok, out=tmp_path / "c", validation=0.2, validation_seed=1
    )
    assert read(tmp_path / "c", "val") != chosen


def test_validation_is_by_the_stated_hash(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    given = stories(200)
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in given])
    shards.write([path], tokenizer=tok, out=tmp_path / "out", validation=0.3, validation_seed=5)

    def share(text: str) -> float:
        key = (5).to_bytes(8, "little")
        digest = hashlib.blake2b(text.encode()[: 1 << 16], digest_size=8, key=key).digest()
        return int.from_bytes(digest, "little") / 2**64

    expected = [tok.encode(text) for text in given if share(text) < 0.3]
    assert read(tmp_path / "out", "val") == expected


@pytest.mark.usefixtures("small")
def test_a_text_that_is_cut_stays_in_one_split(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    given = [story(seed, 100 + seed * 37) for seed in range(150)]
    plain, packed = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_text("\x1e".join(given))
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    for path in (plain, packed):
        out = tmp_path / f"{path.name}.out"
        shards.write([path], tokenizer=tok, out=out, validation=0.4, texts_end_with="\x1e", eos=END)
        both = read(out), read(out, "val")
        expected = [tok.encode(text, append=END) for text in given]
        assert sorted(both[0] + both[1]) == sorted(expected)
        assert [text for text in expected if text in both[1]] == both[1]
        if path == packed:
            assert both == (read(tmp_path / "a.txt.out"), read(tmp_path / "a.txt.out", "val"))


def test_a_shuffle_is_a_permutation_that_a_seed_repeats(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    given = stories(200)
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in given])
    for name, seed in {"one": 1, "again": 1, "two": 2}.items():
        shards.write([path], tokenizer=tok, out=tmp_path / name, shuffle=seed, shard_size=300)
    order = permutation(200, 1).tolist()
    assert sorted(order) == list(range(200))
    assert read(tmp_path / "one") == [tok.encode(given[at]) for at in order]
    assert contents(tmp_path / "one") == contents(tmp_path / "again")
    assert read(tmp_path / "two") != read(tmp_path / "one")


def test_the_order_of_a_seed_never_changes() -> None:
    """By SplitMix64 in Python's own integers."""

    def mix(value: int) -> int:
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
        return value ^ (value >> 31)

    step = 0x9E3779B97F4A7C15
    for seed, stream in ((0, 0), (7, 1), (2**64 - 1, 3)):
        start = mix(((seed ^ mix((stream + step) % 2**64)) + step) % 2**64)
        keys = [mix((start + step * at) % 2**64) for at in range(1, 1001)]
        expected = sorted(range(1000), key=lambda at: keys[at])
        assert permutation(1000, seed, stream).tolist() == expected


@pytest.mark.parametrize("layout", ["bin", "megatron", "parquet"])
@pytest.mark.parametrize("shuffle", [None, 3])
def test_packed_rows_are_the_texts_one_after_the_other(
    tok: zeton.Tokenizer,
    tmp_path: Path,
    layout: str,
    shuffle: int | None,
) -> None:
    given = ["", *stories(100)]
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in given])
    out = tmp_path / "out"
    made = shards.write(
        [path],
        tokenizer=tok,
        out=out,
        pack=64,
        eos=END,
        shuffle=shuffle,
        shard_size=1000,
        format=layout,
    )
    order = range(101) if shuffle is None else permutation(101, shuffle)
    ids = [each for at in order for each in tok.encode(given[at], append=END)]
    reader = shards.open(out)
    assert reader.rows == len(ids) // 64
    assert made.splits["train"]["dropped"] == len(ids) % 64
    rows = [reader.row(at).tolist() for at in range(reader.rows)]
    assert [each for row in rows for each in row] == ids[: len(ids) // 64 * 64]
    assert {shard["tokens"] % 64 for shard in made.splits["train"]["shards"]} == {0}
    for at, row in enumerate(rows):
        after_ends = [place + 1 for place, each in enumerate(row) if each == tok.specials[END]]
        assert reader.borders(at).tolist() == sorted({0, *after_ends, 64})
    assert shards.verify(out) == []


def test_a_text_of_which_nothing_is_in_a_row_is_not_there(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in ("....", "\n\n\n\n", "?")])
    ids = [each for text in ("....", "\n\n\n\n") for each in tok.encode(text, append=END)]
    made = shards.write([path], tokenizer=tok, out=tmp_path / "out", pack=len(ids), eos=END)
    assert (made.texts, made.tokens, made.splits["train"]["dropped"]) == (2, len(ids), 2)
    assert shards.open(tmp_path / "out").starts.tolist()[-1] == len(ids)


def test_with_padding_a_text_that_fits_a_row_is_in_one(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    given = [*stories(100), story(5, 2000), ""]
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in given])
    shards.write([path], tokenizer=tok, out=tmp_path / "out", pack=80, pad=END, shard_size=800)
    reader = shards.open(tmp_path / "out")
    ids = [tok.encode(text) for text in given]
    assert [text.tolist() for text in reader] == ids
    for number, text in enumerate(ids):
        start, stop = reader.span(number)
        assert start // 80 == max(stop - 1, start) // 80 or (len(text) > 80 and start % 80 == 0)
    padding = np.ones(len(reader.tokens), bool)
    for number in range(len(reader)):
        padding[slice(*reader.span(number))] = False
    assert set(reader.tokens[:][padding].tolist()) == {tok.specials[END]}
    edges = {edge for number in range(len(reader)) for edge in reader.span(number)}
    for row in range(reader.rows):
        inside = {edge - 80 * row for edge in edges if 80 * row <= edge <= 80 * (row + 1)}
        assert reader.borders(row).tolist() == sorted({0, 80} | inside)
    assert shards.verify(tmp_path / "out") == []


@pytest.mark.parametrize("layout", ["bin", "parquet", "megatron"])
def test_chats_become_ids_and_a_mask(
    tmp_path: Path,
    layout: str,
) -> None:
    template = zeton.chat.CHATML
    tok = zeton.train([story(1, 3000)], vocab_size=300, specials=template.specials)
    chats = [
        [{"role": "user", "content": text}, {"role": "assistant", "content": text[::-1]}]
        for text in stories(40)
    ]
    rows = [{"messages": chat} for chat in chats[:20]] + chats[20:]
    path = lines(tmp_path / "a.jsonl", rows)
    for options in ({}, {"shuffle": 4}, {"pack": 50, "pad": 0}, {"validation": 0.1}):
        out = tmp_path / "out"
        shards.write(
            [path],
            tokenizer=tok,
            out=out,
            chat="chatml",
            shard_size=900,
            format=layout,
            restart=True,
            **options,
        )
        found = []
        for split in shards.open(out).manifest.splits:
            reader = shards.open(out, split=split)
            found += [
                (reader.text(at).tolist(), reader.text_mask(at).tolist())
                for at in range(len(reader))
            ]
        expected = [tuple(template.render(chat, tokenizer=tok)[:2]) for chat in chats]
        assert sorted(found) == sorted(expected)
        assert shards.verify(out) == []
        if not options:
            assert found == expected


def test_what_is_no_chat_is_refused_with_its_line_or_skipped(tmp_path: Path) -> None:
    tok = zeton.train([story(1, 3000)], vocab_size=300, specials=zeton.chat.CHATML.specials)
    good = [{"role": "user", "content": "low"}]
    path = lines(tmp_path / "a.jsonl", [good, {"text": "low"}, [{"role": "cat", "content": ""}]])
    with pytest.raises(CorpusError, match=r"a.jsonl, line 2 has no field 'messages'"):
        shards.write([path], tokenizer=tok, out=tmp_path / "out", chat="chatml")
    made = shards.write(
        [path], tokenizer=tok, out=tmp_path / "out2", chat="chatml", on_error="skip", on_warning=str
    )
    assert made.texts == 1
    assert made.skipped["lines"] == 2
    with pytest.raises(ShardError, match="chats are JSON lines"):
        shards.write([__file__], tokenizer=tok, out=tmp_path / "out3", chat="chatml")


@pytest.mark.usefixtures("small")
def test_what_cannot_be_read_is_refused_or_skipped_and_counted(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    given = stories(80)
    path = lines(tmp_path / "a.jsonl", [{"text": text} for text in given])
    content = path.read_text().splitlines()
    content[7:7] = ["{", ""]
    content[40:40] = ['{"other": 1}']
    path.write_text("\n".join(content))
    with pytest.raises(CorpusError, match=r"a.jsonl, line 8 is not JSON"):
        shards.write([path], tokenizer=tok, out=tmp_path / "out")
    said: list[str] = []
    made = shards.write(
        [path], tokenizer=tok, out=tmp_path / "out2", on_error="skip", on_warning=said.append
    )
    assert read(tmp_path / "out2") == [tok.encode(text) for text in given]
    assert made.skipped["lines"] == 2
    assert said == [f"skipped 2 lines; first: {path}, line 8 {made.skipped['examples'][0][1]}"]


@pytest.mark.parametrize("validation", [0.0, 0.5])
@pytest.mark.parametrize("part", [1 << 10, 1 << 22])
def test_whole_texts_before_damage_stay_and_the_broken_one_does_not(
    tok: zeton.Tokenizer,
    tmp_path: Path,
    part: int,
    validation: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plain_text, "READ_BYTES", part)
    given = [*stories(9), story(1, 400_000)]
    packed = gzip.compress("\x1e".join(given).encode())
    path = tmp_path / "a.txt.gz"
    path.write_bytes(packed[: len(packed) // 2])
    (tmp_path / "b.txt").write_text("low")
    paths, options = [path, tmp_path / "b.txt"], {"texts_end_with": "\x1e", "eos": END}
    with pytest.raises(zeton.errors.FileError):
        shards.write(paths, tokenizer=tok, out=tmp_path / "out", **options)  # type: ignore[arg-type]
    said: list[str] = []
    made = shards.write(
        paths,
        tokenizer=tok,
        out=tmp_path / "out2",
        on_error="skip",
        on_warning=said.append,
        validation=validation,
        **options,  # type: ignore[arg-type]
    )
    found = read(tmp_path / "out2") + (read(tmp_path / "out2", "val") if validation else [])
    expected = [tok.encode(text, append=END) for text in [*given[:9], "low"]]
    assert sorted(found) == sorted(expected)
    assert [entry["texts"] for entry in made.inputs] == [9, 1]
    assert sum(entry["tokens"] for entry in made.inputs) == made.tokens == sum(map(len, found))
    assert made.inputs[0]["bytes"] == sum(len(text.encode()) for text in given[:9])
    assert shards.verify(tmp_path / "out2") == []
    assert "skipped 1 file" in said[0]


def test_files_that_are_given_twice_and_rows_that_stay_empty_are_remarked(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("low")
    said: list[str] = []
    shards.write([path, tmp_path], tokenizer=tok, out=tmp_path / "out", on_warning=said.append)
    assert said == [f"1 file is listed more than once: {path} counts 2 times"]
    said.clear()
    count = len(tok.encode("low"))
    shards.write([path], tokenizer=tok, out=tmp_path / "packed", on_warning=said.append, pack=100)
    what = f"{count} tokens of train do not fill one row of 100"
    assert said == [f"{what}, and are dropped; give a pad or shorter rows"]


def test_a_path_is_the_same_however_it_is_written(
    tok: zeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c2").mkdir()
    (tmp_path / "c2" / "a.txt").write_text("low")
    monkeypatch.chdir(tmp_path)
    for path in ("c2", "./c2", "c2/", "c2/../c2", Path("c2")):
        made = shards.write([path], tokenizer=tok, out="out", on_warning=str)
        assert [(entry["path"], entry["source"]) for entry in made.inputs] == [("c2/a.txt", "c2")]
    for out in ("c2", "./c2/", tmp_path / "c2"):
        with pytest.raises(ShardError, match="c2 is both the corpus and the folder for shards"):
            shards.write(["c2"], tokenizer=tok, out=out)


def test_the_manifest_says_what_was_made_of_what(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("one", "two"):
        (tmp_path / "a" / f"{name}.txt").write_text(story(1, 500))
    path = lines(tmp_path / "b.jsonl", [{"text": text} for text in stories(10)])
    made = shards.write([tmp_path / "a", path], tokenizer=tok, out=tmp_path / "out")
    assert made.tokenizer["sha256"] == tok.digest
    for told in made.files():
        content = (tmp_path / "out" / told["file"]).read_bytes()
        assert told["bytes"] == len(content)
        assert told["sha256"] == hashlib.sha256(content).hexdigest()
    sources = made.sources()
    assert sources[str(tmp_path / "a")] == {
        "files": 2,
        "texts": 2,
        "tokens": 2 * len(tok.encode(story(1, 500))),
        "bytes": 2 * len(story(1, 500).encode()),
    }
    assert sources[str(path)]["texts"] == 10
    assert sources[str(path)]["bytes"] == sum(len(text.encode()) for text in stories(10))
    assert sum(of["tokens"] for of in sources.values()) == made.tokens
    assert shards.Manifest.read(tmp_path / "out") == made


@pytest.mark.usefixtures("small")
def test_a_unit_that_is_too_large_for_memory_goes_through_a_file(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(story(1, 20_000).encode()))
    [unit] = inputs.plan([path], lambda _: 0, tmp_path / "out").units
    encoded = work.Job(tok, Options(), "<u2", 1, str(tmp_path))(unit)
    assert [Path(name).stat().st_size for name in encoded.spilled] == [2 * len(encoded.ids)]
    assert encoded.ids.tolist() == tok.encode(story(1, 20_000))
    shards.write([path], tokenizer=tok, out=tmp_path / "out")
    assert sorted(contents(tmp_path / "out")) == [
        "manifest.json",
        "tokenizer.zeton",
        "train_000000.bin",
        "train_index.npy",
    ]


@pytest.mark.usefixtures("small")
def test_what_other_processes_made_may_be_read_only(
    tok: zeton.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("\x1e".join(stories(50, 900)))

    def run(job: work.Job, units: list[corpora.Unit], **_: object) -> Iterator[tuple[int, Any]]:
        for number, unit in enumerate(units):
            encoded = copied(copied(job)(copied(unit)))
            for array in (encoded.ids, encoded.lengths, encoded.held_out):
                array.flags.writeable = False
            yield number, encoded

    options: dict[str, Any] = {"validation": 0.3, "texts_end_with": "\x1e", "shuffle": 1}
    shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "here", **options)
    monkeypatch.setattr(writing, "run_units", run)
    shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "there", **options)
    assert contents(tmp_path / "there") == contents(tmp_path / "here")


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own.


def test_a_unit_is_work_that_another_process_can_do(tok: zeton.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(story(1, 500))
    options = Options()
    units = inputs.plan([tmp_path / "a.txt"], lambda _: 0, tmp_path / "out").units
    job = copied(work.Job(tok, options, "<u2", 1, str(tmp_path)))
    assert copied(job(copied(units[0]))).ids.tolist() == tok.encode(story(1, 500))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"format": "csv"}, "the format is 'csv'; known are 'npy', 'bin'"),
        (
            {"bos": "<|no|>"},
            "bos is '<|no|>', which is no special of the tokenizer; did you mean '<|end|>'?",
        ),
        ({"eos": 320}, "eos is 320; ids go from 0 to 319"),
        (
            {"shard_size": 1023},
            "shard_size is 1,023 tokens, too few for a file; give at least 1,024",
        ),
        ({"shard_size": 0}, "shard_size is 0; it must be at least 1 token"),
        ({"validation": 1.0}, "validation is 1.0; it is a share"),
        ({"pad": 1}, "pad fills rows that are packed"),
        (
            {"pack": 1025, "shard_size": 1024},
            "shard_size is 1,024, less than one row; pack is 1,025",
        ),
        ({"shuffle": -1}, "the seed shuffle is -1"),
        ({"max_tokens": 5}, "max_tokens is for chats"),
        ({"chat": "cats"}, "'cats' is neither a template nor a file of JSON"),
        ({"on_error": "cry"}, "on_error is 'cry'"),
        ({"format": "llmc", "shard_size": 2**31}, "too large for llm.c"),
    ],
)
def test_refuses_options_that_make_no_sense(
    tok: zeton.Tokenizer,
    tmp_path: Path,
    options: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(options_of, "SHARD_TOKENS_MIN", 1024)
    (tmp_path / "a.txt").write_text("low")
    with pytest.raises((ShardError, SpecialError)) as refused:
        shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out", **options)
    assert message in str(refused.value)
    assert not (tmp_path / "out").exists()


def test_a_corpus_without_text_is_refused_and_leaves_nothing(
    tok: zeton.Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text("\n")
    with pytest.raises(ShardError, match="there is no text in 1 file;"):
        shards.write([tmp_path / "a.jsonl"], tokenizer=tok, out=tmp_path / "out")
    (tmp_path / "a.txt").write_text("low")
    shards.write([tmp_path / "a.txt"], tokenizer=tok, out=tmp_path / "out")
