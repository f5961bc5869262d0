"""nanochat's scripts on people's own files: its options, its folder, its tables."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import SimpleNamespace

import click
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import zeton
from support.strategies import BYTES
from zeton.nanochat import RustBPETokenizer, get_tokenizer
from zeton.nanochat.tok_eval import tok_eval
from zeton.nanochat.tok_train import capped_texts, tok_train

ROWS = [
    "the cat sat on the mat and the dog sat on the log",
    "when they woke, another cat had taken the warmest place",
    "so both of them went out and waited for the morning",
]


def write_text(path: Path, rows: Iterable[str]) -> None:
    path.write_text("".join(rows))


def write_gzip(path: Path, rows: Iterable[str]) -> None:
    path.write_bytes(gzip.compress("".join(rows).encode()))


def write_json(path: Path, rows: Iterable[str]) -> None:
    path.write_text("".join(json.dumps({"text": row}) + "\n" for row in rows))


def write_parquet(path: Path, rows: Iterable[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"text": list(rows)}), path)


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that nanochat keeps everything in."""
    monkeypatch.setenv("NANOCHAT_BASE_DIR", str(tmp_path / "nanochat"))
    return tmp_path / "nanochat"


def run(script: click.Command, *arguments: object) -> Result:
    return CliRunner().invoke(script, list(map(str, arguments)), catch_exceptions=False)


