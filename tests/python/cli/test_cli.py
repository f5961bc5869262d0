"""The command line as a user meets it: another process, its streams and its exit code."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from support.command import COLOR, output, refusal, zeton
from zeton import Rules

CORPUS = (
    """\
the cat sat on the mat and the dog sat on the log
when they woke, another cat had taken the warmest place
so both of them went out and waited for the morning
"""
    * 5
)
NOT_UTF_8 = b"the cat\xff\xfe\x00\r\n\x80 sat"

odd_names = pytest.mark.skipif(os.name == "nt", reason="Windows does not allow such file names")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, and the tokenizer that the command made of it."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "corpus.txt").write_text(CORPUS)
    (folder / "bytes").write_bytes(NOT_UTF_8)
    saved = output("train", "corpus.txt", "-n", 300, "--special", "<|end|>", folder=folder)
    assert saved == f"{Path('tokenizer', 'tokenizer.zeton')}: 300 tokens\n"
    return folder


class TestMain:
    def test_prints_its_version(self) -> None:
        assert re.fullmatch(r"zeton \d+\.\d+\S*\n", output("--version"))

    def test_lists_the_commands_in_the_order_of_the_data(self) -> None:
        names = re.findall(r"^  ([a-z]+)  ", output("--help").split("Commands:")[1], re.MULTILINE)
        data = ["train", "learn", "encode", "decode", "count", "truncate", "chunk", "shard"]
        assert names == [*data, "find", "eval", "show", "info", "accel"]

    @pytest.mark.parametrize("arguments", [["--help"], ["count", "-t", "gpt2"]], ids=str)
    def test_help_and_count_import_neither_numpy_nor_tqdm(self, arguments: list[str]) -> None:
        command = [sys.executable, "-X", "importtime", "-m", "zeton", *arguments]
        run = subprocess.run(command, input=b"hello", capture_output=True, check=True)
        imports = run.stderr
        assert b"click" in imports
        assert b"numpy" not in imports
        assert b"tqdm" not in imports

    def test_refuses_an_unknown_command(self) -> None:
        assert zeton("tokenize").returncode == 2

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
    def test_says_in_one_line_that_it_was_stopped(self, folder: Path) -> None:
        command = [sys.executable, "-m", "zeton", "encode", "bytes", "-"]
        with subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as run:
            pipe(run.stdout).readline()  # The first file is done: now it waits for the second.
            run.send_signal(signal.SIGINT)
            assert run.wait() == 130
            assert pipe(run.stderr).read() == b"zeton: stopped\n"

    def test_ends_quietly_when_nobody_reads_on(self, folder: Path) -> None:
        command = [sys.executable, "-m", "zeton", "encode", *["corpus.txt"] * 200]
        with subprocess.Popen(
            command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run:
            pipe(run.stdout).readline()
            pipe(run.stdout).close()
            assert pipe(run.stderr).read() == b""


class TestTokenizer:
    def test_says_what_to_do_where_none_was_trained(self, tmp_path: Path) -> None:
        line = refusal("encode", folder=tmp_path)
        assert "`zeton train`" in line
        assert "-t cl100k_base" in line

    def test_lists_the_names_for_an_unknown_one(self, tmp_path: Path) -> None:
        assert "cl100k_base" in refusal("count", "-t", "cl200k", folder=tmp_path)

    def test_is_a_file_or_the_folder_around_it(self, folder: Path) -> None:
        by_folder = output("encode", "corpus.txt", "-t", folder / "tokenizer", folder=folder)
        file = folder / "tokenizer" / "tokenizer.zeton"
        assert output("encode", "corpus.txt", "-t", file, folder=folder) == by_folder

    def test_refuses_a_damaged_file(self, folder: Path, tmp_path: Path) -> None:
        whole = (folder / "tokenizer" / "tokenizer.zeton").read_bytes()
        damaged = tmp_path / "damaged.zeton"
        for content in (whole[: len(whole) // 2], b"", b"not a tokenizer\n"):
            damaged.write_bytes(content)
            refusal("encode", "-t", damaged)


class TestTrain:
    def test_saves_to_a_file_that_ends_in_zeton(self, folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "new" / "small.zeton"
        summary = json.loads(output("train", folder / "corpus.txt", "-n", 280, "-o", out, "--json"))
        assert summary["path"] == str(out)
        assert summary["vocab_size"] == 280
        assert summary["merges"] == 24
        assert summary["specials"] == {}
        assert out.is_file()

    def test_reads_the_field_it_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "corpus.jsonl").write_text(json.dumps({"body": CORPUS}) + "\n")
        output("train", "corpus.jsonl", "-n", 270, "--field", "body", folder=tmp_path)
        assert json.loads(output("info", "--json", folder=tmp_path))["merges"] == 14

    def test_takes_a_pattern(self, folder: Path, tmp_path: Path) -> None:
        pattern = r"[a-z]+|[^a-z]+"
        output("train", folder / "corpus.txt", "-n", 260, "--pattern", pattern, folder=tmp_path)
        assert json.loads(output("info", "--json", folder=tmp_path))["pattern"] == pattern

    def test_takes_rules_and_shows_them(self, folder: Path, tmp_path: Path) -> None:
        words = [f"word{number}" for number in range(100)]
        made = Rules(base="o200k", scripts=True, keep_words=words, isolate=[r"\d+-\d+"])
        made.save(tmp_path / "rules.toml")
        corpus = folder / "corpus.txt"
        output("train", corpus, "-n", 260, "--rules", "rules.toml", folder=tmp_path)
        shown = json.loads(output("info", "--json", folder=tmp_path))
        assert shown["pattern"] is None
        assert Rules.from_json(json.dumps(shown["rules"])) == made
        lines = output("info", folder=tmp_path).splitlines()
        assert [line.split(maxsplit=1)[1] for line in lines if line.startswith("rules")] == [
            "base o200k",
            "scripts true",
            "keep_words 100: word0, word1, word2, …",
            r"isolate \d+-\d+",
        ]
        output("train", corpus, "-n", 260, "--rules", "code", "--force", folder=tmp_path)
        assert "case words" in output("info", folder=tmp_path)

    def test_refuses_rules_that_are_none(self, folder: Path, tmp_path: Path) -> None:
        corpus = folder / "corpus.txt"
        (tmp_path / "a.toml").write_text("\ndigit = 3\n")
        line = refusal("train", corpus, "--rules", "a.toml", folder=tmp_path)
        assert line == "zeton: a.toml: line 2: digit is an unknown key; did you mean 'digits'?\n"
        assert "there are no ready-made rules 'cod'; did you mean 'code'?" in refusal(
            "train", corpus, "--rules", "cod"
        )
        both = ("--rules", "code", "--pattern", "(?s).")
        assert "both pattern and rules" in refusal("train", corpus, *both, folder=tmp_path)

    def test_says_that_it_trains_on_the_standard_library(self, tmp_path: Path) -> None:
        run = zeton("train", "-n", 260, folder=tmp_path)
        assert run.returncode == 0
        assert run.stdout.endswith(b": 260 tokens\n")
        assert len(run.stderr.splitlines()) == 1
        assert b"standard library" in run.stderr

    def test_says_in_one_line_that_the_corpus_is_small(self, tmp_path: Path) -> None:
        (tmp_path / "small.txt").write_text("abab")
        run = zeton("train", "small.txt", "-n", 300, folder=tmp_path)
        assert run.returncode == 0
        assert re.fullmatch(rb"zeton: .*\b258\b.*\b300\b.*\n", run.stderr)
        assert output("train", "small.txt", "-n", 300, "--quiet", "--force", folder=tmp_path)
        refusal("train", "small.txt", "-n", 300, "--exact-size", "--force", folder=tmp_path)

    def test_refuses_a_place_to_save_that_is_none(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("abab")
        message = refusal("train", "a.txt", "-n", 257, "-o", "a.txt", folder=tmp_path)
        assert message == "zeton: a.txt is a file; give a folder, or a name that ends in .zeton\n"
        assert (tmp_path / "a.txt").read_text() == "abab"

    def test_refuses_a_missing_file(self, tmp_path: Path) -> None:
        assert "missing.txt" in refusal("train", "missing.txt", folder=tmp_path)
        assert list(tmp_path.iterdir()) == []

    def test_refuses_a_vocabulary_without_all_bytes(self, folder: Path, tmp_path: Path) -> None:
        refusal("train", folder / "corpus.txt", "-n", 255, folder=tmp_path)

    def test_several_sizes_are_saved_apart(self, folder: Path, tmp_path: Path) -> None:
        saved = output("train", folder / "corpus.txt", "-n", "270,280", folder=tmp_path)
        names = [Path(f"tokenizer-{size}", "tokenizer.zeton") for size in (270, 280)]
        assert saved == f"{names[0]}: 270 tokens\n{names[1]}: 280 tokens\n"
        output("train", folder / "corpus.txt", "-n", "270,280", "-o", "a.zeton", folder=tmp_path)
        assert (tmp_path / "a-280.zeton").read_bytes() == (tmp_path / names[1]).read_bytes()

    def test_goes_on_from_a_tokenizer_and_keeps_bounds(self, folder: Path, tmp_path: Path) -> None:
        corpus, initial = folder / "corpus.txt", folder / "tokenizer"
        options = ("--initial", initial, "--special", "<|more|>", "--json")
        summary = json.loads(output("train", corpus, "-n", 310, *options, folder=tmp_path))
        assert summary["specials"] == {"<|end|>": 299, "<|more|>": 309}
        bound = ("--max-token-bytes", 2, "--quiet", "--force")
        output("train", corpus, "-n", 290, *bound, folder=tmp_path)
        shown = json.loads(output("info", "--json", folder=tmp_path))
        assert shown["vocab_size"] <= 290

    def test_says_what_was_left_out_skipped_and_held_out(self, tmp_path: Path) -> None:
        texts = [f'{{"text": "ab ab {number}"}}\nbroken\n' for number in range(2000)]
        (tmp_path / "a.jsonl").write_text("".join(texts))
        refusal("train", "a.jsonl", "-n", 260, folder=tmp_path)
        options = ("--on-error", "skip", "--min-count", 500, "--validation", 0.5)
        run = zeton("train", "a.jsonl", "-n", 257, *options, folder=tmp_path)
        assert run.returncode == 0
        said = run.stderr.decode()
        assert "skipped 2,000 lines; first: a.jsonl, line 2 is not JSON" in said
        assert re.search("left out [\\d,]+ pieces with fewer than 500 occurrences", said)
        assert "held out: 1.000 bytes a token with 256 tokens" in said

    def test_a_report_that_cannot_be_written_is_refused_before_the_work(
        self, folder: Path, tmp_path: Path
    ) -> None:
        report = ("--report", "none/r.html")
        assert "r.html" in refusal("train", folder / "corpus.txt", *report, folder=tmp_path)

    def test_what_is_refused_leaves_no_folder(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "small.txt").write_text("abab")
        refusal("train", "small.txt", "-n", 300, "--exact-size", folder=tmp_path)
        refusal("train", folder / "corpus.txt", "-n", "400,300", folder=tmp_path)
        refusal("learn", "small.txt", folder=tmp_path)
        assert [file.name for file in tmp_path.iterdir()] == ["small.txt"]

    def test_names_the_option_that_is_wrong(self, folder: Path, tmp_path: Path) -> None:
        for option, value in (("checkpoint-every", "x"), ("memory", "0"), ("memory", "9" * 400)):
            message = refusal("train", folder / "corpus.txt", f"--{option}", value, folder=tmp_path)
            assert f"--{option} is" in message
        saved = output("train", folder / "corpus.txt", "-n", "270,280", "-o", "t/", folder=tmp_path)
        assert "t-270" in saved

    def test_weighs_files(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("ab ab ab")
        (tmp_path / "b.txt").write_text("xy")
        weights = ("--weight", "b.*=9")
        output("train", "a.txt", "b.txt", "-n", 257, *weights, "-o", "w.zeton", folder=tmp_path)
        assert json.loads(
            output("encode", "--text", "xy", "-t", "w.zeton", "--json", folder=tmp_path)
        ) == [256]
        run = zeton("train", "a.txt", "--weight", "b.txt", folder=tmp_path)
        assert run.returncode == 2
        assert "no file" in refusal("train", "a.txt", "--weight", "c*=2", folder=tmp_path)

    def test_writes_a_report(self, folder: Path, tmp_path: Path) -> None:
        output("train", folder / "corpus.txt", "-n", 270, "--report", "r.html", folder=tmp_path)
        assert "<svg" in (tmp_path / "r.html").read_text()


class TestLearn:
    def test_counts_of_parts_are_learned_from_as_the_whole(self, tmp_path: Path) -> None:
        for name, text in (("a", CORPUS), ("b", CORPUS[::-1])):
            (tmp_path / f"{name}.txt").write_text(text)
            out = f"{name}.counts"
            saved = output("train", f"{name}.txt", "--count-only", "-o", out, folder=tmp_path)
            assert re.fullmatch(rf"{name}\.counts: \d+ pieces\n", saved)
        output("learn", "a.counts", "b.counts", "-n", 290, "-o", "one.zeton", folder=tmp_path)
        output("train", "a.txt", "b.txt", "-n", 290, "-o", "other.zeton", folder=tmp_path)
        assert (tmp_path / "one.zeton").read_bytes() == (tmp_path / "other.zeton").read_bytes()

    def test_counting_refuses_what_it_cannot_do(self, folder: Path, tmp_path: Path) -> None:
        count = ("train", folder / "corpus.txt", "--count-only")
        assert "needs --out" in refusal(*count, folder=tmp_path)
        for option in (("-n", 300), ("--report", "r.html"), ("--validation", 0.1)):
            assert "for learning" in refusal(*count, "-o", "a.counts", *option, folder=tmp_path)
        assert "is a folder" in refusal(*count, "-o", ".", folder=tmp_path)
        summary = json.loads(output(*count, "-o", "a.counts", "--json", folder=tmp_path))
        assert summary["path"] == "a.counts"

    def test_refuses_what_is_no_counts_file(self, folder: Path, tmp_path: Path) -> None:
        message = refusal("learn", folder / "corpus.txt", folder=tmp_path)
        assert "this is not a counts file" in message
        assert "missing.counts" in refusal("learn", "missing.counts", folder=tmp_path)
        assert zeton("learn", folder=tmp_path).returncode == 2


class TestEncodeAndDecode:
    @pytest.mark.parametrize("form", [[], ["--json"]])
    def test_every_byte_comes_back(self, folder: Path, form: list[str]) -> None:
        content = NOT_UTF_8 + bytes(range(256)) + CORPUS.encode()
        ids = zeton("encode", *form, stdin=content, folder=folder).stdout
        assert zeton("decode", stdin=ids, folder=folder).stdout == content

    def test_a_file_is_a_line(self, folder: Path) -> None:
        both = output("encode", "corpus.txt", "bytes", folder=folder)
        assert len(both.splitlines()) == 2
        decoded = zeton("decode", stdin=both.encode(), folder=folder).stdout
        assert decoded == CORPUS.encode() + NOT_UTF_8

    def test_a_dash_is_standard_input(self, folder: Path) -> None:
        assert output("encode", "-", stdin=NOT_UTF_8, folder=folder) == output(
            "encode", "bytes", folder=folder
        )

    def test_decodes_the_ids_in_a_file(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "ids").write_text("[116, 104,\n101]")
        assert output("decode", tmp_path / "ids", folder=folder) == "the"

    def test_json_is_an_array_of_ids(self, folder: Path) -> None:
        plain = output("encode", "--text", "the cat", folder=folder)
        assert json.loads(output("encode", "--text", "the cat", "--json", folder=folder)) == [
            int(word) for word in plain.split()
        ]

    def test_an_empty_text_has_no_ids(self, folder: Path) -> None:
        assert output("encode", "--text", "", "--json", folder=folder) == "[]\n"
        assert output("decode", stdin=b"[]\n", folder=folder) == ""

    def test_a_special_is_text_unless_it_is_asked_for(self, folder: Path) -> None:
        special = json.loads(output("info", "--json", folder=folder))["specials"]["<|end|>"]

        def ids(*options: str) -> list[int]:
            found: list[int] = json.loads(
                output("encode", "--json", "--text", "a<|end|>", *options, folder=folder)
            )
            return found

        assert special not in ids()
        assert ids("--special", "all") == ids("--special", "<|end|>") == [97, special]
        assert ids("--append", "<|end|>") == [*ids(), special]
        assert ids("--prepend", "<|end|>") == [special, *ids()]

    def test_refuses_an_unknown_special_in_one_line(self, folder: Path) -> None:
        assert "<|no|>" in refusal("encode", "--special", "<|no|>", folder=folder)
        assert "<|no|>" in refusal("encode", "--append", "<|no|>", folder=folder)

    def test_refuses_a_missing_file_in_one_line(self, folder: Path) -> None:
        assert "missing.txt" in refusal("encode", "missing.txt", folder=folder)
        assert "missing.txt" in refusal("decode", "missing.txt", folder=folder)

    def test_refuses_a_folder_in_one_line(self, folder: Path) -> None:
        refusal("encode", ".", folder=folder)

    def test_refuses_a_file_and_a_text(self, folder: Path) -> None:
        assert zeton("encode", "corpus.txt", "--text", "a", folder=folder).returncode == 2

    @pytest.mark.parametrize("number", ["300000", "4294967296", "99999999999999999999"])
    def test_refuses_an_unknown_id_in_one_line(self, folder: Path, number: str) -> None:
        assert number in refusal("decode", stdin=number.encode(), folder=folder)

    @pytest.mark.parametrize("word", ["x", "-1", "1.5", "1_0", "1" * 5000, "\xb2", "\x1b[2J"])
    def test_refuses_what_is_no_number_in_one_line(self, folder: Path, word: str) -> None:
        line = refusal("decode", stdin=f"104 {word}".encode(), folder=folder)
        assert "is not an id" in line
        assert "\x1b" not in line


class TestCount:
    def test_counts_what_encode_prints(self, folder: Path) -> None:
        ids = output("encode", "corpus.txt", folder=folder).split()
        assert output("count", "corpus.txt", folder=folder) == f"{len(ids)}\tcorpus.txt\n"

    def test_is_a_bare_number_for_standard_input(self, folder: Path) -> None:
        assert output("count", stdin=b"\x00\xff", folder=folder) == "2\n"

    def test_adds_several_files_up(self, folder: Path) -> None:
        rows = output("count", "corpus.txt", "bytes", folder=folder).splitlines()
        (first, _), (second, _), total = (row.split("\t") for row in rows)
        assert total == [str(int(first) + int(second)), "total"]

    def test_stops_at_a_limit(self, folder: Path) -> None:
        assert output("count", "--limit", 3, stdin=b"a b c d e", folder=folder) == "3\n"
        assert output("count", "--limit", 30, stdin=b"a", folder=folder) == "1\n"

    def test_prints_json(self, folder: Path) -> None:
        report = json.loads(output("count", "--json", "-", stdin=b"a", folder=folder))
        assert report == {"files": [{"name": "-", "tokens": 1}], "tokens": 1}


class TestTruncateAndChunk:
    GPT2 = ("-t", "gpt2")

    def test_prints_what_fits_as_it_is(self) -> None:
        text = "one two three\nfour\xff".encode("latin-1")
        run = zeton("truncate", "-n", 3, *self.GPT2, stdin=text)
        assert (run.stdout, run.stderr) == (b"one two three", b"")
        assert output("truncate", "-n", 9, *self.GPT2, "--at", "line", stdin=b"a\nb") == "a\nb"
        assert output("truncate", "-n", 2, "--side", "start", *self.GPT2, stdin=b"a b c") == " b c"

    def test_prints_json(self) -> None:
        options = ("-n", 4, "--side", "middle", "--mark", " …", "--json", *self.GPT2)
        cut = json.loads(output("truncate", *options, stdin=b"a b c d e f g"))
        assert cut == {"text": "a b … g", "tokens": 4}

    def test_a_chunk_is_a_line(self, folder: Path) -> None:
        rows = output("chunk", "-n", 2, *self.GPT2, stdin="né\nb".encode())
        assert rows == "0\t2\t2\tné\n2\t4\t2\t\\nb\n"
        lines = output("chunk", "corpus.txt", "-n", 50, "--overlap", 5, "--json", folder=folder)
        chunks = [json.loads(line) for line in lines.splitlines()]
        text = (folder / "corpus.txt").read_text()
        assert all(chunk["text"] == text[chunk["start"] : chunk["end"]] for chunk in chunks)
        assert chunks[-1]["end"] == len(text)

    def test_refuses_in_one_line(self) -> None:
        assert "leaves no room" in refusal("chunk", "-n", 2, "--overlap", 2, *self.GPT2)
        assert "give side='middle', or no mark" in refusal(
            "truncate", "-n", 2, "--mark", "x", *self.GPT2
        )


class TestEvaluate:
    def test_has_a_row_a_file_and_columns_a_tokenizer(self, folder: Path) -> None:
        names = ("-t", "tokenizer", "-t", "tokenizer/tokenizer.zeton")
        table = output("eval", "corpus.txt", "bytes", *names, folder=folder).splitlines()
        assert len({len(line) for line in table}) == 1
        assert table[0].split() == ["tokenizer", "tokenizer/tokenizer.zeton"]
        assert table[1].split() == ["text", "bytes", *["tokens", "ratio"] * 2, "diff"]
        assert [line.split()[0] for line in table[2:]] == ["corpus.txt", "bytes", "total"]
        for line in table[2:]:
            _, size, *first, tokens, ratio, difference = line.split()
            assert [tokens, ratio] == first
            assert ratio == f"{int(size) / int(tokens):.3f}"
            assert difference == "+0.0%"

    def test_compares_with_the_first_and_stars_the_best(self, folder: Path) -> None:
        text = ("corpus.txt", "-t", "gpt2", "-t", "tokenizer")
        report = json.loads(output("eval", *text, "--json", folder=folder))
        first, ours = report["total"]["tokens"].values()
        assert first < ours
        assert output("eval", *text, folder=folder).splitlines()[-1].split() == [
            "total",
            str(len(CORPUS)),
            str(first),
            f"*{len(CORPUS) / first:.3f}",
            str(ours),
            f"{len(CORPUS) / ours:.3f}",
            f"-{(ours - first) / first * 100:.1f}%",
        ]

    def test_three_tokenizers_fit_a_screen(self, folder: Path) -> None:
        names = ("-t", "gpt2", "-t", "cl100k_base", "-t", "tokenizer")
        table = output("eval", *names, folder=folder).splitlines()
        assert max(map(len, table)) <= 100

    @odd_names
    def test_aligns_names_that_are_wide_or_do_not_print(self, folder: Path, tmp_path: Path) -> None:
        for name in ("한국어", "e\u0301te\u0301", "a\x1bb"):
            (tmp_path / name).write_text("the cat")
        table = output("eval", tmp_path, "-t", folder / "tokenizer").splitlines()
        korean = next(line for line in table if "한국어" in line)
        accents = next(line for line in table if "te\u0301" in line)
        escaped = next(line for line in table if "a\\x1bb" in line)
        assert len(korean) + 3 == len(accents) - 2 == len(escaped) == len(table[-1])

    def test_colors_the_best_and_the_worst(self, folder: Path) -> None:
        names = ("-t", "cl100k_base", "-t", "gpt2", "-t", "tokenizer")
        shown = output("eval", *names, "--color", "always", folder=folder)
        plain = output("eval", *names, folder=folder)
        assert re.findall(r"\x1b\[3(.)m", shown.splitlines()[-1]) == ["2", "1"]
        assert COLOR.sub("", shown).split() == plain.replace("*", "").split()

    def test_does_not_color_a_tie(self, folder: Path) -> None:
        names = ("-t", "tokenizer", "-t", "tokenizer/tokenizer.zeton")
        assert "\x1b" not in output("eval", *names, "--color", "always", folder=folder)

    @pytest.mark.parametrize(("no_color", "colored"), [("", True), ("1", False)])
    def test_colors_a_terminal_unless_told_not_to(
        self, folder: Path, no_color: str, *, colored: bool
    ) -> None:
        names = ("-t", "tokenizer", "-t", "gpt2")
        shown = b"".join(on_a_terminal("eval", *names, folder=folder, no_color=no_color))
        assert b"total" in shown
        assert (b"\x1b[32m" in shown) is colored

    @odd_names
    def test_prints_markdown(self, tmp_path: Path) -> None:
        (tmp_path / "a|__b__c_d").write_text("    x")
        names = ("-t", "gpt2", "-t", "cl100k_base")
        lines = output("eval", "a|__b__c_d", *names, "--markdown", folder=tmp_path).splitlines()
        assert lines[0].startswith("| text | bytes | gpt2 tokens | gpt2 ratio | cl100k_base tokens")
        assert lines[1:] == [
            "| :-- | --: | --: | --: | --: | --: | --: |",
            r"| a\|\_\_b\_\_c_d | 5 | 4 | 1.250 | 2 | **2.500** | +50.0% |",
            "| total | 5 | 4 | 1.250 | 2 | **2.500** | +50.0% |",
        ]

    def test_refuses_json_and_markdown_at_once(self, folder: Path) -> None:
        said = refusal("eval", "--json", "--markdown", folder=folder)
        assert said.startswith("zeton: give --json or --markdown, not both;")

    def test_prints_json(self, folder: Path) -> None:
        report = json.loads(
            output("eval", "corpus.txt", "-t", "tokenizer", "--json", folder=folder)
        )
        (row,) = report["files"]
        tokens = int(output("count", "corpus.txt", folder=folder).split()[0])
        assert row["name"] == "corpus.txt"
        assert row["bytes"] == len(CORPUS)
        assert row["tokens"] == {"tokenizer": tokens}
        assert row["bytes_per_token"] == {"tokenizer": len(CORPUS) / tokens}
        assert row["relative_difference"] == {"tokenizer": 0}
        assert report["total"] == {**row, "name": "total"}
        assert report["vocab_size"] == {"tokenizer": 300}

    def test_adds_the_texts_of_a_file_up(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "two.jsonl").write_text('{"body": "ab"}\n{"body": "abc"}\n')
        names = ("-t", folder / "tokenizer")
        report = json.loads(
            output("eval", "two.jsonl", *names, "--field", "body", "--json", folder=tmp_path)
        )
        assert [row["bytes"] for row in report["files"]] == [5]

    def test_an_empty_file_has_no_answer(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "empty.txt").touch()
        names = ("-t", folder / "tokenizer", "-t", "gpt2")
        table = output("eval", "empty.txt", *names, folder=tmp_path)
        assert table.splitlines()[-1].split() == ["total", "0", "0", "-", "0", "-", "-"]
        report = json.loads(output("eval", "empty.txt", *names, "--json", folder=tmp_path))
        assert list(report["total"]["relative_difference"].values()) == [None, None]

    def test_brings_samples_along(self, folder: Path) -> None:
        report = json.loads(output("eval", "-t", "tokenizer", "--json", folder=folder))
        names = [row["name"] for row in report["files"]]
        assert names[:5] == ["English", "Korean", "Python", "mathematics", "science"]
        assert {"French", "Russian", "Chinese", "Hindi", "Arabic"} == set(names[5:])
        assert all(300 < row["bytes"] < 1000 for row in report["files"])

    def test_refuses_a_missing_file_in_one_line(self, folder: Path) -> None:
        assert "missing.txt" in refusal("eval", "missing.txt", "-t", "tokenizer", folder=folder)


class TestShow:
    def test_puts_bars_between_tokens_on_a_pipe(self, folder: Path) -> None:
        assert output("show", "--no-ids", "zyx", folder=folder) == "z|y|x\n"

    def test_puts_the_id_after_its_token(self, folder: Path) -> None:
        assert output("show", "zyx", folder=folder) == "z₁₂₂|y₁₂₁|x₁₂₀\n"

    def test_ends_the_line_after_a_line_break(self, folder: Path) -> None:
        assert output("show", "--no-ids", "z\ny", folder=folder) == "z|\\n\ny\n"

    def test_escapes_bytes_that_are_no_character(self, folder: Path) -> None:
        shown = output("show", "--no-ids", "中", folder=folder)
        assert shown == "\\xe4|\\xb8|\\xad\n"

    def test_tells_a_line_break_from_a_backslash(self, folder: Path) -> None:
        assert output("show", "--no-ids", "\\n", folder=folder) == "\\\\|n\n"

    def test_shows_a_file(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "text").write_bytes(b"z\xff")
        shown = output("show", "--no-ids", "--file", tmp_path / "text", folder=folder)
        assert shown == "z|\\xff\n"

    def test_shows_a_special_whole(self, folder: Path) -> None:
        text = "z<|end|>"
        assert output("show", "--no-ids", "--special", "all", text, folder=folder) == "z|<|end|>\n"

    @pytest.mark.parametrize("color", ["never", "always"])
    def test_no_control_character_of_the_text_gets_through(self, folder: Path, color: str) -> None:
        hostile = bytes(range(256)) + "\x1b]0;title\x07\x85\u202e\x9b2J".encode()
        shown = output("show", "--color", color, stdin=hostile, folder=folder)
        rest = COLOR.sub("", shown) if color == "always" else shown
        assert all(c.isprintable() or c == "\n" for c in rest)

    def test_prints_no_color_on_a_pipe(self, folder: Path) -> None:
        assert "\x1b" not in output("show", "zyx", folder=folder)

    def test_gives_neighbours_different_colors(self, folder: Path) -> None:
        shown = output("show", "--no-ids", "--color", "always", "zyx", folder=folder)
        colors = re.findall(r"(\x1b\[[0-9;]+m)[xyz]\x1b\[0m", shown)
        assert len(set(colors)) == 3

    @pytest.mark.parametrize(("no_color", "colored"), [("", True), ("1", False)])
    def test_colors_a_terminal_unless_told_not_to(
        self, folder: Path, no_color: str, *, colored: bool
    ) -> None:
        shown = b"".join(on_a_terminal("show", "zyx", folder=folder, no_color=no_color))
        assert b"z" in shown
        assert (b"\x1b[" in shown) is colored


class TestInfo:
    def test_prints_json(self, folder: Path) -> None:
        facts = json.loads(output("info", "--json", folder=folder))
        assert facts["name"] == "tokenizer"
        assert facts["tokens"] == 256 + facts["merges"]
        assert facts["unreached"] == 0
        assert facts["vocab_size"] == facts["tokens"] + 1
        assert list(facts["specials"]) == ["<|end|>"]
        assert facts["longest_bytes"] >= 4
        assert re.fullmatch(r"transducer, \d+ states by \d+ classes, \S+", facts["split"])
        assert facts["why"].startswith("of the family")

    def test_prints_the_same_for_people(self, folder: Path) -> None:
        facts = json.loads(output("info", "--json", folder=folder))
        shown = output("info", folder=folder)
        assert re.search(rf"^vocab size +{facts['vocab_size']}$", shown, re.MULTILINE)
        assert re.search(rf"^merges +{facts['merges']}$", shown, re.MULTILINE)
        assert "<|end|>" in shown


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def on_a_terminal(*arguments: str, folder: Path, no_color: str) -> Iterator[bytes]:
    """Run the command on a terminal of its own, and yield what it shows there."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "zeton", *arguments]
    environment = {**os.environ, "NO_COLOR": no_color}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=theirs) as run:
        os.close(theirs)
        try:
            while shown := os.read(ours, 4096):
                yield shown
        except OSError:  # So Linux says that the other end is closed.
            pass
        assert run.wait() == 0
    os.close(ours)
