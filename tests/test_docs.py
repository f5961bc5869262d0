"""Every example in the documentation runs, and prints what it says it prints."""

import doctest
import re
from pathlib import Path

import pytest

from support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


NEEDS = {"seq2seq.md": "torch"}
"""What a page's examples need that need not be installed."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if package := NEEDS.get(page.name):
        pytest.importorskip(package, reason=f"{package} is not installed; `make {package}` does it")
    monkeypatch.chdir(tmp_path)
    # A page may set it; it is set back afterwards.
    monkeypatch.setenv("ZETON_CACHE", str(tmp_path / "cache"))
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.MULTILINE)
    names = {"__name__": "__main__"}  # As where somebody types them.
    examples = doctest.DocTestParser().get_doctest(text, names, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(examples)
    assert runner.failures == 0


def test_the_pages_name_no_file_that_is_not_there() -> None:
    for page in [*PAGES, ROOT / "ARCHITECTURE.md", *ROOT.glob("examples/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reference_stays_small() -> None:
    lines = (ROOT / "python" / "zeton" / "reference.py").read_text().splitlines()
    assert len(lines) <= 150
