"""`zeton find` as a user meets it, and its search of lines and shards against a naive one."""

import gzip
import json
import lzma
import re
import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import zeton
from support.command import output, refusal
from support.command import zeton as run
from zeton import shards
from zeton.errors import FormatError, SearchError, ShardError
from zeton.search import lines, stored
from zeton.search.needles import Needles
from zeton.work.npy_file import Dtype

TEXTS = [
    "The cat sat on the mat.\nA concatenated Cat!\n",
    "no dogs here,\nbut a cat-like dog\n",
    "\x1b[2J the CAT é中 cat",
]

letters = st.sampled_from([*"aAb", "é", "中", " ", "-", "\n", "ab", "\x00"])
small_texts = st.lists(letters, max_size=30).map("".join)


def needles_of(letters: list[str]) -> st.SearchStrategy[list[str]]:
    """Draw a few short needles."""
    needle = st.lists(st.sampled_from(letters), min_size=1, max_size=3).map("".join)
    return st.lists(needle, min_size=1, max_size=3, unique=True)


small_needles = needles_of([*"aAb", "é", " ", "-"])
needles_with_breaks = needles_of([*"aAb", "é", " ", "-", "\n"])
flags = st.fixed_dictionaries({"whole_word": st.booleans(), "ignore_case": st.booleans()})


def naive(text: str, needles: list[str], flags: dict[str, bool]) -> list[tuple[int, int, int]]:
    """Find all matches, overlapping ones too: start and end in bytes, and the needle."""
    found = []
    for number, needle in enumerate(needles):
        pattern = re.escape(needle)
        pattern = rf"(?<!\w)(?={pattern}(?!\w))" if flags["whole_word"] else f"(?={pattern})"
        for match in re.finditer(pattern, text, re.IGNORECASE if flags["ignore_case"] else 0):
            start = len(text[: match.start()].encode())
            found.append((start, start + len(needle.encode()), number))
    return sorted(found)


@given(
    text=small_texts,
    texts=small_needles,
    flags=flags,
    block=st.integers(1, 40),
    beside=st.integers(0, 2),
    is_long=st.booleans(),
)
def test_lines_are_those_of_a_naive_search(
    *, text: str, texts: list[str], flags: dict[str, bool], block: int, beside: int, is_long: bool
) -> None:
    needles = Needles(tuple(map(str.encode, texts)), **flags)
    whole = text.encode()
    blocks = [whole[at : at + block] for at in range(0, len(whole), block)]
    with pytest.MonkeyPatch.context() as patch:
        if is_long:
            patch.setattr(lines, "LINE_BYTES_MAX", 1)
        found = list(lines.lines_of(blocks, needles, beside))
    matches = [
        (line.at + start, line.at + end, needle)
        for line in found
        for start, end, needle in line.found
    ]
    assert sorted(matches) == naive(text, texts, flags)
    for line in found:
        assert whole.count(b"\n", 0, line.at) == line.number - 1
        assert line.start == whole.rfind(b"\n", 0, line.at) + 1
        assert whole[line.at :].startswith(line.content)
    if not is_long:
        matching = {line.number for line in found if line.found}
        near = {each + by for each in matching for by in range(-beside, beside + 1)}
        count = len(whole.removesuffix(b"\n").split(b"\n")) if whole else 0
        assert [line.number for line in found] == sorted(near & set(range(1, count + 1)))


@cache
def tokenizer() -> zeton.Tokenizer:
    """Train on what the texts are made of."""
    return zeton.train(["ab ab aA ba é中 a-b"] * 3, vocab_size=266, specials=["<|end|>"])


def written(folder: Path, texts: list[str], format: str, **options: Any) -> zeton.Tokenizer:  # noqa: A002
    """Make shards of texts, one a line."""
    tok = tokenizer()
    source = folder / "texts.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    out = folder / "out"
    shards.write([source], tokenizer=tok, out=out, format=format, restart=True, **options)
    return tok


