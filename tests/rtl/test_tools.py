"""Says so when the accelerator's tests are left out, and when a part of them is."""

import shutil

import pytest

from rtl.conftest import MISSING


def test_the_tools_are_here() -> None:
    if MISSING:
        pytest.skip(f"all tests of rtl/ need {', '.join(MISSING)}; `make rtl` installs the wheels")


def test_icarus_is_here() -> None:
    if shutil.which("iverilog") is None:
        pytest.skip("the four-state runs need Debian's iverilog")
