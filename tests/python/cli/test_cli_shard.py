"""`zeton shard` as a user meets it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import zeton
from support.command import output, refusal
from support.command import zeton as run
from zeton import shards
from zeton.chat.templates import TEMPLATES

TEXTS = ["the cat sat", "on the mat", "and slept"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer and two sources."""
    folder = tmp_path_factory.mktemp("shards")
    zeton.train(TEXTS * 3, vocab_size=270, specials=["<|end|>"]).save(folder / "tokenizer")
    (folder / "a.txt").write_text("\x1e".join(TEXTS))
    (folder / "b").mkdir()
    (folder / "b" / "b.jsonl").write_text("".join(f'{{"body": "{text}"}}\n' for text in TEXTS))
    return folder


def test_writes_reads_checks_and_tells(folder: Path) -> None:
    made = output(
        *("shard", "a.txt", "b", "--out", "out", "--format", "npy", "--field", "body"),
        *("--texts-end-with", r"\x1e", "--eos", "<|end|>", "--shard-size", "1024"),
        folder=folder,
    )
    tok = zeton.load(folder / "tokenizer")
    ids = [tok.encode(text, append="<|end|>") for text in TEXTS * 2]
    tokens = sum(map(len, ids))
    count = -(-tokens // 1024)
    assert made == f"out: {tokens} tokens of 6 texts in {count} shard\n"
    assert [text.tolist() for text in shards.open(folder / "out")] == ids
    told = output("shard", "--stat", "out", folder=folder).splitlines()
    assert told[0] == "tokens\ttexts\tbytes\tbytes/token\tsource"
    size = sum(map(len, TEXTS))
    assert told[1] == f"{tokens // 2}\t3\t{size}\t{size * 2 / tokens:.3f}\ta.txt"
    assert told[2].endswith("\tb")
    assert told[3].startswith(f"{tokens}\t6\t")
    assert told[4] == f"train: {tokens} tokens of 6 texts in {count} shard"
    as_json = json.loads(output("shard", "--stat", "out", "--json", folder=folder))
    assert as_json["sources"]["b"]["texts"] == 3
    assert as_json["splits"]["train"]["tokens"] == tokens
    right = output("shard", "--verify", "out", folder=folder)
    assert right == f"out: OK, {count + 1} files\n"
    as_json = json.loads(output("shard", "--verify", "out", "--json", folder=folder))
    assert as_json == {"path": "out", "files": count + 1, "wrong": [], "encoded": False}
    again = output("shard", "a.txt", "b", "--verify", "out", "-t", "tokenizer", folder=folder)
    assert "equal to the corpus encoded again" in again


def test_says_all_that_is_wrong_and_exits_with_2(folder: Path) -> None:
    (folder / "long.txt").write_text("the cat sat " * 2000)
    output("shard", "long.txt", "-o", "wrong", "--shard-size", "1024", folder=folder)
    (folder / "wrong" / "train_000000.bin").unlink()
    (folder / "wrong" / "train_000001.bin").write_bytes(b"")
    done = run("shard", "--verify", "wrong", folder=folder)
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(done.stderr.splitlines()) == 2
    done = run("shard", "--verify", "wrong", "--json", folder=folder)
    assert done.returncode == 2
    assert len(json.loads(done.stdout)["wrong"]) == 2


def test_the_same_command_says_that_all_is_there(folder: Path) -> None:
    command = ("shard", "a.txt", "-o", "twice", "--json")
    first = json.loads(output(*command, folder=folder))
    done = run(*command, folder=folder)
    assert done.returncode == 0
    assert done.stderr.decode().strip() == "zeton: twice has all its shards already"
    assert json.loads(done.stdout) == first
    refused = refusal(*command, "--eos", "1", folder=folder)
    assert "which differ in options (eos); name another folder, or start over (restart" in refused
    output(*command, "--eos", "1", "--restart", folder=folder)


def test_refuses_what_it_cannot_do_in_one_line(folder: Path) -> None:
    assert "give one of --out, --verify and --stat" in refusal("shard", "a.txt", folder=folder)
    assert "there is no corpus" in refusal("shard", "-o", "none", folder=folder)
    assert "has no manifest.json" in refusal("shard", "--stat", "b", folder=folder)
    assert "is missing" in refusal("shard", "no.txt", "-o", "none", folder=folder)
    assert run("shard", "a.txt", "-o", "x", "--shard-size", "many", folder=folder).returncode == 2
    assert "too few for a file" in refusal(
        "shard", "a.txt", "-o", "none", "--shard-size", "1", folder=folder
    )
    assert "both the corpus and the folder" in refusal("shard", "b", "-o", "b", folder=folder)
    assert not (folder / "none").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_says_how_to_go_on(folder: Path) -> None:
    large = folder / "large.txt"
    large.write_text("the cat sat on the mat " * 5_000_000)
    arguments = [
        "shard",
        str(large),
        "-o",
        str(folder / "long"),
        "--checkpoint-every",
        "1kB",
        "--threads",
        "1",
    ]
    arguments += ["-t", str(folder / "tokenizer")]
    process = subprocess.Popen(
        [sys.executable, "-m", "zeton", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    end = time.monotonic() + 60
    while not (folder / "long" / ".checkpoint" / "state.json").exists():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    if process.returncode:  # It was not done before the signal came.
        assert process.returncode == 130
        assert b"run the same command to resume" in said
    done = run(*arguments)
    assert done.returncode == 0
    assert shards.verify(folder / "long") == []


@pytest.fixture(scope="module")
def made(folder: Path) -> Path:
    """The folder, with the shards `made` in it."""
    output("shard", "a.txt", "-o", "made", folder=folder)
    return folder


@pytest.mark.parametrize(
    "arguments",
    [
        ("shard", "made", "-o", "again"),
        ("train", "made", "-o", "again"),
        ("eval", "made"),
        ("count", "made"),
        ("encode", "made"),
        ("truncate", "made", "-n", 3),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_of_shards_is_no_text(made: Path, arguments: tuple[object, ...]) -> None:
    said = refusal(*arguments, folder=made)
    assert said.startswith("zeton: made is a folder of shards, which are ids and no text; ")
    assert not (made / "again").exists()


def test_a_folder_is_refused_before_a_tokenizer_is_looked_for(made: Path, tmp_path: Path) -> None:
    for command in (("decode",), ("encode",), ("truncate", "-n", 3), ("chunk", "-n", 3)):
        assert "made is a folder of shards" in refusal(*command, made / "made", folder=tmp_path)


def test_decode_names_a_file_of_a_folder_of_shards(made: Path) -> None:
    assert refusal("decode", "made", folder=made) == (
        "zeton: made is a folder of shards; name a file such as "
        f"{Path('made', 'train_000000.bin')}, or read the ids of a text with "
        "zeton.shards.open('made').text(0)\n"
    )
    assert output("decode", "made/train_000000.bin", folder=made) == "\x1e".join(TEXTS)


def test_the_help_lists_every_template_of_chats() -> None:
    said = " ".join(output("shard", "--help").split())
    assert f"rendered by a template: {', '.join(TEMPLATES)}, a JSON file" in said


def test_a_template_gets_a_suggestion_and_its_special_tokens_a_remedy(folder: Path) -> None:
    (folder / "chat.jsonl").write_text('{"messages": []}\n')
    shard = ("shard", "chat.jsonl", "-o", "chats", "--chat")
    assert "did you mean 'chatml'?" in refusal(*shard, "chatm", folder=folder)
    assert refusal(*shard, "chatml", folder=folder) == (
        "zeton: the tokenizer lacks 2 special tokens of the template 'chatml'; "
        "train it with `zeton train --special '<|im_start|>' --special '<|im_end|>'`, "
        "or add them in Python with tok.with_specials(['<|im_start|>', '<|im_end|>'])\n"
    )


def test_an_end_of_texts_that_a_tokenizer_lacks_names_the_way_to_it(
    folder: Path, tmp_path: Path
) -> None:
    zeton.train(TEXTS, vocab_size=260).save(tmp_path / "plain.zeton")
    shard = ("shard", "a.txt", "-o", "ended", "-t", tmp_path / "plain.zeton")
    said = refusal(*shard, "--eos", "<|endoftext|>", folder=folder)
    assert said == (
        "zeton: eos is '<|endoftext|>', which is no special of the tokenizer; it has none: "
        "train with --special '<|endoftext|>', or add it with tok.with_specials\n"
    )
