"""Help and messages: whole, with examples, sizes with units, and suggestions for names."""

import json
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

import zeton
from support.command import output, refusal
from support.command import zeton as run
from support.paths import ROOT
from zeton.cli.entry import COMMANDS, main

GPT2 = ("-t", "gpt2")
CONTEXT = click.Context(main)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with a small corpus."""
    (tmp_path / "a.txt").write_text("the cat sat on the mat and the dog sat on the log\n" * 30)
    return tmp_path


class TestHelp:
    def test_the_summaries_are_whole(self) -> None:
        shown = output("--help")
        for name, (summary, _) in COMMANDS.items():
            assert re.search(rf"^  {name} +{re.escape(summary)}$", shown, re.MULTILINE)
            assert summary.endswith(".")

    @pytest.mark.parametrize("name", ["accel", "seq2seq"])
    def test_the_summaries_of_subcommands_are_whole(self, name: str) -> None:
        assert "..." not in output(name, "--help").split("Commands:")[1]

    def test_the_page_of_the_command_line_has_every_command(self) -> None:
        page = (ROOT / "docs" / "cli.md").read_text()
        assert re.findall(r"^\| `zeton (\w+)` \|", page, re.MULTILINE) == list(COMMANDS)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_each_command_ends_with_examples(self, name: str) -> None:
        command = main.get_command(CONTEXT, name)
        assert command is not None
        each = [command]
        if isinstance(command, click.Group):
            each += command.commands.values()
        for one in each:
            assert one.epilog, one.name
            assert re.search(r"Examples:\n  zeton \S+", one.epilog)

    @pytest.mark.parametrize("name", COMMANDS)
    def test_each_option_has_help(self, name: str) -> None:
        command = main.get_command(CONTEXT, name)
        assert command is not None
        options = [each for each in command.params if isinstance(each, click.Option)]
        assert [each.name for each in options if not each.help] == []


class TestSizes:
    def test_have_units_everywhere(self, corpus: Path) -> None:
        train = ("train", "a.txt", "--memory", "64MB", "--checkpoint-every", "1e6", "--quiet")
        output(*train, "-n", "0.3k", "-o", "k.zeton", folder=corpus)
        assert zeton.load(corpus / "k.zeton").vocab_size <= 300
        output(*train, "-n", "260,0.27k", "-o", "two", "--validation", "0%", folder=corpus)
        assert (corpus / "two-270" / "tokenizer.zeton").exists()
        assert output("count", "--limit", "1e0", *GPT2, stdin=b"a b") == "1\n"
        assert output("truncate", "-n", "0.002k", *GPT2, stdin=b"a b c") == "a b"
        shard = ("shard", "a.txt", *GPT2, "-o", "s", "--shard-size", "2k")
        output(*shard, "--checkpoint-every", "1MB", folder=corpus)

    @pytest.mark.parametrize("value", ["2", "1", "64", "100kB"])
    def test_a_memory_without_unit_is_an_error(self, corpus: Path, value: str) -> None:
        line = refusal("train", "a.txt", "--memory", value, folder=corpus)
        assert "bytes" in line or "1 byte" in line
        if value.isdigit():
            assert f"did you mean {value}GB?" in line

    @pytest.mark.parametrize("command", ["train", "shard"])
    def test_a_checkpoint_size_without_unit_is_an_error(self, corpus: Path, command: str) -> None:
        line = refusal(command, "a.txt", "-o", "x", "--checkpoint-every", 2, folder=corpus)
        said = "--checkpoint-every is '2', which is 2 bytes; did you mean 2GB?"
        assert line == f"zeton: {said}\n"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("truncate", "-n", "-1"), "--tokens is -1; give at least 0"),
            (("train", "-n", "-5"), "--vocab-size is -5; give at least 0"),
            (("shard", "--shard-size", "0"), "--shard-size is 0; give at least 1"),
        ],
    )
    def test_a_number_out_of_range_names_the_bound(
        self, arguments: tuple[str, ...], said: str
    ) -> None:
        assert refusal(*arguments) == f"zeton: {said}\n"

    @pytest.mark.parametrize("value", ["32q", "-1", "", "1.5.2", "1e999", "k", "0.5", "9" * 90])
    def test_an_error_names_the_option_and_the_form(self, corpus: Path, value: str) -> None:
        line = refusal("train", "a.txt", "-n", value, folder=corpus)
        assert "--vocab-size is" in line

    def test_a_share_may_be_a_percentage(self, corpus: Path) -> None:
        found = run("train", "a.txt", "-n", 260, "--validation", "x%", folder=corpus)
        assert b"--validation is 'x%'; write a share as 0.01 or 1%" in found.stderr


class TestSuggestions:
    @pytest.mark.parametrize(
        ("name", "hint"),
        [
            ("cl100k", "did you mean 'cl100k_base'?"),
            ("CL100K_BASE", "did you mean 'cl100k_base'?"),
            ("gpt-4o", "the model gpt-4o has o200k_base: give -t o200k_base"),
            ("gpt-3.5-turbo", "give -t cl100k_base"),
            ("gpt4o", "the model gpt-4o has o200k_base: give -t o200k_base"),
            ("gpt4", "the model gpt-4 has cl100k_base: give -t cl100k_base"),
            ("/nope/x.zeton", "no tokenizer '/nope/x.zeton': no such file\n"),
            ("qwen.tiktoken", "no tokenizer 'qwen.tiktoken': no such file\n"),
            ("zebra", "give a path, or one of gpt2"),
        ],
    )
    def test_of_tokenizers(self, tmp_path: Path, name: str, hint: str) -> None:
        assert hint in refusal("count", "-t", name, folder=tmp_path)

    def test_of_special_tokens(self) -> None:
        line = refusal("encode", "--special", "<|endoftxt|>", *GPT2)
        assert "no special token '<|endoftxt|>'; did you mean '<|endoftext|>'?" in line
        assert "did you mean" in refusal("encode", "--append", "<|endoftxt|>", *GPT2)

    def test_of_formats_rules_and_commands(self, corpus: Path) -> None:
        line = refusal("shard", "a.txt", "-o", "s", "--format", "numpy", *GPT2, folder=corpus)
        assert "--format has no 'numpy'; did you mean 'npy'?" in line
        assert "did you mean 'code'?" in refusal("train", "a.txt", "--rules", "cod", folder=corpus)
        assert b"did you mean 'train'?" in run("trian").stderr

    def test_of_fields(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text('{"txet": "a", "id": 1}\n')
        line = refusal("count", "a.jsonl", *GPT2, folder=tmp_path)
        assert "'txet'" in line

    def test_of_a_field_that_is_not_there(self, tmp_path: Path) -> None:
        (tmp_path / "a.jsonl").write_text('{"text": "a", "id": 1}\n')
        said = "zeton: a.jsonl, line 1 has no field 'body'; known are 'text' and 'id': "
        said += "give field='text' (--field text)"
        line = refusal("count", "a.jsonl", "--field", "body", *GPT2, folder=tmp_path)
        assert line == f"{said}\n"
        line = refusal("shard", "a.jsonl", "-o", "s", "--field", "body", *GPT2, folder=tmp_path)
        assert line == f"{said}; leave such records out with on_error='skip' (--on-error skip)\n"

    def test_of_weights(self, corpus: Path) -> None:
        (corpus / "small.txt").write_text("a")
        train = ("train", "a.txt", "small.txt", "-n", 260)
        line = refusal(*train, "--weight", "small=3", folder=corpus)
        assert "did you mean 'small.txt'?" in line
        both = ("--weight", "*.txt=2", "--weight", "a.txt=3")
        assert "'*.txt' matches its files first" in refusal(*train, *both, folder=corpus)

    def test_of_a_name_for_a_pattern(self, corpus: Path) -> None:
        line = refusal("train", "a.txt", "--pattern", "gpt2", folder=corpus)
        assert 'base = "gpt2"' in line


class TestTrain:
    def test_overwrites_only_with_force(self, corpus: Path) -> None:
        output("train", "a.txt", "-n", 270, folder=corpus)
        before = (corpus / "tokenizer" / "tokenizer.zeton").read_bytes()
        line = refusal("train", "a.txt", "-n", 260, folder=corpus)
        assert "tokenizer.zeton exists" in line
        assert "--force" in line
        assert (corpus / "tokenizer" / "tokenizer.zeton").read_bytes() == before
        assert not (corpus / "tokenizer.checkpoint").exists()
        output("train", "a.txt", "-n", 260, "--force", folder=corpus)
        assert (corpus / "tokenizer" / "tokenizer.zeton").read_bytes() != before

    def test_counts_and_learn_overwrite_only_with_force(self, corpus: Path) -> None:
        count = ("train", "a.txt", "--count-only", "-o", "a.counts")
        output(*count, folder=corpus)
        assert "--force" in refusal(*count, folder=corpus)
        output(*count, "--force", folder=corpus)
        output("learn", "a.counts", "-n", 260, folder=corpus)
        assert "--force" in refusal("learn", "a.counts", "-n", 260, folder=corpus)

    def test_a_checkpoint_is_resumed_without_force(self, corpus: Path) -> None:
        (corpus / "b.txt").write_text("another cat sat on a log of the zoo\n" * 300_000)
        checkpoint = corpus / "tokenizer.checkpoint"
        train = ["train", "a.txt", "b.txt", "-n", "270", "--checkpoint-every", "1MB"]
        source = "import zeton.cli.commands.train as t; t.checkpoint.discard = lambda _: None; "
        source += "from zeton.cli import main; main()"
        command = [sys.executable, "-c", source, *train]
        subprocess.run(command, cwd=corpus, check=True, capture_output=True)
        assert (checkpoint / "state.json").exists()
        assert (corpus / "tokenizer" / "tokenizer.zeton").exists()
        done = run(*train, folder=corpus)
        assert (done.returncode, checkpoint.exists()) == (0, False)
        assert b"resuming from" in done.stderr

    def test_a_checkpoint_that_is_discarded_does_not_replace_force(self, corpus: Path) -> None:
        output("train", "a.txt", "-n", 270, folder=corpus)
        (corpus / "tokenizer.checkpoint").mkdir()
        state = {"work": {}, "state": {"done": 5}}
        (corpus / "tokenizer.checkpoint" / "state.json").write_text(json.dumps(state))
        assert "--force" in refusal("train", "a.txt", "-n", 260, "--restart", folder=corpus)

    def test_a_pipe_leaves_no_checkpoint_to_resume(self, corpus: Path) -> None:
        text = (corpus / "a.txt").read_bytes()
        command = ("train", "-", "-n", 9999, "--exact-size", "-o", "p.zeton")
        assert run(*command, stdin=text, folder=corpus).returncode == 2
        assert not (corpus / "p.zeton.checkpoint").exists()

    def test_compares_on_files_that_it_held_out(self, tmp_path: Path) -> None:
        for number in range(200):
            text = f"text {number}: the cat sat on the mat, the dog on the log, zebra\n" * 9
            (tmp_path / f"{number}.txt").write_text(text)
        compare = ("--compare", "gpt2", "--compare", "cl100k_base")
        shown = output("train", ".", "-n", 300, *compare, folder=tmp_path).splitlines()
        assert shown[0].endswith(": 300 tokens")
        assert shown[2] == "On files of the corpus that were held out of the training:"
        assert shown[3].split() == ["gpt2", "cl100k_base", "tokenizer"]
        assert shown[5].startswith("3 held-out files")
        sizes = "50,257 tokens of gpt2, 100,277 tokens of cl100k_base, 300 tokens of tokenizer"
        assert shown[6:] == [f"Vocabularies: {sizes}."]
        found = output("train", "1.txt", "-n", 280, *compare, "-o", "a.zeton", folder=tmp_path)
        assert "too few files to hold some out" in found

    def test_reads_standard_input(self, corpus: Path) -> None:
        text = (corpus / "a.txt").read_bytes()
        output("train", "-", "-n", 270, "-o", "in.zeton", stdin=text, folder=corpus)
        output("train", "a.txt", "-n", 270, "-o", "file.zeton", folder=corpus)
        assert (corpus / "in.zeton").read_bytes() == (corpus / "file.zeton").read_bytes()


class TestEvaluate:
    def test_many_files_share_a_row(self, tmp_path: Path) -> None:
        for number in range(60):
            (tmp_path / f"{number}.txt").write_text("word " * (number + 1))
        rows = output("eval", ".", *GPT2, folder=tmp_path).splitlines()
        assert len(rows) == 43
        assert rows[-2].startswith("21 other files")
        assert "59.txt" in rows[-3]
        only = output("eval", ".", "--total", *GPT2, folder=tmp_path).splitlines()
        assert [row.split() for row in only[2:]] == [rows[-1].split()]


class TestFind:
    def test_a_bare_file_is_ids_only_if_asked(self, corpus: Path) -> None:
        content = b"the cat\n"
        (corpus / "text.bin").write_bytes(content)
        found = run("find", "cat", "text.bin", folder=corpus)
        assert found.stdout == b"text.bin:1:5:the cat\n"
        assert b"give --ids if it holds token ids" in found.stderr
        output("encode", "--text", "the cat", *GPT2, "-o", "ids.bin", folder=corpus)
        shown = output("find", "cat", "ids.bin", "--ids", *GPT2, folder=corpus)
        assert shown == "ids.bin:1:the cat\n"
        output("encode", "--text", "the cat", *GPT2, "-o", "ids.npy", folder=corpus)
        assert "the cat" in output("find", "cat", "ids.npy", *GPT2, folder=corpus)


class TestUsage:
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["encode", "--fiel", "x"], "no such option"),
            (["encode", "--foo"], "no such option"),
            (["truncate"], "missing option '-n' / '--tokens'; `zeton truncate --help` lists"),
            (["count", "x", "-t"], "option '-t' requires an argument"),
            (["find"], "give PATTERN, or a file of them with --needles; `zeton find --help`"),
            (["accel", "encode", "--foo"], "no such option"),
            (["--foo"], "no such option"),
            (["counts"], "no such command 'counts'; did you mean 'count'?"),
        ],
        ids=" ".join,
    )
    def test_a_usage_error_is_one_line(self, arguments: list[str], said: str) -> None:
        assert refusal(*arguments).startswith(f"zeton: {said}")

    def test_no_command_prints_the_help(self) -> None:
        assert b"Examples:" in run().stderr

    @pytest.mark.parametrize("command", ["count", "show", "encode", "decode", "info"])
    def test_refuses_a_second_tokenizer(self, command: str) -> None:
        said = refusal(command, "-t", "o200k_base", *GPT2)
        assert said == "zeton: give one -t; `zeton eval` compares several tokenizers\n"

    def test_refuses_an_option_twice(self) -> None:
        said = refusal("truncate", "-n", 3, "--tokens", 4, *GPT2)
        assert said == "zeton: --tokens is given 2 times; give it once\n"

    def test_takes_a_flag_twice_and_a_repeatable_option(self) -> None:
        arguments = ("count", "--json", "--json", *GPT2)
        repeated = ("--special", "<|endoftext|>", "--special", "<|endoftext|>")
        assert output(*arguments, *repeated, stdin=b"a").endswith('"tokens": 1}\n')


class TestEncode:
    def test_a_file_of_ids_is_overwritten_with_force_only(self, corpus: Path) -> None:
        encode = ("encode", "--text", "the cat", *GPT2, "-o", "ids.npy")
        assert output(*encode, folder=corpus) == "ids.npy: 2 tokens\n"
        said = "zeton: ids.npy exists; name another --out, or overwrite it with --force\n"
        assert refusal(*encode, folder=corpus) == said
        assert output(*encode, "--force", folder=corpus) == "ids.npy: 2 tokens\n"

    def test_a_type_too_small_for_the_ids_names_the_option(self, corpus: Path) -> None:
        line = refusal(
            *("encode", "--text", "a", "-o", "i.npy", "--dtype", "uint16", "-t", "cl100k_base"),
            folder=corpus,
        )
        assert line == "zeton: ids up to 100,276 do not fit uint16; give --dtype uint32\n"
        assert not (corpus / "i.npy").exists()


class TestDecode:
    @pytest.mark.parametrize("files", [["15496 995"], ["15496", "995"]], ids=" ".join)
    def test_ids_in_the_place_of_a_file_are_named(self, files: list[str]) -> None:
        said = refusal("decode", *files, *GPT2)
        assert said == f"zeton: no file {files[0]!r}; for ids give --ids '15496 995'\n"
        assert output("decode", "--ids", "15496 995", *GPT2) == "Hello world"


def test_truncate_refuses_a_folder(corpus: Path) -> None:
    said = refusal("truncate", corpus, "-n", 3, *GPT2)
    assert said.startswith(f"zeton: {corpus} is a folder; name its files, or run `zeton shard")
