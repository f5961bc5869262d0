"""Ctrl-C at any moment, and lines of progress where there is no terminal."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

import pytest

from support.command import output

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")

INTERRUPTING = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(10)
"""


@pytest.mark.parametrize("module", ["click", "pyarrow", "unicodedata"])
def test_ends_quietly_while_modules_are_imported(tmp_path: Path, module: str) -> None:
    (tmp_path / f"{module}.py").write_text(INTERRUPTING)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    command = [sys.executable, "-m", "zeton", "eval", "a.parquet"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, b"zeton: stopped\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ["encode"],
        ["decode"],
        ["count"],
        ["show"],
        ["show", "--rules"],
        ["chunk", "-n", "100"],
        ["truncate", "-n", "10", "--side", "start"],
        ["find", "zebra"],
    ],
    ids=" ".join,
)
def test_a_long_input_is_stopped_within_a_second(tmp_path: Path, arguments: list[str]) -> None:
    text = "1234 567 89 " if arguments == ["decode"] else "some words of a text, again\n"
    endless = f"import sys\nwhile True: sys.stdout.write({text!r} * 9000)"
    command = [sys.executable, "-m", "zeton", *arguments]
    if arguments[0] != "find":
        command += ["-t", "gpt2"]
    with (
        (tmp_path / "out").open("wb") as out,
        subprocess.Popen([sys.executable, "-c", endless], stdout=subprocess.PIPE) as source,
        subprocess.Popen(command, stdin=source.stdout, stdout=out, stderr=subprocess.PIPE) as run,
    ):
        with pytest.raises(subprocess.TimeoutExpired):
            run.wait(1.5)
        run.send_signal(signal.SIGINT)
        try:
            code = run.wait(5)  # A second, on a machine with nothing else to do.
        finally:
            source.kill()
            run.kill()
        assert (code, pipe(run.stderr).read()) == (130, b"zeton: stopped\n")


def pipe(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def errors(folder: Path, *arguments: str, seconds: str = "0") -> list[str]:
    """Run a command with a line of progress after so many seconds; return the lines."""
    done = subprocess.run(
        [sys.executable, "-m", "zeton", *arguments],
        cwd=folder,
        env=os.environ | {"ZETON_PROGRESS_SECONDS": seconds},
        capture_output=True,
        check=True,
    )
    return done.stderr.decode().splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text of a few megabytes."""
    folder = tmp_path_factory.mktemp("progress")
    (folder / "a.txt").write_text("some words of a text, again and again\n" * 100_000)
    (folder / "b.txt").write_text("some words of a text, again and again\n" * 1_000)
    return folder


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["count", "a.txt", "-t", "gpt2"], "zeton: a.txt: 4 of 4 MB, "),
        (["encode", "a.txt", "-t", "gpt2"], "zeton: a.txt: 4 of 4 MB, "),
        (["show", "--file", "a.txt", "-t", "gpt2"], "zeton: a.txt: 4 of 4 MB, "),
        (["show", "--json", "--file", "b.txt", "-t", "gpt2"], "zeton: b.txt: 0 of 0 MB, "),
        (["eval", "a.txt", "-t", "gpt2"], "zeton: eval: 4 MB, "),
        (["find", "again and", "a.txt", "-c"], "zeton: a.txt: 4 of 4 MB, "),
        (["shard", "a.txt", "-t", "gpt2", "-o", "shards"], "zeton: shard: "),
        (["train", "a.txt", "-n", "270", "-o", "t.zeton"], "zeton: learn: "),
    ],
    ids=lambda each: each[0] if isinstance(each, list) else "",
)
def test_progress_is_a_line_where_there_is_no_terminal(
    folder: Path, arguments: list[str], line: str
) -> None:
    lines = errors(folder, *arguments)
    assert any(each.startswith(line) for each in lines), lines


def test_a_short_command_shows_no_progress(folder: Path) -> None:
    assert errors(folder, "count", "a.txt", "-t", "gpt2", seconds="60") == []
    assert output("count", folder / "a.txt", "-t", "gpt2")
