"""Readers written from the formats of others, with nothing of ours, read what we write."""

import hashlib
import json
import struct
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import zeton
from zeton import shards

pytestmark = pytest.mark.usefixtures("small_shards")

TEXTS = ["low lower", "", "newest, widest: naïve 中文", "a", "the end " * 40]
END = 50256


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


def small() -> zeton.Tokenizer:
    return zeton.pretrained("gpt2")


def large() -> zeton.Tokenizer:
    return zeton.pretrained("cl100k_base")


def test_nanogpt_maps_the_bare_ids(corpus: Path, tmp_path: Path) -> None:
    tok = small()
    shards.write([corpus], tokenizer=tok, out=tmp_path / "out", eos=END)
    data = np.memmap(tmp_path / "out" / "train_000000.bin", dtype=np.uint16, mode="r")
    assert data.tolist() == [each for text in TEXTS for each in [*tok.encode(text), END]]


def test_numpy_loads_and_maps_an_array(corpus: Path, tmp_path: Path) -> None:
    for name, tok in {"small": small(), "large": large()}.items():
        out = tmp_path / name
        shards.write([corpus], tokenizer=tok, out=out, format="npy", shard_size=100)
        files = sorted(out.glob("train_0*.npy"))
        assert len(files) == -(-sum(len(tok.encode(text)) for text in TEXTS) // 100)
        ids = np.concatenate([np.load(file, mmap_mode="r") for file in files])
        assert ids.dtype == (np.uint16 if name == "small" else np.uint32)
        assert ids.tolist() == [each for text in TEXTS for each in tok.encode(text)]
        starts = np.load(out / "train_index.npy")
        lengths = [len(tok.encode(text)) for text in TEXTS]
        assert np.diff(starts).tolist() == lengths


def llmc_ids(path: Path) -> list[int]:
    """Read as llm.c's loader does: 1024 bytes of header, whose count must be the file's."""
    content = path.read_bytes()
    header = np.frombuffer(content[:1024], np.int32)
    dtype = {(20240520, 1): np.uint16, (20240801, 7): np.uint32}[int(header[0]), int(header[1])]
    assert not header[3:].any()
    assert len(content) == 1024 + int(header[2]) * np.dtype(dtype).itemsize
    ids = np.frombuffer(content[1024:], dtype)
    assert len(ids) == header[2]
    return list(map(int, ids))


@pytest.mark.parametrize("make", [small, large])
def test_llm_c_reads_header_and_ids(corpus: Path, tmp_path: Path, make: object) -> None:
    tok = small() if make is small else large()
    end = tok.specials["<|endoftext|>"]
    shards.write(
        [corpus], tokenizer=tok, out=tmp_path / "out", format="llmc", bos=end, shard_size=64
    )
    files = sorted((tmp_path / "out").glob("train_*.bin"))
    assert len(files) > 1
    ids = [each for file in files for each in llmc_ids(file)]
    assert ids == [each for text in TEXTS for each in [end, *tok.encode(text)]]


class MegatronReader:
    """Read as Megatron's indexed dataset does."""

    def __init__(self, prefix: Path) -> None:
        with prefix.with_suffix(".idx").open("rb") as file:
            assert file.read(9) == b"MMIDIDX\x00\x00"
            assert struct.unpack("<Q", file.read(8)) == (1,)
            (code,) = struct.unpack("<B", file.read(1))
            dtype = {4: np.int32, 8: np.uint16}[code]
            sequences, documents = struct.unpack("<QQ", file.read(16))
            rest = file.read()
        self.lengths = np.frombuffer(rest, np.int32, sequences)
        self.pointers = np.frombuffer(rest, np.int64, sequences, 4 * sequences)
        self.documents = np.frombuffer(rest, np.int64, documents, 12 * sequences)
        assert len(rest) == 12 * sequences + 8 * documents
        self.dtype = dtype
        self.content = prefix.with_suffix(".bin").read_bytes()

    def __getitem__(self, at: int) -> list[int]:
        count, offset = int(self.lengths[at]), int(self.pointers[at])
        return list(map(int, np.frombuffer(self.content, self.dtype, count, offset)))


@pytest.mark.parametrize("make", [small, large])
def test_megatron_reads_every_text(corpus: Path, tmp_path: Path, make: object) -> None:
    tok = small() if make is small else large()
    end = tok.specials["<|endoftext|>"]
    shards.write(
        [corpus], tokenizer=tok, out=tmp_path / "out", format="megatron", eos=end, shard_size=8
    )
    found = []
    prefixes = sorted((tmp_path / "out").glob("*.idx"))
    assert len(prefixes) > 1
    for prefix in prefixes:
        reader = MegatronReader(prefix.with_suffix(""))
        assert reader.dtype == (np.uint16 if make is small else np.int32)
        assert reader.documents.tolist() == list(range(len(reader.lengths) + 1))
        found += [reader[at] for at in range(len(reader.lengths))]
    assert found == [[*tok.encode(text), end] for text in TEXTS]


def test_megatron_takes_two_bytes_below_65500_ids_and_others_up_to_65536(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    ranks = {bytes([byte]): byte for byte in range(256)}
    for last, megatron, others in (
        (65_498, "<u2", "<u2"),
        (65_499, "<i4", "<u2"),
        (65_535, "<i4", "<u2"),
        (65_536, "<i4", "<u4"),
    ):
        tok = zeton.Tokenizer(ranks, specials={"<|last|>": last})
        for layout, expected in {"megatron": megatron, "bin": others}.items():
            made = shards.write(
                [tmp_path / "a.txt"],
                tokenizer=tok,
                out=tmp_path / "out",
                format=layout,
                eos=last,
                restart=True,
            )
            assert made.dtype == expected, last
            assert shards.open(tmp_path / "out").text(0).tolist() == [97, last]


def test_parquet_has_a_row_a_text(corpus: Path, tmp_path: Path) -> None:
    tok = small()
    shards.write([corpus], tokenizer=tok, out=tmp_path / "out", format="parquet")
    table = pq.read_table(tmp_path / "out" / "train_000000.parquet")
    assert table.column_names == ["input_ids"]
    assert table.column(0).to_pylist() == [tok.encode(text) for text in TEXTS]


def test_the_formats_never_change(corpus: Path, tmp_path: Path) -> None:
    """Changed bytes would make old folders go on wrongly; the manifest's version tells them."""
    tok = zeton.Tokenizer({bytes([byte]): byte for byte in range(256)})
    digest = hashlib.sha256()
    for layout in ("bin", "npy", "llmc", "megatron"):
        shards.write([corpus], tokenizer=tok, out=tmp_path / layout, format=layout, shard_size=50)
        for file in sorted((tmp_path / layout).glob("train*")):
            digest.update(file.name.encode() + file.read_bytes())
    assert digest.hexdigest()[:16] == "b4360b661052d4a9"
