"""Without torch, zeton works, and its encoder-decoder names the package to install."""

import subprocess
import sys

WITHOUT = "import sys; sys.modules['torch'] = None; "


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_says_what_to_install() -> None:
    code = """
import zeton
try:
    import zeton.seq2seq
except zeton.Error as error:
    print(isinstance(error, ImportError), error)
"""
    said = run(WITHOUT + code)
    assert said.startswith("True zeton.seq2seq needs the package torch")
    assert "pip install '.[torch]'" in said


def test_the_command_says_it_in_one_line() -> None:
    code = WITHOUT + "import sys; sys.argv = ['zeton', 'seq2seq', 'run', 'model']; "
    done = subprocess.run(
        [sys.executable, "-c", code + "from zeton.cli import main; main()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install '.[torch]'" in done.stderr


def test_neither_the_package_nor_its_command_imports_torch() -> None:
    code = "import sys, zeton, zeton.cli; print('torch' in sys.modules, 'numpy' in sys.modules)"
    assert run(code) == "False False\n"