def found_in(path: Path, tok: zeton.Tokenizer, needles: Needles) -> Iterator[tuple[int, ...]]:
    """Find needles in shards: text, start and end in bytes, needle."""
    for source in stored.stored(path, tok):
        for place in stored.places_in(source, needles):
            assert place.text is not None
            before = tok.decode_bytes(source.ids[place.begin : place.first])
            start = len(before) + place.offset
            _, matched, _ = source.shown(place, 0)
            yield place.text, start, start + len(matched), place.needle


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(
    texts=st.lists(small_texts, min_size=1, max_size=5),
    wanted=needles_with_breaks,
    flags=flags,
    format=st.sampled_from(["bin", "npy", "llmc", "megatron", "parquet"]),
    eos=st.sampled_from([None, "<|end|>"]),
    block=st.integers(1, 7),
)
def test_places_in_shards_are_those_of_a_naive_search(
    *,
    tmp_path_factory: pytest.TempPathFactory,
    texts: list[str],
    wanted: list[str],
    flags: dict[str, bool],
    format: str,  # noqa: A002
    eos: str | None,
    block: int,
) -> None:
    folder = tmp_path_factory.mktemp("found")
    tok = written(folder, texts, format, eos=eos)
    needles = Needles(tuple(map(str.encode, wanted)), **flags)
    expected = [
        (at, *match) for at, text in enumerate(texts) for match in naive(text, wanted, flags)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored, "DECODED_IDS", block)
        patch.setattr("zeton.search.occurrences.BLOCK_IDS", block)
        assert sorted(found_in(folder / "out", tok, needles)) == sorted(expected)


@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_needle_across_two_shards_is_found_where_it_begins(
    *, tmp_path: Path, ignore_case: bool
) -> None:
    text = "ab-" * 900
    tok = written(tmp_path, [text, text], "bin", shard_size=1024)
    files = sorted((tmp_path / "out").glob("train*.bin"))
    assert len(files) > 2
    needles = Needles((b"b-ab-a", b"-ab-"), ignore_case=ignore_case)
    expected = sorted(
        (at, *match)
        for at in range(2)
        for match in naive(
            text, ["b-ab-a", "-ab-"], {"whole_word": False, "ignore_case": ignore_case}
        )
    )
    assert sorted(found_in(tmp_path / "out", tok, needles)) == expected
    by_file = [each for file in files for each in found_in(file, tok, needles)]
    assert sorted(by_file) == expected


def test_bare_files_of_ids_are_opened_by_what_they_are(tmp_path: Path) -> None:
    tok = zeton.train(["ab ab"], vocab_size=257)
    ids = tok.encode("xab yab")
    needles = Needles((b"ab",))

    def firsts(path: Path, dtype: Dtype | None = None) -> list[int]:
        sources = stored.stored(path, tok, dtype)
        return [place.first for source in sources for place in stored.places_in(source, needles)]

    expected = [ids.index(256), len(ids) - 1 - ids[::-1].index(256)]
    np.save(tmp_path / "a.npy", np.array(ids, np.int64))
    assert firsts(tmp_path / "a.npy") == expected
    np.array(ids, np.uint16).tofile(tmp_path / "a.bin")
    assert firsts(tmp_path / "a.bin") == expected
    np.array(ids, np.uint32).tofile(tmp_path / "wide.bin")
    assert firsts(tmp_path / "wide.bin", "uint32") == expected
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, len(ids)
    (tmp_path / "llmc.bin").write_bytes(header.tobytes() + np.array(ids, np.uint16).tobytes())
    assert firsts(tmp_path / "llmc.bin") == expected
    (tmp_path / "empty.bin").write_bytes(b"")
    assert firsts(tmp_path / "empty.bin") == []
    (tmp_path / "cut.bin").write_bytes(b"abc")
    with pytest.raises(FormatError, match="ends inside a number"):
        firsts(tmp_path / "cut.bin")
    np.save(tmp_path / "floats.npy", np.zeros(3))
    with pytest.raises(FormatError, match="ids are a row of whole numbers"):
        firsts(tmp_path / "floats.npy")


