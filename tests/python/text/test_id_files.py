"""Files of text and files of ids."""

import gzip
from pathlib import Path

import numpy as np
import pytest

import zeton

TOK = zeton.pretrained("cl100k_base")
SMALL = zeton.pretrained("gpt2")
TEXT = "naïve 中文 text 1234\n" * 3000


@pytest.mark.parametrize("name", ["ids.bin", "ids.npy"])
@pytest.mark.parametrize("tok", [TOK, SMALL])
def test_a_file_goes_there_and_back(tok: zeton.Tokenizer, name: str, tmp_path: Path) -> None:
    source, target, back = tmp_path / "a.txt", tmp_path / name, tmp_path / "back.txt"
    source.write_text(TEXT)
    ids = tok.encode(TEXT)
    assert tok.encode_file(source, target=target) == len(ids)
    dtype = np.uint16 if tok is SMALL else np.uint32
    read = np.load(target) if name.endswith("npy") else np.fromfile(target, dtype)
    assert read.dtype == dtype
    assert read.tolist() == ids
    assert tok.decode_file(target, target=back) == len(TEXT.encode())
    assert back.read_text() == TEXT
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["a.txt", name, "back.txt"])


def test_a_file_is_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zeton.text.id_files.READ_BYTES", 1001)
    monkeypatch.setattr("zeton.text.id_files.READ_IDS", 333)
    source, target, back = tmp_path / "a.txt", tmp_path / "ids.npy", tmp_path / "back.txt"
    source.write_bytes(TEXT.encode() + b"\xff<|endoftext|>\xe4")
    TOK.encode_file(source, target=target, allowed_special="all")
    assert np.load(target).tolist() == TOK.encode(source.read_bytes(), allowed_special="all")
    TOK.decode_file(target, target=back)
    assert back.read_bytes() == source.read_bytes()


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(TEXT.encode()))
    assert TOK.encode_file(tmp_path / "a.txt.gz", target=tmp_path / "ids.bin") == TOK.count(TEXT)


def test_refuses_what_has_no_room_or_is_no_file_of_ids(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(zeton.errors.ArgumentError, match="do not fit uint16; give dtype='uint32'"):
        TOK.encode_file(tmp_path / "a.txt", target=tmp_path / "b", dtype="uint16")
    with pytest.raises(zeton.errors.FormatError, match="ends inside a number"):
        TOK.decode_file(tmp_path / "a.txt", target=tmp_path / "b")
    np.save(tmp_path / "c.npy", np.zeros((2, 2)))
    with pytest.raises(zeton.errors.FormatError, match="shape"):
        TOK.decode_file(tmp_path / "c.npy", target=tmp_path / "b")
    TOK.encode_file(tmp_path / "a.txt", target=tmp_path / "cut.npy")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "cut.npy").read_bytes()[:-4])
    with pytest.raises(zeton.errors.FormatError, match="has 0 ids where it says 1"):
        TOK.decode_file(tmp_path / "cut.npy", target=tmp_path / "b")
    with pytest.raises(zeton.errors.MissingFileError):
        TOK.encode_file(tmp_path / "none", target=tmp_path / "b")
    with pytest.raises(
        zeton.errors.FileError, match="is both source and target; give another target"
    ):
        TOK.encode_file(tmp_path / "a.txt", target=tmp_path / "." / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "a"
    assert not (tmp_path / "b").exists()
