"""Files as users have them: compressed, tables of texts, folders, pipes, and ids as numbers."""

import bz2
import gzip
import json
import lzma
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import zeton
from support.command import output, refusal
from support.command import zeton as run

GPT2 = ("-t", "gpt2")
TEXT = "naïve café, 12345 words\nand a second line\n" * 40
OPTIONS = {"show": ("--file",), "truncate": ("-n", "3"), "chunk": ("-n", "3")}
TEXTS = ["one two", "three\nfour", "né 中"]

pyarrow = pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text in several formats, and tables of several texts."""
    folder = tmp_path_factory.mktemp("inputs")
    plain = TEXT.encode()
    (folder / "a.txt").write_bytes(plain)
    for name, pack in (("gz", gzip.compress), ("xz", lzma.compress), ("bz2", bz2.compress)):
        (folder / f"a.txt.{name}").write_bytes(pack(plain))
        (folder / f"no_suffix_{name}").write_bytes(pack(plain))
    lines = "".join(json.dumps({"text": text, "body": "b"}) + "\n" for text in TEXTS)
    (folder / "t.jsonl").write_text(lines)
    (folder / "t.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    import pyarrow.parquet as pq

    pq.write_table(pyarrow.table({"text": TEXTS}), folder / "t.parquet")
    return folder


class TestFormats:
    @pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.xz"])
    def test_a_compressed_file_is_its_text(self, folder: Path, name: str) -> None:
        count = output("count", "a.txt", *GPT2, folder=folder).split()[0]
        assert output("count", name, *GPT2, folder=folder) == f"{count}\t{name}\n"
        for command in ("encode", "truncate", "chunk", "show"):
            options = OPTIONS.get(command, ())
            plain = output(command, *GPT2, *options, "a.txt", folder=folder)
            assert output(command, *GPT2, *options, name, folder=folder) == plain

    @pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.parquet"])
    def test_a_table_is_its_texts(self, folder: Path, name: str) -> None:
        tok = zeton.pretrained("gpt2")
        tokens = sum(map(tok.count, TEXTS))
        assert output("count", name, *GPT2, folder=folder) == f"{tokens}\t{name}\n"
        lines = output("encode", "--json", name, *GPT2, folder=folder).splitlines()
        assert [json.loads(line) for line in lines] == [tok.encode(text) for text in TEXTS]
        assert "three" in output("show", "--no-ids", "--file", name, *GPT2, folder=folder)
        assert "holds many texts" in refusal("truncate", name, "-n", 3, *GPT2, folder=folder)
        assert "holds many texts" in refusal("chunk", name, "-n", 3, *GPT2, folder=folder)

    def test_the_card_reads_what_encode_reads(self, folder: Path) -> None:
        output("train", "a.txt", "-n", 280, "-o", "small.zeton", folder=folder)
        card = run(
            "accel", "encode", "a.txt.gz", "--card", "reference", "-t", "small.zeton", folder=folder
        )
        assert card.returncode == 0
        ids = output("encode", "a.txt", "-t", "small.zeton", folder=folder)
        assert card.stdout.decode() == ids

    def test_a_field_may_be_named(self, folder: Path) -> None:
        assert output("encode", "t.jsonl", "--field", "body", *GPT2, folder=folder) == "65\n" * 3

    @pytest.mark.parametrize("command", ["count", "encode", "truncate", "chunk", "show"])
    @pytest.mark.parametrize("name", ["a.txt.bz2", "no_suffix_gz", "no_suffix_xz", "-"])
    def test_compressed_bytes_are_an_error(self, folder: Path, command: str, name: str) -> None:
        stdin = (folder / "a.txt.gz").read_bytes()
        options = OPTIONS.get(command, ())
        line = refusal(command, *GPT2, *options, name, folder=folder, stdin=stdin)
        assert "--raw" in line
        assert "cat" in line

    def test_raw_takes_the_bytes_as_they_are(self, folder: Path) -> None:
        content = (folder / "a.txt.gz").read_bytes()
        count = zeton.pretrained("gpt2").count(content)
        assert output("count", "--raw", "a.txt.gz", *GPT2, folder=folder).startswith(f"{count}\t")
        ids = output("encode", "--raw", "a.txt.gz", *GPT2, folder=folder).encode()
        assert run("decode", *GPT2, stdin=ids).stdout == content

    def test_a_folder_is_counted_and_else_an_error(self, folder: Path) -> None:
        rows = output("count", folder, *GPT2).splitlines()
        assert rows[-1].endswith("\ttotal")
        assert f"{folder / 't.jsonl'}" in rows[-2] + rows[-3] + rows[-4]
        assert "zeton shard" in refusal("encode", folder, *GPT2)

    def test_a_missing_file_does_not_stop_the_count_of_others(self, folder: Path) -> None:
        found = run("count", "t.jsonl", "nope.txt", "a.txt", *GPT2, folder=folder)
        assert found.returncode == 2
        assert [line.split("\t")[1] for line in found.stdout.decode().splitlines()] == [
            "t.jsonl",
            "a.txt",
            "total",
        ]
        assert found.stderr.startswith(b"zeton: nope.txt is missing")


class TestIds:
    @pytest.mark.parametrize(("name", "dtype"), [("i.npy", "uint16"), ("i.npy", "uint32")])
    def test_are_written_and_read_as_numbers(self, tmp_path: Path, name: str, dtype: str) -> None:
        options = ("-o", name, "--dtype", dtype, *GPT2)
        said = output("encode", *options, stdin=TEXT.encode(), folder=tmp_path)
        ids = np.load(tmp_path / name)
        assert ids.dtype == dtype
        assert ids.tolist() == zeton.pretrained("gpt2").encode(TEXT)
        assert said == f"{name}: {len(ids)} tokens\n"
        assert output("decode", name, *GPT2, folder=tmp_path) == TEXT

    def test_may_be_bare(self, tmp_path: Path) -> None:
        output("encode", "--text", "a b", "-o", "i.bin", *GPT2, folder=tmp_path)
        assert np.fromfile(tmp_path / "i.bin", np.uint16).tolist() == [64, 275]
        assert output("decode", "i.bin", "--dtype", "uint16", *GPT2, folder=tmp_path) == "a b"
        line = refusal("encode", "--text", "a", "-o", "i.txt", *GPT2, folder=tmp_path)
        assert "give a .npy or .bin file" in line

    def test_may_stand_in_the_command(self) -> None:
        assert output("decode", "--ids", "15496 995", *GPT2) == "Hello world"
        assert output("decode", "--ids", "[15496, 995]", *GPT2) == "Hello world"
        assert "is not an id" in refusal("decode", "--ids", "1 x", *GPT2)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with 12 MB of text and its ids, and 150 rows of a megabyte."""
    folder = tmp_path_factory.mktemp("large")
    line = "the café of number {} has 中文 words, isn't it? {}\n"
    lines = "".join(line.format(number, number * 7919) for number in range(215_000))
    (folder / "large.txt").write_text(lines)
    row = json.dumps({"text": lines[:1_000_000]}) + "\n"
    with (folder / "rows.jsonl").open("w") as rows:
        rows.writelines([row] * 150)
    with (folder / "large.ids").open("wb") as out:
        command = [sys.executable, "-m", "zeton", "encode", "large.txt", *GPT2]
        subprocess.run(command, cwd=folder, stdout=out, check=True)
    return folder


