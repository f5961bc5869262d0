"""The command line as a user meets it: another process, its streams and its exit code."""

import os
import re
import subprocess
import sys
from pathlib import Path

COLOR = re.compile(r"\x1b\[[0-9;]*m")

Run = subprocess.CompletedProcess[bytes]


def zeton(*arguments: object, stdin: bytes = b"", folder: Path | None = None) -> Run:
    command = [sys.executable, "-m", "zeton", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=folder, check=False)


def output(*arguments: object, stdin: bytes = b"", folder: Path | None = None) -> str:
    run = zeton(*arguments, stdin=stdin, folder=folder)
    assert (run.returncode, run.stderr) == (0, b"")
    return run.stdout.decode()


def refusal(*arguments: object, stdin: bytes = b"", folder: Path | None = None) -> str:
    run = zeton(*arguments, stdin=stdin, folder=folder)
    assert (run.returncode, run.stdout) == (2, b"")
    line = run.stderr.decode()
    assert line.startswith("zeton: ")
    assert line.splitlines() == [line.removesuffix(os.linesep)]
    return line
