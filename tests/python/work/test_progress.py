"""What training says of itself while it runs."""

import gzip
import re
from pathlib import Path

import pytest

import zeton
from zeton.work import progress


def test_what_is_left_is_told_by_the_pace_so_far() -> None:
    counting = zeton.Progress("count", 10.0, text_bytes=25, text_bytes_total=100)
    assert counting.left == 30.0
    learning = zeton.Progress("learn", 3.0, merges=10, merges_total=40)
    assert learning.left == 9.0
    assert zeton.Progress("count", 10.0, text_bytes=25).left is None
    assert zeton.Progress("learn", 0.0, merges_total=40).left is None


def test_a_bar_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["the theme of the thesis then"] * 100
    zeton.train(texts, vocab_size=262, progress=True)
    out, shown = capsys.readouterr()
    assert out == ""
    assert "count: 100%" in shown or "count:" in shown
    assert "100 texts" in shown
    assert "learn: 100%" in shown
    zeton.train(texts, vocab_size=262)
    assert capsys.readouterr().err == ""


def test_a_bar_says_what_was_held_out(capsys: pytest.CaptureFixture[str]) -> None:
    texts = [f"{number} and more " * 20 for number in range(200)]
    zeton.train(texts, vocab_size=262, progress=True, validation=0.3)
    shown = capsys.readouterr().err
    assert "held out: 1.000 bytes a token with 256 tokens" in shown
    assert re.search(r"learn: 100%.*, held out 1\.\d{3} bytes a token", shown)


def test_nobody_is_told_when_nobody_listens() -> None:
    with progress.shown(progress=False) as tell:
        tell(zeton.Progress("count", 1.0))


def test_an_error_of_the_listener_comes_through() -> None:
    def broken(_: zeton.Progress) -> None:
        raise RuntimeError("no more room on the page")

    with pytest.raises(RuntimeError, match="no more room"):
        zeton.train(["abab"], vocab_size=257, progress=broken)


def test_how_much_is_in_packed_files_is_told_by_those_that_are_done(tmp_path: Path) -> None:
    for name in "abcd":
        text = " ".join(f"{name}{number * 7919:x}" for number in range(20_000))
        (tmp_path / f"{name}.txt.gz").write_bytes(gzip.compress(text.encode()))
    told: list[zeton.Progress] = []
    counts = zeton.count_files([tmp_path], memory="1MB", progress=told.append)
    assert told[0].text_bytes_total is None
    assert told[-1].text_bytes == counts.corpus_bytes
    estimate = told[-1].text_bytes_total
    assert estimate is not None
    assert estimate >= counts.corpus_bytes
