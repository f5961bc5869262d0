"""Every file of rtl/ is in the design, and two linters have nothing to say about it."""

import os
import subprocess
import sys

import pytest

from rtl.simulation import RTL, sources

# Widths that meet at one configuration may differ at another.
CONFIGURATIONS: dict[str, dict[str, int]] = {
    "default": {},
    "lanes": {"LANES": 3},
    "large": {"ID_BITS": 18, "BANK_BITS": 16, "UNITS": 16},
    "small": {"ID_BITS": 13, "BANK_BITS": 11, "BRIDGE_BITS": 14, "UNITS": 2, "WIDE_UNITS": 1},
    "square": {"ID_BITS": 12, "BANK_BITS": 12, "SLOTS": 8, "WIDE_UNITS": 0},
}
# slang runs in a process of its own, because it prints its findings.
SLANG = """
import sys
from pyslang import driver
run = driver.Driver()
run.addStandardArgs()
assert run.parseCommandLine(" ".join(["slang", *sys.argv[1:]]), driver.CommandLineOptions())
sys.exit(not (run.processOptions() and run.parseAllSources() and run.runFullCompilation(True)))
"""

configurations = pytest.mark.parametrize(
    "name",
    ["default", *(pytest.param(name, marks=pytest.mark.long) for name in [*CONFIGURATIONS][1:])],
)


def test_the_design_has_every_file() -> None:
    assert set(sources("top")) == set(RTL.rglob("*.sv"))


@configurations
def test_verilator_has_nothing_to_say(name: str) -> None:
    found = verilator(*(f"-G{key}={value}" for key, value in CONFIGURATIONS[name].items()))
    assert found.returncode == 0, found.stderr


@configurations
def test_slang_has_nothing_to_say(name: str) -> None:
    found = slang(*(f"-G{key}={value}" for key, value in CONFIGURATIONS[name].items()))
    assert found.returncode == 0, found.stdout + found.stderr


def test_both_speak_up_when_there_is_something() -> None:
    wrong = "-GID_BITS=60"  # Wider than a table's entry.
    assert verilator(wrong).returncode != 0
    assert slang(wrong).returncode != 0


def verilator(*options: str) -> subprocess.CompletedProcess[str]:
    """Lint the whole; generated.vlt lists the waived warnings, with reasons."""
    command = [f"{os.environ['VERILATOR_ROOT']}/bin/verilator", "--lint-only", "-Wall"]
    command += ["--top-module", "top", *options, str(RTL / "generated.vlt")]
    command += [str(path) for path in sources("top")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def slang(*options: str) -> subprocess.CompletedProcess[str]:
    """Lint the whole; a cast may be of no use at some widths."""
    command = [sys.executable, "-c", SLANG, "--top", "top", *options]
    command += ["-Wextra", "-Wpedantic", "-Wno-useless-cast", "-Werror"]
    command += [str(path) for path in sources("top")]
    return subprocess.run(command, capture_output=True, text=True, check=False)