def test_refuses_another_tokenizer_and_a_needle_with_a_line_break(tmp_path: Path) -> None:
    written(tmp_path, ["ab"], "bin")
    with pytest.raises(ShardError, match="was made with another tokenizer"):
        list(stored.stored(tmp_path / "out", zeton.pretrained("gpt2")))
    with pytest.raises(SearchError, match="contains a line break, but text files"):
        list(lines.lines_of([b"a\nb"], Needles((b"a\nb",))))
    with pytest.raises(SearchError, match="the list of needles is empty"):
        Needles(())
    with pytest.raises(SearchError, match="a needle is empty"):
        Needles((b"",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts, their shards, and a tokenizer."""
    folder = tmp_path_factory.mktemp("find")
    for number, text in enumerate(TEXTS):
        (folder / f"{number}.txt").write_text(text)
    zeton.train(TEXTS * 3, vocab_size=290, specials=["<|end|>"]).save(folder / "tokenizer")
    texts = [f"{number}.txt" for number in range(len(TEXTS))]
    output("shard", *texts, "-o", "out", "--eos", "<|end|>", folder=folder)
    (folder / "needles").write_text("cat\r\n\nthe mat\nzebra\ncat\n")
    return folder


def test_prints_places_of_texts(folder: Path) -> None:
    found = output("find", "cat", "0.txt", "1.txt", folder=folder)
    assert found.splitlines() == [
        "0.txt:1:5:The cat sat on the mat.",
        "0.txt:2:6:A concatenated Cat!",
        "1.txt:2:7:but a cat-like dog",
    ]
    assert output("find", "-w", "cat", "0.txt", folder=folder).count("\n") == 1
    assert output("find", "-wi", "cat", "0.txt", folder=folder).count("\n") == 2
    assert (
        output("find", "-c", "-i", "cat", "0.txt", "2.txt", folder=folder)
        == "0.txt:3\n2.txt:2\ntotal:5\n"
    )
    assert output("find", "cat", stdin=b"a cat\n") == "-:1:3:a cat\n"
    assert output("find", "--max", 1, "cat", "0.txt", "1.txt", folder=folder).count("\n") == 2
    assert output("find", "dog", ".", folder=folder).splitlines()[0] == "1.txt:1:4:no dogs here,"


def test_escapes_what_would_not_print_and_marks_what_was_found(folder: Path) -> None:
    found = output("find", "CAT", "2.txt", folder=folder)
    assert found == "2.txt:1:10:\\x1b[2J the CAT é中 cat\n"
    colored = output("find", "CAT", "2.txt", "--color", "always", folder=folder)
    assert "the \x1b[1;31mCAT\x1b[0m é中" in colored
    long = folder / "long"
    long.write_text("中" * 1000 + "cat" + "é" * 1000)
    line = output("find", "cat", long).removeprefix(f"{long}:1:3001:").removesuffix("\n")
    assert line == "…" + "中" * 66 + "cat" + "é" * 100 + "…"


def test_prints_lines_beside(folder: Path) -> None:
    text = folder / "numbers"
    text.write_text("".join(f"{number}\n" for number in range(1, 31)))
    found = output("find", "-C", 1, "5", text).replace(f"{text}", "n").splitlines()
    assert found[:3] == ["n-4-4", "n:5:1:5", "n-6-6"]
    assert found[3:] == [
        "--",
        "n-14-14",
        "n:15:2:15",
        "n-16-16",
        "--",
        "n-24-24",
        "n:25:2:25",
        "n-26-26",
    ]
    assert "--" not in output("find", "-C", 5, "5", text).splitlines()


def test_prints_places_of_shards(folder: Path) -> None:
    tok = zeton.load(folder / "tokenizer")
    found = output("find", "cat", "out", "-C", 2, folder=folder).splitlines()
    assert len(found) == 4
    file = Path("out", "train_000000.bin")
    place = re.fullmatch(rf"{re.escape(str(file))}:1:(\d+):(.*)", found[2])
    assert place is not None
    ids = tok.encode(TEXTS[1], append="<|end|>")
    assert "cat" in tok.decode(ids[int(place[1]) :][:3])
    assert "cat-" in place[2]
    assert output("find", "-c", "-w", "cat", file, folder=folder) == f"{file}:3\n"
    assert output("find", "-c", "-i", "cat", "out", folder=folder) == f"{file}:6\n"
    assert run("find", "end|", "out", folder=folder).returncode == 1


def test_prints_the_number_of_an_id_where_there_are_no_texts(folder: Path) -> None:
    tok = zeton.load(folder / "tokenizer")
    ids = tok.encode("a cat")
    np.array(ids, np.uint16).tofile(folder / "bare.bin")
    first = tok.token_at("a cat", position=2).number
    assert output("find", "cat", "--ids", "bare.bin", folder=folder) == f"bare.bin:{first}:a cat\n"


def test_lines_and_needles_of_windows_are_those_of_others(folder: Path) -> None:
    (folder / "windows").write_bytes(b"a cat\r\nanother\r\n")
    found = output("find", "cat", "windows", "-C", 1, folder=folder)
    assert found == "windows:1:3:a cat\nwindows-2-another\n"
    assert output("find", "t\r", "windows", folder=folder) == "windows:1:5:a cat\\r\n"
    (folder / "marked").write_bytes(b"\xef\xbb\xbfanother\r\n")
    found = output("find", "--needles", "marked", "windows", "--quiet", folder=folder)
    assert found == "1\tanother\twindows:2:1\n"


def test_shards_inside_of_a_folder_are_found(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    shutil.copytree(folder / "out", folder / "deep" / "er" / "out")
    (folder / "deep" / "a.txt").write_text("a cat")
    found = output("find", "-c", "cat", "deep", folder=folder).splitlines()
    assert found == [
        f"{Path('deep/a.txt')}:1",
        f"{Path('deep/er/out/train_000000.bin')}:4",
        "total:5",
    ]


@pytest.mark.parametrize("content", ['{"name": "another"}', "none"])
def test_a_manifest_of_another_kind_is_a_text(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    (tmp_path / "a.txt").write_text("a cat")
    assert output("find", "cat", "a.txt", folder=tmp_path) == "a.txt:1:3:a cat\n"
    assert output("find", "cat", ".", folder=tmp_path) == "a.txt:1:3:a cat\n"


@pytest.mark.parametrize("options", [(), ("-i",), ("-w",)])
def test_needles_of_json_lines_may_have_line_breaks(folder: Path, options: tuple[str, ...]) -> None:
    questions = ["here,\nbut", "zebra", "here,\nbut"]
    objects = (json.dumps({"question": question}) + "\n" for question in questions)
    (folder / "q.jsonl").write_text("".join(objects))
    of = ("--needles", "q.jsonl", "--field", "question")
    found = run("find", *of, *options, "out", folder=folder)
    assert found.stderr.decode().strip() == "zeton: 1 of 2 needles found"
    assert found.stdout.decode().startswith("1\there,\\nbut\t")
    assert "contains a line break" in refusal("find", *of, "0.txt", folder=folder)
    assert "text" in refusal("find", "--needles", "q.jsonl", "out", folder=folder)


def test_refuses_what_it_would_look_through_in_vain(folder: Path) -> None:
    (folder / "packed").mkdir()
    (folder / "packed" / "a.parquet").write_bytes(b"PAR1")
    assert "it is Parquet" in refusal("find", "cat", "packed", folder=folder)


def test_prints_json(folder: Path) -> None:
    (line,) = output("find", "mat", "0.txt", "--json", folder=folder).splitlines()
    assert json.loads(line) == {
        "file": "0.txt",
        "line": 1,
        "column": 20,
        "offset": 19,
        "needle": "mat",
        "matched": "mat",
        "content": "The cat sat on the mat.",
    }
    (line,) = output("find", "-i", "no DOGS", "out", "--json", folder=folder).splitlines()
    told = json.loads(line)
    assert (told["text"], told["token"], told["matched"]) == (1, 0, "no dogs")
    counted = output("find", "-c", "mat", "0.txt", "--json", folder=folder)
    assert json.loads(counted) == {"file": "0.txt", "count": 1}


@pytest.mark.parametrize("options", [(), ("-i",)])
def test_tells_which_of_many_needles_there_are(folder: Path, options: tuple[str, ...]) -> None:
    found = run("find", *options, "--needles", "needles", "out", "0.txt", "--max", 1, folder=folder)
    assert found.returncode == 0
    assert found.stderr.decode().strip() == "zeton: 2 of 3 needles found"
    lines = [line.split("\t") for line in found.stdout.decode().splitlines()]
    counts = {"cat": 9, "the mat": 2} if options else {"cat": 6, "the mat": 2}
    assert {needle: int(count) for count, needle, _ in lines} == counts
    assert lines[0][2].endswith(" …")
    told = run("find", "--needles", "needles", "out", "--json", "--quiet", folder=folder)
    assert told.stderr == b""
    cat = json.loads(told.stdout.splitlines()[0])
    assert (cat["needle"], cat["count"], len(cat["places"])) == ("cat", 4, 3)
    assert output("find", "-c", "--needles", "needles", "0.txt", folder=folder) == "0.txt:3\n"


def test_reads_what_is_packed(folder: Path) -> None:
    (folder / "a.gz").write_bytes(gzip.compress(b"a\na cat\n"))
    (folder / "a.xz").write_bytes(lzma.compress(b"a\na cat\n"))
    found = output("find", "cat", "a.gz", "a.xz", folder=folder)
    assert found == "a.gz:2:3:a cat\na.xz:2:3:a cat\n"


def test_the_exit_code_tells_whether_anything_was_found(folder: Path) -> None:
    nothing = run("find", "zebra", "0.txt", "out", folder=folder)
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (1, b"", b"")
    assert run("find", "-c", "zebra", "0.txt", folder=folder).returncode == 1
    assert run("find", folder=folder).returncode == 2
    assert "is missing" in refusal("find", "cat", "none.txt", folder=folder)
    assert "another tokenizer" in refusal("find", "cat", "out", "-t", "gpt2", folder=folder)
    (folder / "blank").write_text("\n\n")
    assert "has no needle" in refusal("find", "--needles", "blank", "0.txt", folder=folder)
    assert "contains a line break" in refusal("find", "a\nb", "0.txt", folder=folder)


def test_shards_are_read_with_the_tokenizer_in_their_folder(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "out", tmp_path / "out")
    expected = output("find", "cat", "out", "-t", "tokenizer", folder=folder)
    assert output("find", "cat", "out", folder=tmp_path) == expected
    (shard,) = sorted((tmp_path / "out").glob("train_*.bin"))
    assert output("find", "cat", f"out/{shard.name}", folder=tmp_path) == expected
    assert "another tokenizer" in refusal("find", "cat", "out", "-t", "gpt2", folder=tmp_path)


@pytest.mark.parametrize("more", [[], ["-i"]], ids=["phrases", "decoded"])
def test_ids_beyond_the_vocabulary_are_an_error(folder: Path, more: list[str]) -> None:
    np.save(folder / "large.npy", np.array([5, 100_200, 6]))
    said = refusal("find", "cat", "large.npy", *more, folder=folder)
    assert said == (
        "zeton: large.npy has id 100,200, but the tokenizer has ids 0 to 289; "
        "give -t with the tokenizer that encoded it\n"
    )
