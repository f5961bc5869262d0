"""`zeton accel` as a user meets it: ids on stdout, rates on stderr."""

import dataclasses
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from accelerator.cards import SHAPE, needs_tools, trained
from support.paths import ROOT
from zeton.accel import CONFIGURATIONS, Configuration
from zeton.cli.commands.accel import PARAMETERS, accel
from zeton.cli.entry import main

NOT_UTF_8 = b"the cat\xff\xfe\x00\r\n\x80 sat <|x|> " + b"z" * 100
CARD = [
    part
    for name, value in dataclasses.asdict(SHAPE).items()
    for part in (f"--{name.replace('_', '-')}", str(value))
]


def run(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "zeton", "accel", *map(str, arguments)]
    environment = os.environ | {"ZETON_CACHE": str(ROOT / "target" / "models")}
    return subprocess.run(command, input=stdin, capture_output=True, check=False, env=environment)


def done(*arguments: object, stdin: bytes = b"") -> tuple[str, str]:
    """Run a command that ends well, and return what it says on both streams."""
    ended = run(*arguments, stdin=stdin)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode(), ended.stderr.decode()


def refusal(*arguments: object) -> str:
    ended = run(*arguments)
    assert (ended.returncode, ended.stdout) == (2, b"")
    (line,) = ended.stderr.decode().splitlines()
    return line


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("accel")
    trained().save(folder / "tok.zeton")
    (folder / "one").write_bytes(NOT_UTF_8)
    (folder / "two").write_text("the second 中文")
    return folder


def test_encodes_files_as_the_tokenizer_does(folder: Path) -> None:
    options = ("-t", folder / "tok.zeton", "--card", "reference", "--config", "small")
    ids, said = done("encode", folder / "one", folder / "two", *options)
    expected = [trained().encode(NOT_UTF_8), trained().encode("the second 中文")]
    assert [list(map(int, line.split())) for line in ids.splitlines()] == expected
    size = len(NOT_UTF_8) + len("the second 中文".encode())
    way, raw = said.splitlines()
    assert re.fullmatch(r"all        \d+\.\d{3} MB/s by the clock on the wall", way)
    assert raw == f"raw        {100 * 101 / size:.2f} % of {size} bytes"


def test_encodes_standard_input_with_specials_into_json(folder: Path) -> None:
    options = ("-t", folder / "tok.zeton", "--card", "reference", "--config", "small", "--json")
    ids, _ = done("encode", *options, "--special", "<|x|>", stdin=NOT_UTF_8)
    assert json.loads(ids) == trained().encode(NOT_UTF_8, allowed_special=["<|x|>"])


@needs_tools
def test_says_both_rates_of_the_simulated_card(folder: Path) -> None:
    options = ("-t", folder / "tok.zeton", *CARD, "--clock", 250)
    ids, said = done("encode", folder / "one", *options)
    assert list(map(int, ids.split())) == trained().encode(NOT_UTF_8)
    rates = re.fullmatch(
        r"card       (\d\.\d{3}) bytes per cycle, (\d+\.\d) MB/s at 250 MHz \(simulated\)\n"
        r"simulator  ([\d,]+) cycles per second of CPU, \d+\.\d{3} MB/s\n"
        rf"raw        \d+\.\d\d % of {len(NOT_UTF_8)} bytes\n",
        said,
    )
    assert rates is not None, said
    assert float(rates[1]) * 250 == pytest.approx(float(rates[2]), rel=0.05)


def test_says_which_cards_there_are_and_what_fits(folder: Path) -> None:
    said, silent = done("info", "-t", folder / "tok.zeton", "-t", "o200k_base")
    lines = said.splitlines()
    assert silent == ""
    assert [line.split()[0] for line in lines[:3]] == list(CONFIGURATIONS)
    assert "12 merge units of 16 bytes" in lines[0]
    assert lines[3].endswith("fits default, large, small")
    assert lines[4] == f"{'o200k_base':<15} fits large"
    assert "not default: its largest id is 199,997" in lines[5]
    routed = [line for line in lines if line.startswith("ECP5-85")]
    assert routed[1].endswith("gpt2: 119 MB/s of English at 124.4 MHz, routed, not run on a board")


def test_info_says_that_a_compiler_is_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "sim             builds itself" in done("info", "-t", folder / "tok.zeton")[0]
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(folder))
    said = done("info", "-t", folder / "tok.zeton")[0]
    assert "needs a C++ compiler; install g++" in said


def test_says_the_same_in_json(folder: Path) -> None:
    said = json.loads(done("info", "-t", folder / "tok.zeton", "--json")[0])
    assert Configuration(**said["cards"]["default"]) == CONFIGURATIONS["default"]
    assert said["tokenizers"] == {
        str(folder / "tok.zeton"): {"default": None, "large": None, "small": None}
    }


def test_refuses_in_one_line(folder: Path) -> None:
    tokenizer = ("-t", folder / "tok.zeton")
    said = refusal("encode", folder / "one", *tokenizer, "--config", "huge")
    assert said == "zeton: no configuration 'huge'; known are 'default', 'large' and 'small'"
    said = refusal("encode", folder / "one", *tokenizer, "--card", "reference", "--slots", 24)
    assert said == "zeton: slots is 24, not a power of two; give 2, 4, 8, 16, 32 or 64"
    options = ("--card", "reference", "--config", "small")
    said = refusal("encode", folder / "one", "-t", "gpt2", *options)
    assert said.startswith("zeton: its largest id is 50,255, which needs 16 bits")
    assert said.endswith("; --config default holds it")
    assert "nowhere" in refusal("encode", folder / "nowhere", *tokenizer, *options)


def test_every_parameter_has_an_option() -> None:
    fields = [field.name for field in dataclasses.fields(Configuration)]
    assert sorted(PARAMETERS) == sorted(fields)


def commands_in_docs() -> Iterator[list[str]]:
    """Yield the words of every `zeton accel` that the pages show, lines that go on included."""
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]:
        text = page.read_text().replace("\\\n", "")
        for line in re.findall(r"^(?:[A-Z_]+=\S+ )*zeton accel (.+)$", text, re.MULTILINE):
            yield shlex.split(line, comments=True)


def test_the_pages_give_options_that_there_are() -> None:
    shown = list(commands_in_docs())
    assert main.get_command(click.Context(main), "accel") is accel  # It imports every subcommand.
    assert {words[0] for words in shown} == set(accel.commands)
    for name, *words in shown:
        known = {option for each in accel.commands[name].params for option in each.opts}
        assert known.issuperset(word for word in words if word.startswith("-")), words
