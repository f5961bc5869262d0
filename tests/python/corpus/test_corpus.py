"""Files -> texts: every kind of file, streamed, and what is refused."""

import gzip
import json
import lzma
import os
import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import example, given, settings
from hypothesis import strategies as st

import zeton
from support.strategies import odd_text, patterns
from zeton import corpus
from zeton.corpus import Part, Position, Reader, Skipped
from zeton.corpus.formats import compressed, parquet
from zeton.corpus.formats import text as plain_text
from zeton.errors import CorpusError, FileError, MissingFileError
from zeton.training.count import Counting

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
    (tmp_path / "a.jsonl.xz").write_bytes(lzma.compress(records.encode()))
    pq.write_table(pa.table({"text": TEXTS, "id": [0, 1, 2]}), tmp_path / "a.parquet")
    return tmp_path


KINDS = ["plain", "a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.jsonl.xz", "a.parquet"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_trains_the_same(folder: Path, kind: str) -> None:
    expected = zeton.train(TEXTS, vocab_size=264)
    assert zeton.train_files([folder / kind], vocab_size=264) == expected
    assert zeton.train_files([folder / kind], vocab_size=264).made_by == expected.made_by
    assert [text.decode() for _, text in corpus.texts([folder / kind])] == TEXTS


def test_paths_may_be_mixed_and_a_path_may_stand_alone(folder: Path) -> None:
    both = zeton.train_files([folder / "plain", str(folder / "a.jsonl")], vocab_size=264)
    assert both == zeton.train(TEXTS * 2, vocab_size=264)
    assert zeton.train_files(str(folder / "plain"), vocab_size=264) == zeton.train(
        TEXTS, vocab_size=264
    )


def test_a_glob_stands_for_the_files_it_matches_sorted_and_once(tmp_path: Path) -> None:
    for name in ["b/2.txt", "a/1.txt", "a/deep/3.txt", "0.txt", "0.md", "a/.hidden.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)

    def found(*globs: str) -> list[str]:
        files = corpus.files([tmp_path / one for one in globs])
        return [file.relative_to(tmp_path).as_posix() for file in files]

    assert found("**/*.txt") == ["0.txt", "a/1.txt", "a/deep/3.txt", "b/2.txt"]
    assert found("?/[12].txt") == ["a/1.txt", "b/2.txt"]
    assert found("a*") == ["a/1.txt", "a/deep/3.txt"]
    assert found("a/**") == ["a/1.txt", "a/deep/3.txt"]
    assert found("b/*", "0.*", "b/2.txt") == ["b/2.txt", "0.md", "0.txt", "b/2.txt"]


def test_a_path_that_exists_is_no_glob(tmp_path: Path) -> None:
    for name in ["[1].txt", "1.txt"]:
        (tmp_path / name).write_text(name)
    assert corpus.files([tmp_path / "[1].txt"]) == [tmp_path / "[1].txt"]


def test_refuses_a_glob_that_matches_nothing(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError, match=r"\*\.jsonl matches no file"):
        corpus.files([tmp_path / "*.jsonl"])


def test_refuses_a_folder_that_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "closed").mkdir()

    def scandir(path: str) -> Iterable[os.DirEntry[str]]:
        if path.endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    listed = os.scandir
    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(FileError, match="closed cannot be read: Permission denied"):
        corpus.files([tmp_path])


def test_a_folder_leaves_out_hidden_and_binary_files(folder: Path) -> None:
    (folder / "plain" / ".hidden").write_text("zzzzzz")
    (folder / "plain" / "image.png").write_bytes(b"\x89PNG\r\n\0\0zzzzzz")
    (folder / "plain" / "a.tar.gz").write_bytes(gzip.compress(b"name\0\0zzzzzz"))
    assert zeton.train_files([folder / "plain"], vocab_size=264) == zeton.train(
        TEXTS, vocab_size=264
    )


def test_another_field_may_be_named(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"content": "the theme of the thesis"}\n')
    assert zeton.train_files([file], vocab_size=260, field="content") == zeton.train(
        TEXTS[:1], vocab_size=260
    )
    with pytest.raises(zeton.errors.CorpusError, match=r"line 1 has no field 'text'"):
        zeton.train_files([file], vocab_size=260)


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
        patch.setattr(plain_text, "READ_BYTES", 7)
        found = zeton.train_files([file], vocab_size=256, pattern=pattern, on_warning=str)
    assert found.made_by == zeton.train([whole], vocab_size=256, pattern=pattern).made_by


def refusal(path: Path) -> str:
    with pytest.raises(zeton.Error) as error:
        zeton.train_files([path], vocab_size=264, on_warning=str)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def test_refuses_what_it_cannot_read(folder: Path) -> None:
    assert refusal(folder / "none.txt").endswith(
        "none.txt is missing; give files or folders of text"
    )
    (folder / "b.jsonl").write_text('{"text": "a"}\n{"text": \n')
    assert "b.jsonl, line 2 is not JSON" in refusal(folder / "b.jsonl")
    (folder / "null.jsonl").write_text('{"text": null}')
    assert "null.jsonl, line 1 has null, not text, in field 'text'" in refusal(
        folder / "null.jsonl"
    )
    (folder / "empty.txt").write_text("")
    assert "there is no text in 1 file;" in refusal(folder / "empty.txt")
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
    whole = lzma.compress(b"abc " * 1000)
    broken = whole[:30] + b"\xff" * 9 + whole[39:]
    junk = whole + b"junk of a stream"
    for at, content in enumerate([whole[:-5], broken, b"not xz", junk, whole + broken]):
        (folder / f"{at}.xz").write_bytes(content)
        assert f"{at}.xz cannot be read" in refusal(folder / f"{at}.xz")
    (folder / "b.parquet").write_bytes(b"not parquet")
    assert "b.parquet cannot be read" in refusal(folder / "b.parquet")
    pq.write_table(pa.table({"text": ["a", None]}), folder / "null.parquet")
    assert "null.parquet, row 2 has null" in refusal(folder / "null.parquet")
    values = pa.array([b"a", b"\xff"]).view(pa.string())
    pq.write_table(pa.table({"text": values}), folder / "bytes.parquet")
    assert r"bytes.parquet, row 2 has b'\xff', not text" in refusal(folder / "bytes.parquet")
    pq.write_table(pa.table({"other": ["a"]}), folder / "c.parquet")
    assert "c.parquet has no column 'text'" in refusal(folder / "c.parquet")


def test_the_standard_library_is_a_corpus() -> None:
    files = corpus.standard_library()
    assert any(file.name == "ast.py" for file in files)
    assert not any("site-packages" in file.parts for file in files)
    assert sum(size for _, size, _ in corpus.identity(files)) > 5_000_000


# ---- reading on from a position ----


def after_space(content: bytes) -> int:
    return content.rfind(b" ") + 1


def write(file: Path, texts: list[str]) -> None:
    """Write texts as what the name says: packed in two parts, rows in groups of four."""
    if file.suffix == ".parquet":
        pq.write_table(pa.table({"text": texts}, pa.schema({"text": pa.string()})), file, 4)
        return
    ends = "\r\n", "\n \n", "\n"
    lines = (json.dumps({"text": text}) + ends[at % 3] for at, text in enumerate(texts))
    content = "".join(lines if "json" in file.name else texts).encode()
    halves = content[: len(content) // 2], content[len(content) // 2 :]
    match file.suffix:
        case ".gz":
            content = b"".join(map(gzip.compress, halves))
        case ".xz":
            content = (b"\0" * 8).join(map(lzma.compress, halves))
        case ".zst":
            content = b"".join(map(zstandard.compress, halves))
    file.write_bytes(content)


def content_of(parts: Iterable[Part]) -> dict[int, list[str | bytes]]:
    """Return the texts by file; the parts of a plain one are joined."""
    found: dict[int, list[str | bytes]] = {}
    for text, file, _ in parts:
        if isinstance(text, str):
            found.setdefault(file, []).append(text)
        elif text:
            found[file] = [b"".join([*found.get(file, []), text])]  # type: ignore[list-item]
    return found


@pytest.fixture
def small_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_text, "READ_BYTES", 16)
        patch.setattr(compressed, "STEP_BYTES", 8)
        patch.setattr(parquet, "ROWS", 3)
        yield


ALL_KINDS = ["txt", "txt.gz", "txt.xz", "txt.zst", "parquet", "ndjson"] + [
    f"jsonl{packing}" for packing in ("", ".gz", ".xz", ".zst")
]


@settings(max_examples=30)
@given(texts=st.lists(odd_text, max_size=9))
@example(texts=["the theme of the thesis"] * 9)
@pytest.mark.parametrize("kind", ALL_KINDS)
@pytest.mark.usefixtures("small_steps")
def test_reading_goes_on_from_every_position(
    kind: str, texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("positions")
    files = [folder / f"{at}.{kind}" for at in range(2)]
    write(files[0], texts)
    write(files[1], [text for text in texts if text.isascii()])
    whole = list(Reader(files, cut=after_space))
    rows = texts if "txt" not in kind else ["".join(texts).encode()]
    assert content_of(whole).get(0, []) == [row for row in rows if row != b""]
    for at, part in enumerate(whole):
        rest = Reader(files, cut=after_space, start=part.end)
        assert content_of(rest) == content_of(whole[at + 1 :])


@settings(max_examples=50)
@given(texts=st.lists(odd_text, min_size=1, max_size=9))
@pytest.mark.usefixtures("small_steps")
def test_a_text_that_is_read_on_has_the_pieces_of_the_whole(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = tmp_path_factory.mktemp("pieces") / "a.txt"
    write(file, texts * 3)
    pattern = patterns()["gpt2"]
    cut = Counting(pattern, 1, None).last_safe_cut

    def pieces(texts: list[str | bytes]) -> list[tuple[bytes, int]]:
        return zeton.count_corpus(texts, pattern=pattern).most_common(10**9)

    whole = pieces([file.read_bytes()])
    parts = list(Reader([file], cut=cut))
    for at, part in enumerate(parts):
        both = [*parts[: at + 1], *Reader([file], cut=cut, start=part.end)]
        assert pieces([text for text, *_ in both]) == whole


@pytest.mark.usefixtures("small_steps")
def test_a_text_that_cannot_be_cut_comes_whole(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", ["x" * 1000])
    asked = []

    def never(content: bytes) -> int:
        asked.append(len(content))
        return 0

    parts = list(Reader([tmp_path / "a.txt"], cut=never))
    assert parts == [Part(b"x" * 1000, 0, Position(0, 1000))]
    # Each byte is looked at once, but for the few around the place where one look ended.
    assert asked == [16] + [24] * 61


@pytest.mark.usefixtures("small_steps")
def test_a_file_given_twice_is_read_twice(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ["one", "two"])
    parts = list(Reader([tmp_path / "a.jsonl"] * 2, cut=after_space))
    assert [(part.text, part.file) for part in parts] == [
        ("one", 0),
        ("two", 0),
        ("one", 1),
        ("two", 1),
    ]


def test_an_empty_file_is_an_empty_text(tmp_path: Path) -> None:
    write(tmp_path / "a.txt", [])
    assert list(corpus.texts([tmp_path])) == [(str(tmp_path / "a.txt"), b"")]


@pytest.mark.parametrize("kind", ["txt", "txt.gz", "parquet"])
def test_refuses_to_go_on_after_the_end_of_a_file(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"a.{kind}"
    write(file, ["one"])
    assert list(Reader([file], cut=after_space, start=Position(1, 0))) == []
    with pytest.raises(CorpusError, match="has become shorter"):
        list(Reader([file], cut=after_space, start=Position(0, 100)))
    with pytest.raises(CorpusError, match="is in none of 1 files"):
        Reader([file], cut=after_space, start=Position(2, 0))


def test_a_line_has_its_number_also_when_reading_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"text": "a"}\n\n{"text": "b"}\n\nbad\n')
    second = list(Reader([file], cut=after_space, on_error="skip"))[1].end
    with pytest.raises(CorpusError, match="line 5 is not JSON"):
        list(Reader([file], cut=after_space, start=second))


# ---- what cannot be read ----


BAD_LINES = '{"text": "a"}\n{"text": \n[1]\n{"text": 5}\n{"other": ""}\n{"text": "b"}\n\xff\n'


def test_lines_and_rows_without_text_are_skipped_and_counted(tmp_path: Path) -> None:
    lines, rows = tmp_path / "a.jsonl", tmp_path / "b.parquet"
    lines.write_text(BAD_LINES, "latin-1")
    pq.write_table(pa.table({"text": ["c", None, "d"]}), rows)
    reading = Reader([lines, rows], cut=after_space, on_error="skip")
    counts = [(part.text, reading.skipped.lines) for part in reading]
    assert counts == [("a", 0), ("b", 4), ("c", 5), ("d", 6)]
    assert reading.skipped.files == []
    places = [place for place, _ in reading.skipped.examples]
    assert places == [f"{lines}, line {number}" for number in (2, 3, 4, 5, 7)]
    told = f"skipped 6 lines; first: {lines}, line 2 is not JSON: Expecting value"
    assert str(reading.skipped) == told


def test_what_is_skipped_is_counted_once_when_reading_goes_on(tmp_path: Path) -> None:
    lines, broken = tmp_path / "a.jsonl", tmp_path / "b.gz"
    lines.write_text(BAD_LINES, "latin-1")
    broken.write_bytes(b"not gzip")
    files = [lines, broken, lines]
    whole = Reader(files, cut=after_space, on_error="skip")
    parts = list(whole)
    for stop, part in enumerate(parts):
        first = Reader(files, cut=after_space, on_error="skip")
        assert list(islice(first, stop + 1)) == parts[: stop + 1]
        second = Reader(
            files, cut=after_space, on_error="skip", start=part.end, skipped=first.skipped
        )
        assert list(second) == parts[stop + 1 :]
        assert second.skipped == whole.skipped


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("kind", ["txt.gz", "txt.xz", "txt.zst", "jsonl.gz", "jsonl.xz", "parquet"])
def test_a_damaged_file_is_skipped_from_the_damage_on(kind: str, tmp_path: Path) -> None:
    texts = [f"{number} is a number " for number in range(200)]
    damaged, sound = tmp_path / f"a.{kind}", tmp_path / f"b.{kind}"
    write(damaged, texts)
    write(sound, texts)
    whole = content_of(Reader([sound], cut=after_space))[0]
    content = bytearray(damaged.read_bytes())
    at = len(content) * (1 if kind == "parquet" else 2) // 3  # The last third is the footer.
    content[at : at + 40] = b"\xff" * 40
    damaged.write_bytes(content)

    reading = Reader([damaged, sound], cut=after_space, on_error="skip")
    parts = list(reading)
    found = content_of(parts)
    assert found[1] == whole
    assert 0 < sum(map(len, found[0])) < sum(map(len, whole))
    assert [name for name, _ in reading.skipped.files] == [str(damaged)]
    done = [end.at for _, file, end in parts if file == 0][-1]
    unit = "rows" if kind == "parquet" else "bytes"
    assert reading.skipped.files[0][1].startswith("cannot be read: ")
    assert reading.skipped.files[0][1].endswith(f"; its first {done} {unit} stay")
    assert " 1 file; first: " in str(reading.skipped)
    for stop in range(0, len(parts), 7):
        second = Reader([damaged, sound], cut=after_space, start=parts[stop].end, on_error="skip")
        assert content_of(second) == content_of(parts[stop + 1 :])
    with pytest.raises((FileError, CorpusError), match=re.escape(str(damaged))):
        list(Reader([damaged], cut=after_space))


def test_a_text_that_breaks_off_is_kept_up_to_there(tmp_path: Path) -> None:
    whole = bytes(range(256)) * 9
    (tmp_path / "a.gz").write_bytes(gzip.compress(whole)[:-8])  # All but its checksum.
    reading = Reader([tmp_path / "a.gz"], cut=after_space, on_error="skip")
    assert list(reading) == [Part(whole, 0, Position(0, len(whole)))]
    assert len(reading.skipped.files) == 1


def test_groups_of_rows_that_are_done_are_not_read_again(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    write(file, [f"text {number}" for number in range(8)])
    content = file.read_bytes()
    file.write_bytes(content[:4] + b"\xff" * 20 + content[24:])
    with pytest.raises(FileError, match="cannot be read"):
        list(Reader([file], cut=after_space))
    rest = Reader([file], cut=after_space, start=Position(0, 5))
    assert [part.text for part in rest] == ["text 5", "text 6", "text 7"]


def test_no_damage_to_parquet_loses_rows_without_a_word(tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    write(file, ["the", "theme", "of", "the", "thesis", "is", "this"])
    content = file.read_bytes()
    for at, byte in enumerate(content):
        file.write_bytes(content[:at] + bytes([byte ^ 1 << at % 8]) + content[at + 1 :])
        reading = Reader([file], cut=after_space, on_error="skip")
        read = sum(1 for _ in reading)
        assert reading.skipped.files or read + reading.skipped.lines == 7


def test_whole_files_that_cannot_be_read_are_skipped_and_named(folder: Path) -> None:
    (folder / "b.parquet").write_bytes(b"not parquet")
    pq.write_table(pa.table({"other": ["a"]}), folder / "c.parquet")
    (folder / "d.gz").write_bytes(b"not gzip")
    files = [*corpus.files([folder]), folder / "gone.txt"]
    assert folder / "d.gz" in files
    reading = Reader(files, cut=after_space, on_error="skip")
    assert sum(1 for _ in reading) == len(KINDS) * len(TEXTS)
    assert [(Path(name).name, reason) for name, reason in reading.skipped.files[1:]] == [
        ("c.parquet", "has no column 'text'; the only one known is 'other'"),
        ("d.gz", "cannot be read: Not a gzipped file (b'no')"),
        ("gone.txt", "cannot be read: No such file or directory"),
    ]
    assert reading.skipped.examples == reading.skipped.files
    assert str(reading.skipped).startswith(f"skipped 4 files; first: {folder / 'b.parquet'} cannot")


def test_says_what_was_skipped_in_one_line() -> None:
    skipped = Skipped()
    assert (str(skipped), bool(skipped)) == ("skipped nothing", False)
    for number in range(17, 20):
        skipped.add_line(f"a.jsonl, line {number}", "is not JSON: it is not")
    skipped.add_file("b.gz", "cannot be read: no")
    told = "skipped 3 lines and 1 file; first: a.jsonl, line 17 is not JSON: it is not"
    assert (str(skipped), bool(skipped)) == (told, True)


def test_refuses_parquet_without_pyarrow_before_the_work_also_when_skipping(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(
        CorpusError, match=r"a\.parquet is Parquet, which needs the package pyarrow"
    ):
        Reader([folder / "a.jsonl", folder / "a.parquet"], cut=after_space, on_error="skip")


def test_refuses_an_unknown_on_error(folder: Path) -> None:
    with pytest.raises(CorpusError, match="on_error is 'ignore'; it must be 'raise' or 'skip'"):
        Reader([folder / "a.jsonl"], cut=after_space, on_error="ignore")  # type: ignore[arg-type]


# ---- what is known of files ----


def test_the_identity_tells_when_a_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one")
    os.utime(file, ns=(5, 7))
    assert corpus.identity([file, file]) == [(str(file), 3, 7)] * 2
    os.utime(file, ns=(5, 8))
    assert corpus.identity([file]) == [(str(file), 3, 8)]
    with pytest.raises(MissingFileError, match=r"none\.txt cannot be read"):
        corpus.identity([tmp_path / "none.txt"])


def test_packed_files_and_tables_are_not_plain(tmp_path: Path) -> None:
    assert corpus.are_plain([tmp_path / "a.txt", tmp_path / "b.py"])
    for name in ("a.txt.gz", "a.jsonl", "a.parquet", "a.xz"):
        assert not corpus.are_plain([tmp_path / "a.txt", tmp_path / name])


def test_a_file_has_the_weight_of_the_first_pattern_that_matches_it() -> None:
    files = [Path("code/a.py"), Path("code/deep/b.md"), Path("text/c.md"), Path("text/[d].txt")]
    weights = {"code/a*": 7, "code/*": 3, "*.md": 2, "text/[d].txt": 4}
    assert corpus.weights_of(files, weights) == [7, 3, 2, 4]
    assert corpus.weights_of(files, {"c.md": 2**32 - 1}) == [1, 1, 2**32 - 1, 1]
    assert corpus.weights_of([], {}) == []


def test_refuses_a_weight_for_no_file_and_one_that_is_no_count() -> None:
    files = [Path("code/a.py")]
    with pytest.raises(CorpusError, match=r"the weight of 'code/\*\.md' is for no file"):
        corpus.weights_of(files, {"code/*.py": 2, "code/*.md": 3})
    for weight in (0, -1, 2**32, 1.5, True, "2"):
        with pytest.raises(CorpusError, match=f"the weight of '\\*' is {weight!r}; give an int"):
            corpus.weights_of(files, {"*": weight})  # type: ignore[dict-item]


def test_what_is_certainly_no_text_is_refused(tmp_path: Path) -> None:
    counts = zeton.count_corpus(["a b"]).save(tmp_path / "a.counts")
    tok = zeton.train(["abab"], vocab_size=257).save(tmp_path / "a.zeton")
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(b"text"))
    for file, what in ((counts, "counts"), (tok, "a tokenizer"), (packed, "gzip")):
        with pytest.raises(zeton.errors.CorpusError, match=f"is not text but {what}"):
            zeton.train_files([file], vocab_size=300)


def test_a_weight_names_a_path_a_folder_or_a_glob(tmp_path: Path) -> None:
    files = [tmp_path / "en" / "a.txt", tmp_path / "en" / "b.txt", tmp_path / "c.txt"]
    assert corpus.weights_of(files, {str(tmp_path / "en"): 3}) == [3, 3, 1]
    assert corpus.weights_of(files, {"b.txt": 5, f"{tmp_path}/en/": 3}) == [3, 5, 1]
    assert corpus.weights_of(files, {"*/c.*": 2}) == [1, 1, 2]
    with pytest.raises(zeton.errors.CorpusError, match="matches its files first"):
        corpus.weights_of(files, {"*": 3, "b.txt": 5})