def limited(bytes_max: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (bytes_max, bytes_max))


class TestStreams:
    @pytest.mark.skipif(sys.platform != "linux", reason="the limit is that of Linux")
    @pytest.mark.parametrize(
        "arguments",
        [
            ["encode", "large.txt"],
            ["count", "rows.jsonl"],
            ["count", "--limit", "10", "rows.jsonl"],
            ["encode", "--json", "large.txt"],
            ["decode", "large.ids"],
            ["show", "--file", "large.txt"],
            ["chunk", "-n", "512", "large.txt"],
            ["truncate", "-n", "100", "large.txt"],
            ["truncate", "-n", "100", "--side", "middle", "large.txt"],
        ],
        ids=" ".join,
    )
    def test_memory_is_bounded(self, large: Path, arguments: list[str]) -> None:
        command = [sys.executable, "-m", "zeton", *arguments, *GPT2]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command,
            cwd=large,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            preexec_fn=limited(150_000_000),
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")

    def test_decode_gives_the_text_again(self, large: Path) -> None:
        text = run("decode", "large.ids", *GPT2, folder=large).stdout
        assert text == (large / "large.txt").read_bytes()

    @pytest.mark.parametrize(
        "arguments",
        [
            ["encode"],
            ["show"],
            ["show", "--rules"],
            ["show", "--merges"],
            ["show", "--json"],
            ["chunk", "-n", "10"],
        ],
        ids=" ".join,
    )
    def test_an_endless_input_ends_when_nobody_reads_on(self, arguments: list[str]) -> None:
        command = [sys.executable, "-m", "zeton", *arguments, *GPT2]
        endless = 'import sys\nwhile True: sys.stdout.write("yes and no\\n" * 1000)'
        with (
            subprocess.Popen(
                [sys.executable, "-c", endless], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            ) as source,
            subprocess.Popen(
                command, stdin=source.stdout, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as reader,
        ):
            assert source.stdout and reader.stdout and reader.stderr  # noqa: PT018
            source.stdout.close()
            assert reader.stdout.read(20)
            reader.stdout.close()
            reader.wait(20)
            assert reader.stderr.read() == b""

    def test_truncate_ends_before_an_endless_input(self) -> None:
        command = [sys.executable, "-m", "zeton", "truncate", "-n", "4", *GPT2]
        endless = 'import sys\nwhile True: sys.stdout.write("yes no\\n" * 1000)'
        with subprocess.Popen(
            [sys.executable, "-c", endless], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as source:
            assert source.stdout
            done = subprocess.run(
                command, stdin=source.stdout, capture_output=True, timeout=20, check=False
            )
            source.stdout.close()
        assert (done.stdout, done.stderr) == (b"yes no\nyes", b"")

    @pytest.mark.parametrize("at", ["piece", "sentence"])
    @pytest.mark.parametrize("overlap", [0, 10])
    def test_chunks_of_windows_are_those_of_the_whole(
        self, large: Path, at: str, overlap: int
    ) -> None:
        text = (large / "large.txt").read_text()[:2_200_000]
        options = ("-n", 100, "--overlap", overlap, "--at", at, "--json", *GPT2)
        lines = output("chunk", *options, stdin=text.encode()).splitlines()
        found = [(each["start"], each["end"], each["tokens"]) for each in map(json.loads, lines)]
        tok = zeton.pretrained("gpt2")
        expected = tok.chunk(text, n=100, overlap=overlap, at=at)  # type: ignore[arg-type]
        assert found == [(each.start, each.end, each.tokens) for each in expected]

    @pytest.mark.parametrize("side", ["end", "start", "middle"])
    @pytest.mark.parametrize("at", ["character", "sentence"])
    def test_truncation_of_parts_is_that_of_the_whole(
        self, large: Path, side: str, at: str
    ) -> None:
        text = (large / "large.txt").read_bytes()
        options = ("-n", 1000, "--side", side, "--at", at, *GPT2)
        tok = zeton.pretrained("gpt2")
        expected = tok.truncate(text, n=1000, side=side, at=at)  # type: ignore[arg-type]
        assert run("truncate", "large.txt", *options, folder=large).stdout == expected

    def test_an_explanation_in_parts_is_that_of_the_whole(self, large: Path) -> None:
        text = (large / "large.txt").read_bytes()[:100_000]
        told = json.loads(output("show", "--json", *GPT2, stdin=text))
        assert told == zeton.pretrained("gpt2").explain(text).to_dict()

    def test_a_piece_beyond_the_bound_is_said(self) -> None:
        shown = run("show", "--rules", *GPT2, stdin=b"a" * 600_000)
        assert shown.returncode == 0
        assert b"explained the first 500,000 bytes only" in shown.stderr


def test_a_late_byte_that_is_not_utf_8_names_the_way_out() -> None:
    text = b"a word\n" * 200_000 + b"\xff"
    run_ = run("chunk", "-n", 1000, *GPT2, stdin=text)
    assert run_.returncode == 2
    assert b"give --unit byte" in run_.stderr
    assert run("chunk", "-n", 1000, "--unit", "byte", *GPT2, stdin=text).returncode == 0
