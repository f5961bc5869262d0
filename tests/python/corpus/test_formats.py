"""Formats of corpus files: one registry, by suffix and by content."""

import ast
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zeton
from support.paths import ROOT
from zeton import corpus, shards
from zeton.corpus import formats
from zeton.corpus.formats import COMPRESSIONS, FORMATS, Format, Taking, recognise

SUFFIXES = {suffix for each in FORMATS for suffix in each.suffixes}
SUFFIXES |= {each.suffix for each in COMPRESSIONS}
TEXTS = ["low lower", "lowest", "new"]


class Quoted(Format):
    """Texts in single quotes: a format as somebody would add it."""

    name = "quoted text"
    suffixes = (".quoted",)

    def texts(self, path: Path, at: int, stop: int, taking: Taking) -> Iterator[tuple[Any, int]]:
        del taking
        for number, text in enumerate(path.read_text().split("'")[1::2], 1):
            if at < number <= stop:
                yield text, number

    def cuts(self, *_: object) -> Iterator[tuple[int, int]]:
        yield from ()


def test_a_new_format_is_one_class_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formats, "FORMATS", [*FORMATS, Quoted()])
    (tmp_path / "a.quoted").write_text("".join(f"'{text}'\n" for text in TEXTS))
    assert [text for _, text in corpus.texts([tmp_path])] == [text.encode() for text in TEXTS]
    for executor in (None, "local"):
        found = zeton.count_files([tmp_path], executor=executor)
        assert found.most_common(9) == zeton.count_corpus(TEXTS).most_common(9)
    tok = zeton.train_files([tmp_path / "a.quoted"], vocab_size=260)
    shards.write([tmp_path / "a.quoted"], tokenizer=tok, out=tmp_path / "out")
    found_ids = [ids.tolist() for ids in shards.open(tmp_path / "out")]
    assert found_ids == [tok.encode(text) for text in TEXTS]


def test_a_suffix_is_named_in_one_place() -> None:
    places: dict[str, set[str]] = {}
    for path in (ROOT / "python" / "zeton").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and node.value in SUFFIXES:
                places.setdefault(node.value, set()).add(path.parent.name)
    assert places == {suffix: {"formats"} for suffix in SUFFIXES}


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.txt", b"low lower", "text"),
        ("a.txt", b"", "text"),
        ("a.txt", gzip.compress(b"low lower", mtime=0), "gzip-compressed text"),
        ("a", b'{"text": "low"}\n{"text": "lower"}\n', "JSON lines"),
        ("a.json", b'{"text": "low"}', "text"),
        ("a.jsonl", b'{"text": "low"}', "JSON lines"),
        ("a", gzip.compress(b'{"a": 1}\n{"a": 2}', mtime=0), "gzip-compressed JSON lines"),
        ("a", gzip.compress(b"low lower " * 99, mtime=0)[:20], "gzip-compressed text"),
        ("a.txt", b"PAR1....", "Parquet"),
        ("a.txt", b"PK\x03\x04", "a zip file; unpack it with `unzip -p`"),
        ("a.txt", b"{\n{", "text"),
    ],
)
def test_a_file_is_recognised_by_its_content(
    tmp_path: Path, name: str, content: bytes, kind: str
) -> None:
    (tmp_path / name).write_bytes(content)
    found = recognise(tmp_path / name)
    assert str(found) == kind
    assert found.is_plain_text == (kind == "text")


def test_recognising_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(zeton.errors.MissingFileError):
        recognise(tmp_path / "a.txt")


def test_a_compressed_file_by_another_name_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(gzip.compress(b"low lower"))
    with pytest.raises(zeton.errors.CorpusError, match=r"is not text but gzip; name it \*\.gz"):
        zeton.count_files([tmp_path / "a.txt"])


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"texts": "low"}, "has no field 'text'; did you mean 'texts'?"),
        ({"title": "low", "body": "a"}, "has no field 'text'; known are 'title' and 'body'"),
        ({"text": 5}, "has 5, not text, in field 'text'; leave such records out with on_error="),
    ],
)
def test_a_record_without_a_text_names_the_fields_there_are(
    tmp_path: Path, record: dict[str, object], message: str
) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps(record))
    with pytest.raises(zeton.errors.CorpusError) as error:
        zeton.count_files([tmp_path / "a.jsonl"])
    assert f"line 1 {message}" in str(error.value)
