"""Every example in the documentation runs, and prints what it says it prints."""

import doctest
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

import click
import pytest

from support.paths import ROOT
from zeton.cli import main

ENGINE = ROOT / "crates/zeton/src"
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
    for page in [*PAGES, *ROOT.glob("*.md"), *ROOT.glob("examples/**/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_glossary_names_files_that_own_terms() -> None:
    rows = re.findall(
        r"(?m)^\| .* \| `([\w/.]+)` \| .* \|$", (ROOT / "docs/glossary.md").read_text()
    )
    assert len(rows) > 100
    missing = [row for row in rows if not (ROOT / row).exists() and not (ENGINE / row).exists()]
    assert missing == []


def test_the_code_map_has_every_folder() -> None:
    shown = re.findall(r"(?m)^\| `([\w./]+)/` \|", (ROOT / "CONTRIBUTING.md").read_text())
    assert shown == sorted(shown)
    assert set(shown) == folders()


def folders() -> set[str]:
    """Name the tracked folders of the repository, and those within the ones that hold packages."""
    git = which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone, so git cannot list its folders")
    listing = subprocess.run([git, "ls-files"], cwd=ROOT, check=True, capture_output=True)
    found = set()
    for line in listing.stdout.decode().splitlines():
        parents = [parent.as_posix() for parent in Path(line).parents][:-1]
        found |= {each for each in parents if str(Path(each).parent) in HOLD_FOLDERS}
    return found


HOLD_FOLDERS = {".", "crates", "python/zeton", "tests"}


def test_the_navigation_has_every_page() -> None:
    """`mkdocs build --strict` says the same; this needs no mkdocs."""
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    shown = re.findall(r"(?:- |: )([\w/-]+\.md)$", navigation, re.MULTILINE)
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")}
    notes = {page for page in pages if page.startswith("notes/")}
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (ROOT / "docs/notes/README.md").read_text())
    assert {f"notes/{page}" for page in listed} == notes - {"notes/README.md"}
    assert len(shown) == len(set(shown))
    assert {page for page in shown if not page.startswith("repository/")} == pages - notes


def test_the_readme_stays_short() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) <= 130
    paragraphs = re.sub(r"(?s)```.*?```", "", readme).split("\n\n")
    prose = [part for part in paragraphs if not part.lstrip().startswith(("|", "-", "#"))]
    assert max(len(part.strip().splitlines()) for part in prose) <= 4


def test_architecture_stays_short() -> None:
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 150


@pytest.mark.parametrize(
    ("option", "file"), [("--readme", "README.md"), ("--picture", "docs/assets/speed.svg")]
)
def test_the_figures_of_the_readme_are_those_of_the_recorded_run(option: str, file: str) -> None:
    command = [sys.executable, str(ROOT / "bench/peers.py"), option]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert printed in (ROOT / file).read_text()


SHELL = re.compile(r"(?ms)^```sh\n(.*?)^```")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_on_the_pages_exist_with_their_options(page: Path) -> None:
    lines = "\n".join(SHELL.findall(page.read_text())).replace("\\\n", " ").splitlines()
    for line in lines:
        words = re.split(r"\s#|[|>;&]", line)[0].split()
        if not words or words[0] != "zeton":
            continue
        command: click.Command = main
        options = {"--help", "--version"}
        for word in words[1:]:
            if isinstance(command, click.Group) and not word.startswith("-"):
                found = command.get_command(click.Context(command), word)
                assert found is not None, f"{page.name}: {line}"
                command = found
                options = {"--help", "-h"}.union(*(each.opts for each in command.params))
                options.update(*(each.secondary_opts for each in command.params))
            elif word.startswith("--"):
                assert word.split("=")[0] in options, f"{page.name}: {line}"


def test_the_reference_stays_small() -> None:
    lines = (ROOT / "python" / "zeton" / "reference.py").read_text().splitlines()
    assert len(lines) <= 150
