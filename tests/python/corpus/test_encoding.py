"""A corpus that is not UTF-8 is counted, with a warning that names the share and a guess."""

import codecs
from pathlib import Path

import numpy as np
import pytest

import zeton
from zeton import shards

TEXT = "Der Fluß fließt über die Brücke. Ça va très bien, señor. " * 200
CYRILLIC = "Мы читаем длинный русский текст, строка за строкой. " * 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (TEXT.encode("latin-1"), r"\d+ % of a\.txt is not UTF-8; is it Latin-1\?"),
        (CYRILLIC.encode("utf-16"), r"a\.txt starts with the byte order mark of UTF-16"),
        (CYRILLIC.encode("utf-16-le"), r"\d+ % of a\.txt is not UTF-8; is it UTF-16\?"),
        (TEXT.encode("utf-16-le"), r"\d+ % of a\.txt is not UTF-8; is it UTF-16\?"),
        (CYRILLIC.encode("cp1251"), r"\d+ % of a\.txt is not UTF-8; is it a national encoding"),
        ("我们阅读一篇很长的中文文章。".encode("gbk") * 99, r"is it a national encoding"),
        (codecs.BOM_UTF8 + b"low lower", r"a\.txt starts with a byte order mark"),
        (np.random.default_rng(1).bytes(50_000), r"\d+ % of a\.txt is not UTF-8; is it binary\?"),
    ],
)
def test_a_file_that_is_not_utf8_is_named_with_a_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_bytes(content)
    Path("b.txt").write_text(TEXT)
    said: list[str] = []
    counts = zeton.count_files(["a.txt", "b.txt"], on_warning=said.append)
    assert len(said) == 1
    assert pytest.raises(AssertionError, match=message).matches(AssertionError(said[0])), said
    assert counts.corpus_bytes == len(content) + len(TEXT.encode())
    said.clear()
    tok = zeton.train([TEXT], vocab_size=260)
    shards.write(["a.txt", "b.txt"], tokenizer=tok, out="out", on_warning=said.append)
    assert len(said) == 1


def test_a_long_file_is_sampled_and_characters_at_the_edges_are_whole(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "a.txt").write_text(CYRILLIC * 100)
    zeton.count_files([tmp_path / "a.txt"], on_warning=said.append)
    assert said == []
    (tmp_path / "a.txt").write_bytes((CYRILLIC * 100).encode() + TEXT.encode("latin-1") * 30)
    zeton.count_files([tmp_path / "a.txt"], on_warning=said.append)
    assert len(said) == 1


def test_of_many_files_the_first_are_named(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number:02}.txt").write_bytes(TEXT.encode("latin-1"))
    said: list[str] = []
    zeton.count_files([tmp_path], on_warning=said.append)
    assert len(said) == 21
    assert said[-1] == "10 more files are not UTF-8"
