"""The files derived from rtl/registers.rdl are up to date."""

import runpy
from pathlib import Path

import pytest

from support.paths import ROOT

DERIVED = [
    "rtl/generated/registers.sv",
    "rtl/generated/registers_pkg.sv",
    "docs/accelerator-registers.md",
    "python/zeton/accel/registers.py",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("registers")
    runpy.run_path(str(ROOT / "scripts" / "build_registers.py"))["main"](folder)
    return folder


@pytest.mark.parametrize("path", DERIVED)
def test_what_is_derived_is_current(made: Path, path: str) -> None:
    assert (ROOT / path).read_text() == (made / path).read_text(), (
        f"{path} is not what rtl/registers.rdl says; run scripts/build_registers.py"
    )


def test_nothing_else_is_derived(made: Path) -> None:
    files = (path for path in made.rglob("*") if path.is_file())
    assert sorted(str(path.relative_to(made)) for path in files) == sorted(DERIVED)
