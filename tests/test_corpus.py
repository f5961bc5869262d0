"""Files -> texts: every kind of file, streamed, and what is refused."""

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

import jeton
from conftest import odd_text, patterns
from jeton import corpus

TEXTS = ["the theme of the thesis", "naïve café — 中文", "then\n\nthe end\n"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The same three texts in every kind of file."""
    records = "".join(
        json.dumps({"text": text, "id": at}) + "\n\n" for at, text in enumerate(TEXTS)
    )
    (tmp_path / "plain").mkdir()
    for at, text in enumerate(TEXTS):
        (tmp_path / "plain" / f"{at}.txt").write_bytes(text.encode())
    (tmp_path / "a.jsonl").write_text(records)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(records.encode()))
    frames = [zstandard.compress(half.encode()) for half in (records[:50], records[50:])]
    skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    (tmp_path / "a.jsonl.zst").write_bytes(frames[0] + skipped + frames[1])
    pq.write_table(pa.table({"text": TEXTS, "id": [0, 1, 2]}), tmp_path / "a.parquet")
    return tmp_path


KINDS = ["plain", "a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_trains_the_same(folder: Path, kind: str) -> None:
    expected = jeton.train(TEXTS, 264)
    assert jeton.train_files([folder / kind], 264) == expected
    assert jeton.train_files([folder / kind], 264).made_by == expected.made_by
    assert [text.decode() for _, text in corpus.texts([folder / kind])] == TEXTS


def test_paths_may_be_mixed_and_a_path_may_stand_alone(folder: Path) -> None:
    both = jeton.train_files([folder / "plain", str(folder / "a.jsonl")], 264)
    assert both == jeton.train(TEXTS * 2, 264)
    assert jeton.train_files(str(folder / "plain"), 264) == jeton.train(TEXTS, 264)


def test_a_folder_leaves_out_hidden_and_binary_files(folder: Path) -> None:
    (folder / "plain" / ".hidden").write_text("zzzzzz")
    (folder / "plain" / "image.png").write_bytes(b"\x89PNG\r\n\0\0zzzzzz")
    (folder / "plain" / "a.tar.gz").write_bytes(gzip.compress(b"name\0\0zzzzzz"))
    assert jeton.train_files([folder / "plain"], 264) == jeton.train(TEXTS, 264)


def test_another_field_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"content": "the theme of the thesis"}\n')
    assert jeton.train_files([file], 260, field="content") == jeton.train(TEXTS[:1], 260)
    with pytest.raises(jeton.errors.CorpusError, match=r"line 1 has no field 'text'"):
        jeton.train_files([file], 260)


@given(texts=st.lists(odd_text, min_size=1, max_size=30))
@pytest.mark.parametrize("name", ["gpt2", "nanochat", "o200k"])
def test_a_long_text_in_parts_is_counted_as_a_whole(
    name: str, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("long") / "a.txt"
    whole = "".join(texts) * 3 + "x"
    file.write_bytes(whole.encode())
    pattern = patterns()[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "READ_BYTES", 7)
        found = jeton.train_files([file], 256, pattern=pattern)
    assert found.made_by == jeton.train([whole], 256, pattern=pattern).made_by


def refusal(path: Path) -> str:
    with pytest.raises(jeton.Error) as error:
        jeton.train_files([path], 264)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def test_refuses_what_it_cannot_read(folder: Path) -> None:
    assert refusal(folder / "none.txt").endswith(
        "none.txt is missing; give files or folders of text"
    )
    (folder / "b.jsonl").write_text('{"text": "a"}\n{"text": \n')
    assert "b.jsonl, line 2 is not JSON" in refusal(folder / "b.jsonl")
    (folder / "null.jsonl").write_text('{"text": null}')
    assert "null.jsonl, line 1 has None, not text, in field 'text'" in refusal(
        folder / "null.jsonl"
    )
    (folder / "empty.txt").write_text("")
    assert "there is no text in 1 files" in refusal(folder / "empty.txt")
    (folder / "deep.jsonl").write_text("[" * 100_000)
    assert "deep.jsonl, line 1 is not JSON" in refusal(folder / "deep.jsonl")
    (folder / "b.gz").write_bytes(gzip.compress(b"abc" * 100)[:-9])
    assert "b.gz cannot be read" in refusal(folder / "b.gz")
    damaged = bytearray(gzip.compress(bytes(range(256)) * 9))
    damaged[12] ^= 0xFF
    (folder / "d.gz").write_bytes(damaged)
    assert "d.gz cannot be read" in refusal(folder / "d.gz")
    (folder / "c.gz").write_bytes(b"not gzip")
    assert "c.gz cannot be read" in refusal(folder / "c.gz")
    whole = zstandard.ZstdCompressor(write_checksum=True).compress(b"abc " * 1000)
    for at, content in enumerate([whole[:-5], whole[:-1] + b"\0", b"not zstd", whole + b"junk"]):
        (folder / f"{at}.zst").write_bytes(content)
        assert f"{at}.zst cannot be read" in refusal(folder / f"{at}.zst")
    (folder / "b.parquet").write_bytes(b"not parquet")
    assert "b.parquet cannot be read" in refusal(folder / "b.parquet")
    pq.write_table(pa.table({"text": ["a", None]}), folder / "null.parquet")
    assert "null.parquet, row 2 has None" in refusal(folder / "null.parquet")
    pq.write_table(pa.table({"other": ["a"]}), folder / "c.parquet")
    assert "c.parquet has no column 'text'" in refusal(folder / "c.parquet")


def test_the_standard_library_is_a_corpus() -> None:
    files = corpus.standard_library()
    assert any(file.name == "ast.py" for file in files)
    assert not any("site-packages" in file.parts for file in files)
    assert corpus.size(files) > 5_000_000  # type: ignore[operator]
