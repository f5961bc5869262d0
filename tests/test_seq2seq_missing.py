"""Without torch, jeton is as before, and its encoder-decoder says what to install."""

import subprocess
import sys

WITHOUT = "import sys; sys.modules['torch'] = None; "


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_says_what_to_install() -> None:
    code = """
import jeton
try:
    import jeton.seq2seq
except jeton.Error as error:
    print(isinstance(error, ImportError), error)
"""
    said = run(WITHOUT + code)
    assert said.startswith("True jeton.seq2seq needs the package torch")
    assert "pip install 'jeton[torch]'" in said


def test_the_command_says_it_in_one_line() -> None:
    code = WITHOUT + "import sys; sys.argv = ['jeton', 'seq2seq', 'run', 'model']; "
    done = subprocess.run(
        [sys.executable, "-c", code + "from jeton.cli import main; main()"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "pip install 'jeton[torch]'" in done.stderr


def test_neither_the_package_nor_its_command_imports_torch() -> None:
    code = "import sys, jeton, jeton.cli; print('torch' in sys.modules, 'numpy' in sys.modules)"
    assert run(code) == "False False\n"
