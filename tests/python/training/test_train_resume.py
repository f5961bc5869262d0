"""Training on files goes on from where it was stopped, and ends with the same bytes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import zeton

WORDS = 400_000
KILLS = 4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some megabytes of text and JSON lines."""
    folder = tmp_path_factory.mktemp("corpus")
    chance = random.Random(1)
    words = [f"{chance.randrange(10**5):x}" for _ in range(WORDS)]
    (folder / "a.txt").write_text(" ".join(words))
    lines = [json.dumps({"text": " ".join(words[at : at + 100])}) for at in range(0, WORDS, 100)]
    (folder / "b.jsonl").write_text("\n".join(lines))
    return folder


def command(corpus: Path, out: Path, *options: str, every: str = "300KB") -> list[str]:
    return [
        *(sys.executable, "-m", "zeton", "train", str(corpus), "-n", "2000", "-o", str(out)),
        *("--checkpoint-every", every, "--memory", "4MB", *options),
    ]


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("whole") / "tok.zeton"
    subprocess.run(command(corpus, out, every="1GB"), check=True)
    return out.read_bytes()


def started(arguments: list[str]) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def wait_for_part(journal: Path, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 60
    while not (journal / "state.json").exists():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end, "no part was kept"
        time.sleep(0.005)


def test_the_whole_run_leaves_no_journal(corpus: Path, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "tok.zeton"
    done = subprocess.run(command(corpus, out), capture_output=True, check=True)
    assert out.read_bytes() == expected
    assert b"tok.zeton: 2,000 tokens" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["tok.zeton"]


def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(
    corpus: Path, expected: bytes, tmp_path: Path
) -> None:
    chance = random.Random(os.urandom(8))
    out = tmp_path / "tok.zeton"
    journal = tmp_path / "tok.zeton.checkpoint"
    for _ in range(KILLS):
        process = started(command(corpus, out))
        wait_for_part(journal, process)
        time.sleep(chance.random() * 0.5)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if out.exists():
            break
    done = subprocess.run(command(corpus, out, "--force"), capture_output=True, check=True)
    assert out.read_bytes() == expected
    assert b"resuming from" in done.stderr or not journal.exists()
    assert not journal.exists()


def test_ctrl_c_says_how_to_go_on(corpus: Path, expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "tok.zeton"
    process = started(command(corpus, out))
    wait_for_part(tmp_path / "tok.zeton.checkpoint", process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"run the same command to resume" in errors
    subprocess.run(command(corpus, out), check=True)
    assert out.read_bytes() == expected


def test_the_command_refuses_another_works_journal(
    corpus: Path, expected: bytes, tmp_path: Path
) -> None:
    out, journal = tmp_path / "tok.zeton", tmp_path / "tok.zeton.checkpoint"
    process = started(command(corpus, out))
    wait_for_part(journal, process)
    process.kill()
    process.communicate()
    other = command(corpus, out, "--pattern", r"\w+|\W")
    done = subprocess.run(other, capture_output=True, check=False, text=True)
    assert done.returncode == 2
    assert "differs in pattern" in done.stderr
    assert "run the same command to resume" not in done.stderr
    assert (journal / "state.json").exists()
    done = subprocess.run(
        command(corpus, out, "--restart"), capture_output=True, check=True, text=True
    )
    assert "going on from" not in done.stderr
    assert out.read_bytes() == expected


def test_a_journal_of_another_corpus_is_refused_and_stays(corpus: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    zeton.count_files([corpus / "a.txt"], checkpoint_dir=journal, checkpoint_every="300KB")
    kept = {file.name: file.read_bytes() for file in journal.iterdir()}
    assert "state.json" in kept
    said: list[str] = []
    others: dict[str, dict[str, Any]] = {
        "files": {},
        "field, files": {"field": "body"},
        "pattern, validation, files": {"validation": 0.1, "pattern": r"\w+|\W"},
    }
    for differs, options in others.items():
        message = rf"holds the progress of other work, which differs in {differs}; .*--restart"
        with pytest.raises(zeton.errors.TrainError, match=message):
            zeton.count_files([corpus], checkpoint_dir=journal, on_warning=said.append, **options)
        assert {file.name: file.read_bytes() for file in journal.iterdir()} == kept
    counts = zeton.count_files(
        [corpus],
        checkpoint_dir=journal,
        checkpoint_every="300KB",
        on_warning=said.append,
        restart=True,
    )
    assert said == []
    assert (
        zeton.learn(counts, vocab_size=2000).ranks()
        == zeton.train_files([corpus], vocab_size=2000).ranks()
    )
    again = zeton.count_files(
        [corpus], checkpoint_dir=journal, checkpoint_every="300KB", on_warning=said.append
    )
    assert "resuming from" in said[-1]
    assert again.most_common(100) == counts.most_common(100)
    assert again.texts == counts.texts == 1 + WORDS // 100


@pytest.mark.parametrize("damage", ["state", "stray", "gone"])
def test_a_damaged_journal_is_no_harm(corpus: Path, tmp_path: Path, damage: str) -> None:
    journal = tmp_path / "journal"
    expected = zeton.count_files([corpus], checkpoint_dir=journal, checkpoint_every="300KB")
    match damage:
        case "state":
            (journal / "state.json").write_text('{"parts": [')
        case "stray":
            (journal / "000099.counts").write_text("half written")
        case "gone":
            (journal / "000000.counts").unlink()
    found = zeton.count_files(
        [corpus], checkpoint_dir=journal, checkpoint_every="300KB", on_warning=str
    )
    assert found.most_common(10**6) == expected.most_common(10**6)


def test_files_that_come_later_may_change(tmp_path: Path) -> None:
    texts = [f"{number * 7919:x} " * 3 for number in range(40_000)]
    (tmp_path / "a.txt").write_text("".join(texts))
    (tmp_path / "b.jsonl").write_text("broken")
    files = [tmp_path / "a.txt", tmp_path / "b.jsonl"]
    journal = tmp_path / "journal"
    with pytest.raises(zeton.errors.CorpusError, match="not JSON"):
        zeton.count_files(files, checkpoint_dir=journal, checkpoint_every="100KB")
    said: list[str] = []
    options = {"checkpoint_dir": journal, "checkpoint_every": "100KB", "on_warning": said.append}
    found = zeton.count_files(files, on_error="skip", **options)  # type: ignore[arg-type]
    assert "resuming from" in said[0]
    assert found.most_common(10**6) == zeton.count_corpus(["".join(texts)]).most_common(10**6)


def test_a_damaged_part_is_refused(corpus: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    zeton.count_files([corpus], checkpoint_dir=journal, checkpoint_every="300KB")
    part = journal / "000000.counts"
    content = part.read_bytes()
    middle = len(content) // 2
    part.write_bytes(content[:middle] + b"\xff" + content[middle + 1 :])
    with pytest.raises(zeton.errors.TrainError, match="to start over"):
        zeton.count_files(
            [corpus], checkpoint_dir=journal, checkpoint_every="300KB", on_warning=str
        )


def test_a_folder_that_is_no_journal_is_left_alone(corpus: Path, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    diary.mkdir()
    (diary / "notes.txt").write_text("mine")
    with pytest.raises(zeton.errors.TrainError, match=r"has 'notes\.txt', which is no part of"):
        zeton.count_files([corpus], checkpoint_dir=diary)
    assert (diary / "notes.txt").read_text() == "mine"
    out = tmp_path / "tok"
    (tmp_path / "tok.checkpoint").mkdir()
    (tmp_path / "tok.checkpoint" / "notes.txt").write_text("mine")
    done = subprocess.run(command(corpus, out), capture_output=True, check=False)
    assert done.returncode == 2
    assert (tmp_path / "tok.checkpoint" / "notes.txt").read_text() == "mine"


def test_another_part_in_place_of_ours_is_not_used(corpus: Path, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    expected = zeton.count_files(
        [corpus], checkpoint_dir=journal, checkpoint_every="300KB"
    ).most_common(1000)
    zeton.count_corpus(["other text"]).save(journal / "000000.counts")
    said: list[str] = []
    again = zeton.count_files(
        [corpus], checkpoint_dir=journal, checkpoint_every="300KB", on_warning=said.append
    )
    assert again.most_common(1000) == expected
    assert "starting over" in said[0]


def test_a_result_within_the_corpus_is_no_part_of_it(corpus: Path, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "a.txt").write_bytes((corpus / "a.txt").read_bytes())
    options = (
        "-n",
        "500",
        "--checkpoint-every",
        "300KB",
        "--memory",
        "4MB",
        "--report",
        "report.html",
    )
    train = [sys.executable, "-m", "zeton", "train", ".", *options]
    process = subprocess.Popen(train, cwd=folder, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
    wait_for_part(folder / "tokenizer.checkpoint", process)
    process.kill()
    process.communicate()
    done = subprocess.run(train, cwd=folder, capture_output=True, check=True)
    assert b"starting over" not in done.stderr
    first = (folder / "tokenizer" / "tokenizer.zeton").read_bytes()
    subprocess.run([*train, "--force"], cwd=folder, capture_output=True, check=True)
    assert (folder / "tokenizer" / "tokenizer.zeton").read_bytes() == first


def test_a_small_corpus_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("some text")
    zeton.count_files([tmp_path / "a.txt"], checkpoint_dir=tmp_path / "journal")
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]


def test_two_trainings_do_not_share_a_journal(corpus: Path, tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    journal = tmp_path / "journal"
    zeton.count_files([corpus], checkpoint_dir=journal, checkpoint_every="300KB")
    with (journal / "lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(zeton.errors.TrainError, match="another process writes there"):
            zeton.count_files([corpus], checkpoint_dir=journal, checkpoint_every="300KB")


def test_held_out_and_skipped_go_on_too(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    chance = random.Random(3)
    texts = [" ".join(f"{chance.randrange(9999):x}" for _ in range(200)) for _ in range(1000)]
    lines = [json.dumps({"text": text}) for text in texts]
    corpus.write_text("\n".join([*lines[:500], "broken", *lines[500:], "also broken"]))
    said: list[str] = []

    def count(journal: Path | None) -> zeton.Counts:
        return zeton.count_files(
            [corpus],
            checkpoint_dir=journal,
            checkpoint_every="100KB",
            memory="1MB",
            on_error="skip",
            validation=0.2,
            on_warning=said.append,
        )

    expected = count(None)
    for _ in range(2):
        found = count(tmp_path / "journal")
        assert found.most_common(10**6) == expected.most_common(10**6)
        assert found.validation is not None
        assert expected.validation is not None
        assert found.validation.most_common(10**6) == expected.validation.most_common(10**6)
    assert [line for line in said if "skipped 2 lines; first: " in line] == [said[0]] * 3
