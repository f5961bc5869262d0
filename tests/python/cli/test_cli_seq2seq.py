"""`zeton seq2seq` as a user meets it."""

import json
from pathlib import Path

import pytest

import zeton
from support.command import output, refusal
from support.command import zeton as run

pytest.importorskip("torch", reason="torch is not installed; `make torch` does it")

from zeton import seq2seq

LINES = [f"{a}{b}{c}\t{c}{b}{a}" for a in "abcd" for b in "abcde" for c in "abcdef"]
FEW = (
    "--size",
    32,
    "--embedding-size",
    8,
    "--batch",
    16,
    "--learning-rate",
    0.01,
    "--validation",
    0.1,
)
BYTES = ("--source-vocab", 258, "--target-vocab", 258)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pairs, some of them bad, and the model that the command made of them."""
    folder = tmp_path_factory.mktemp("seq2seq")
    bad = ["no tab", *LINES[:60], "one\ttab\ttoo many", *LINES[60:]]
    (folder / "pairs.tsv").write_text("\n".join(bad) + "\n")
    made = run(
        "seq2seq", "learn", "pairs.tsv", "-o", "model", *FEW, *BYTES, "--epochs", 30, folder=folder
    )
    assert made.returncode == 0, made.stderr
    said = made.stderr.decode().splitlines()
    assert said[0] == "zeton: pairs.tsv, line 1: it has 0 tabs instead of one"
    assert said[1] == "zeton: pairs.tsv, line 62: it has 2 tabs instead of one"
    assert said[2] == f"zeton: skipped 2 bad lines, read {len(LINES)} pairs"
    assert said[3].startswith("zeton: epoch 1, step ")
    assert made.stdout.decode().startswith("model: 113 pairs, epoch ")
    assert "bits per byte" in made.stdout.decode()
    return folder


def test_answers_lines_in_their_order(folder: Path) -> None:
    known = [line.split("\t") for line in LINES]
    asked = "".join(f"{source}\n" for source, _ in known).encode()
    answers = output("seq2seq", "run", "model", stdin=asked, folder=folder).splitlines()
    assert len(answers) == len(known)
    right = sum(answer == target for answer, (_, target) in zip(answers, known, strict=True))
    assert right / len(known) > 0.8
    for more in (["--batch", 1], ["--stream"], ["--batch", 7]):
        assert output("seq2seq", "run", "model", *more, stdin=asked, folder=folder) == (
            "\n".join(answers) + "\n"
        )


def test_every_line_has_an_answer(folder: Path) -> None:
    found = run("seq2seq", "run", "model", "--beam", 3, stdin=b"abc\r\n\n\xff\nend", folder=folder)
    assert found.returncode == 0
    assert found.stdout.count(b"\n") == 4
    assert found.stderr.decode() == "zeton: line 3 is not UTF-8; its bad bytes became U+FFFD\n"
    assert output("seq2seq", "run", "model", stdin=b"", folder=folder) == ""
    short = output("seq2seq", "run", "model", "--length-max", 1, stdin=b"abc\n", folder=folder)
    assert len(short) <= 4


def test_takes_given_tokenizers_and_reports_in_json(folder: Path) -> None:
    zeton.train(["abc def"], vocab_size=259).save(folder / "given.zeton")
    told = output(
        "seq2seq", "learn", "pairs.tsv", "-o", "other", *FEW, "--epochs", 1, "--quiet", "--json",
        "--source-tokenizer", "given.zeton", "--target-tokenizer", "gpt2", "--attention", "none",
        "--one-way", "--cell", "lstm", "--layers", 2, "--decoder-layers", 1, "--ema-decay", 0.9,
        folder=folder,
    )  # fmt: skip
    report = json.loads(told)
    assert report["bad_lines"] == 2
    assert report["path"] == "other"
    assert 0 <= report["text_error"] <= 1
    assert zeton.load(folder / "other" / "target.zeton").vocab_size > 50257
    assert json.loads((folder / "other" / "model.json").read_text())["shape"]["attention"] is None


def test_a_model_that_has_learned_is_not_lost(folder: Path) -> None:
    learn = ("seq2seq", "learn", "pairs.tsv", "--quiet", *FEW, *BYTES, "--epochs", 1, "-o")
    assert "model has a trained model" in refusal(*learn, "model", folder=folder)
    assert "pairs.tsv" in refusal(*learn, "pairs.tsv", folder=folder)


def test_a_byte_order_mark_is_no_text(folder: Path) -> None:
    (folder / "marked.tsv").write_bytes(b"\xef\xbb\xbfa\tb\nc\td\n")
    assert seq2seq.read_pairs(folder / "marked.tsv").pairs[0] == ("a", "b")


def test_refusals_are_one_line(folder: Path) -> None:
    assert "give only one of them" in refusal(
        "seq2seq", "run", "model", "--stream", "--beam", 2, folder=folder
    )
    assert "no tabs" not in refusal("seq2seq", "run", "nothing", folder=folder)
    assert "has no model.json" in refusal("seq2seq", "run", "nothing", folder=folder)
    assert "cannot be read" in refusal("seq2seq", "learn", "none.tsv", "-o", "x", folder=folder)
    (folder / "bad.tsv").write_text("a\n")
    assert "line 1: it has 0 tabs" in refusal(
        "seq2seq", "learn", "bad.tsv", "-o", "x", folder=folder
    )
    (folder / "one.tsv").write_text("a\tb\n")
    assert "0 for validation" in refusal("seq2seq", "learn", "one.tsv", "-o", "x", folder=folder)