def output(script: click.Command, *arguments: object) -> str:
    result = run(script, *arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def refusal(script: click.Command, *arguments: object) -> str:
    result = run(script, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(r"zeton: .+\n", result.stderr)
    return result.stderr


def merges_of(*texts: str) -> dict[tuple[int, int], int]:
    """Learn the 20 merges that a script learns from the same texts at 285 tokens."""
    return zeton.train(texts, vocab_size=276).merges()


class TestTrain:
    def test_saves_where_nanochat_looks(self, tmp_path: Path, base: Path) -> None:
        write_json(tmp_path / "rows.jsonl", ROWS)
        shown = output(tok_train, tmp_path / "rows.jsonl", "--vocab-size", 285)
        names = {"tokenizer.zeton", "tokenizer.pkl", "token_bytes.npy"}
        assert names <= {file.name for file in (base / "tokenizer").iterdir()}
        assert str(base / "tokenizer") in shown
        assert get_tokenizer().get_vocab_size() == 285

    def test_prints_what_nanochat_reports(self, tmp_path: Path) -> None:
        write_json(tmp_path / "rows.jsonl", ROWS)
        lines = output(tok_train, tmp_path / "rows.jsonl", "--vocab-size", 285).splitlines()
        assert lines[:3] == ["max_chars: 2,000,000,000", "doc_cap: 10,000", "vocab_size: 285"]
        assert re.fullmatch(r"Training time: \d+\.\d\ds", lines[3])
        sizes = [len(token) for token in get_tokenizer().tokenizer.ranks()]
        mean = sum(sizes) / len(sizes)
        deviation = (sum((size - mean) ** 2 for size in sizes) / (len(sizes) - 1)) ** 0.5
        assert lines[-5:] == [
            "num_special_tokens: 9",
            "token_bytes_min: 1",
            f"token_bytes_max: {max(sizes)}",
            f"token_bytes_mean: {mean:.4f}",
            f"token_bytes_std: {deviation:.4f}",
        ]

    @pytest.mark.parametrize(
        ("name", "write"),
        [
            ("a.txt", write_text),
            ("a.txt.gz", write_gzip),
            ("a.jsonl", write_json),
            ("a.parquet", write_parquet),
        ],
    )
    def test_reads_text_and_tables(
        self, tmp_path: Path, name: str, write: Callable[[Path, Iterable[str]], None]
    ) -> None:
        write(tmp_path / name, ["".join(ROWS)])
        output(tok_train, tmp_path, "--vocab-size", 285)
        assert get_tokenizer().tokenizer.merges() == merges_of("".join(ROWS))

    def test_reads_the_field_it_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text(json.dumps({"body": ROWS[0] * 3}))
        output(tok_train, tmp_path, "--vocab-size", 285, "--field", "body")
        assert get_tokenizer().tokenizer.merges() == merges_of(ROWS[0] * 3)

    def test_honours_the_cap_and_the_budget(self, tmp_path: Path) -> None:
        write_json(tmp_path / "rows.jsonl", [row * 5 for row in ROWS])
        options = ("--vocab_size", 285, "--doc_cap=200", "--max-chars", "2e2")
        shown = output(tok_train, tmp_path / "rows.jsonl", *options)
        assert shown.startswith("max_chars: 200\ndoc_cap: 200\n")
        used = [(row * 5)[:200] for row in ROWS[:2]]
        assert get_tokenizer().tokenizer.merges() == merges_of(*used)

    def test_trains_on_all_but_the_last_file_of_the_dataset(self, base: Path) -> None:
        base.mkdir()
        for number, row in enumerate(ROWS):
            write_parquet(base / "base_data_climbmix" / f"shard_{number}.parquet", [row * 5])
        output(tok_train, "--vocab-size", 285)
        used = [row * 5 for row in ROWS[:2]]
        assert get_tokenizer().tokenizer.merges() == merges_of(*used)

    def test_says_to_give_files_where_there_is_no_dataset(self, base: Path) -> None:
        base.mkdir()
        assert "give files" in refusal(tok_train)
        write_parquet(base / "base_data" / "only.parquet", ROWS)
        assert "give files" in refusal(tok_train)
        assert not (base / "tokenizer").exists()

    def test_says_in_one_line_that_the_corpus_is_small(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("abab")
        result = run(tok_train, tmp_path / "a.txt")
        assert result.exit_code == 0
        assert re.fullmatch(r"zeton: .*\b267\b.*\b32768\b.*\n", result.stderr)

    @pytest.mark.parametrize("number", ["0", "-5", "1.5", "many", "inf", "nan"])
    def test_refuses_what_is_no_whole_number(self, number: str) -> None:
        result = run(tok_train, "--max-chars", number)
        assert result.exit_code == 2
        assert f"'{number}' is not a whole number above 0" in result.stderr

    def test_refuses_in_one_line(self, tmp_path: Path, base: Path) -> None:
        assert "missing.txt" in refusal(tok_train, tmp_path / "missing.txt")
        base.write_text("a file, not a folder")
        (tmp_path / "a.txt").write_text("abab")
        refusal(tok_train, tmp_path / "a.txt")

    def test_refuses_a_corpus_without_text(self, tmp_path: Path) -> None:
        (tmp_path / "empty.txt").touch()
        result = run(tok_train, tmp_path / "empty.txt")
        assert result.exit_code == 2
        assert re.fullmatch(r"zeton: there is no text in .*\n", result.stderr)

    def test_refuses_a_tokenizer_that_forgets(
        self, tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_text(tmp_path / "a.txt", ROWS)
        monkeypatch.setattr(RustBPETokenizer, "decode", lambda *_: "")
        result = run(tok_train, tmp_path / "a.txt", "--vocab-size", 285)
        assert result.exit_code == 2
        assert "decodes a text to another text" in result.stderr
        assert list((base / "tokenizer").iterdir()) == []

    def test_runs_as_a_module(self, tmp_path: Path) -> None:
        write_text(tmp_path / "a.txt", ROWS)
        module = [sys.executable, "-m", "zeton.nanochat.tok_train"]
        command = [*module, str(tmp_path / "a.txt"), "--vocab-size=285"]
        done = subprocess.run(command, capture_output=True, check=True)
        assert done.stderr == b""
        assert done.stdout.startswith(b"max_chars: ")


class TestCappedTexts:
    def test_a_plain_file_is_split_and_nothing_is_lost(self, tmp_path: Path) -> None:
        content = "zwölf Boxkämpfer\n" * 30
        (tmp_path / "a.txt").write_text(content)
        texts = list(capped_texts([tmp_path / "a.txt"], "text", doc_cap=7, max_chars=10**9))
        assert "".join(texts) == content
        assert {len(text) for text in texts[:-1]} == {7}

    def test_a_row_is_cut(self, tmp_path: Path) -> None:
        write_json(tmp_path / "a.jsonl", ["ééééé", "", "abc"])
        texts = list(capped_texts([tmp_path / "a.jsonl"], "text", doc_cap=4, max_chars=10**9))
        assert texts == ["éééé", "", "abc"]

    @pytest.mark.parametrize(("max_chars", "count"), [(1, 1), (3, 2), (4, 2), (6, 3), (100, 3)])
    def test_the_text_that_passes_the_budget_is_the_last(
        self, tmp_path: Path, max_chars: int, count: int
    ) -> None:
        write_json(tmp_path / "a.jsonl", ["aaa", "bbb", "ccc"])
        texts = list(capped_texts([tmp_path / "a.jsonl"], "text", doc_cap=5, max_chars=max_chars))
        assert texts == ["aaa", "bbb", "ccc"][:count]


class TestEvaluate:
    @pytest.fixture(autouse=True)
    def trained(self, base: Path) -> None:
        """A small tokenizer in nanochat's folder."""
        zeton.train(ROWS, vocab_size=285, specials=["<|bos|>"]).save(base / "tokenizer")

    def test_prints_the_sizes_and_two_comparisons(self) -> None:
        lines = output(tok_eval).splitlines()
        assert lines[1:5] == ["Vocab sizes:", "GPT-2: 50257", "GPT-4: 100277", "Ours: 285"]
        for start, baseline in ((6, "GPT-2"), (17, "GPT-4")):
            heading, _, titles, labels, _, *rows = lines[start : start + 10]
            assert heading == f"Comparison with {baseline}:"
            assert titles.split() == [baseline, "Ours", "Relative"]
            assert " ".join(labels.split()) == (
                "Text Type Bytes Tokens Ratio Tokens Ratio Diff % Better"
            )
            assert [row.split()[0] for row in rows] == ["news", "korean", "code", "math", "science"]

    def test_measures_files_of_ones_own(self, tmp_path: Path) -> None:
        write_json(tmp_path / "own.jsonl", ROWS)
        name, size, *numbers = output(tok_eval, tmp_path / "own.jsonl").splitlines()[-1].split()
        theirs, ours = (
            sum(map(tokenizer.count, ROWS))
            for tokenizer in (zeton.pretrained("cl100k_base"), get_tokenizer().tokenizer)
        )
        whole = sum(map(len, ROWS))
        assert (name, size) == (str(tmp_path / "own.jsonl"), str(whole))
        assert numbers == [
            str(theirs),
            f"*{whole / theirs:.2f}",
            str(ours),
            f"{whole / ours:.2f}",
            f"{(theirs - ours) / theirs * 100:+.1f}%",
            "GPT-4",
        ]

    def test_a_file_named_like_a_sample_has_its_own_row(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        Path("news").write_text("a")
        assert output(tok_eval, "news").splitlines()[-1].split()[:2] == ["news", "1"]

    def test_says_that_a_text_is_a_tie(self, tmp_path: Path) -> None:
        (tmp_path / "same").write_text("a")
        row = output(tok_eval, tmp_path / "same").splitlines()[-1]
        assert row.split()[2:] == ["1", "1.00", "1", "1.00", "+0.0%", "Tie"]

    def test_colors_when_told_to(self) -> None:
        plain, colored = output(tok_eval), output(tok_eval, "--color", "always")
        assert "\x1b" not in plain
        assert "\x1b[32m" in colored

    def test_refuses_a_text_that_does_not_come_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Forgetful(zeton.Tokenizer):
            __slots__ = ()

            def decode_bytes(self, _: object) -> bytes:
                return b""

        ours = SimpleNamespace(tokenizer=Forgetful(BYTES))
        monkeypatch.setattr("zeton.nanochat.tok_eval.get_tokenizer", lambda: ours)
        assert "Ours decodes news to another text" in refusal(tok_eval)

    def test_says_what_is_missing_in_one_line(self, tmp_path: Path, base: Path) -> None:
        assert "missing.txt" in refusal(tok_eval, tmp_path / "missing.txt")
        (base / "tokenizer" / "tokenizer.zeton").unlink()
        assert "tokenizer.zeton" in refusal(tok_eval)

    def test_runs_as_a_module(self) -> None:
        module = [sys.executable, "-m", "zeton.nanochat.tok_eval"]
        done = subprocess.run(module, capture_output=True, check=True)
        assert done.stderr == b""
        assert done.stdout.startswith(b"\nVocab sizes:\n")
