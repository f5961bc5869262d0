"""The hooks that build the documentation as a site; `make docs` runs them."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from support.paths import ROOT


def hook(name: str, package: str) -> ModuleType:
    pytest.importorskip(package, reason=f"{package} is not installed; `make docs` does it")
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        '<img src="http://example.org/a.png">',
        '<p style="background: url(https://example.org/a.png)">',
        "<style>@import 'https://example.org/a.css'</style>",
    ],
)
def test_refuses_a_page_that_loads_from_another_host(page: str, tmp_path: Path) -> None:
    offline = hook("docs_offline", "mkdocs")
    site = tmp_path / "site"
    site.mkdir()
    (site / "index.html").write_text(page)
    with pytest.raises(offline.Abort, match=r"site/index\.html loads .*example\.org/a"):
        offline.on_post_build(config=SimpleNamespace(site_dir=str(site)))


@pytest.mark.parametrize(
    "page", ['<a href="https://example.org">', '<img src="a.svg">', '<script src="../a.js">']
)
def test_accepts_links_and_files_of_its_own(page: str, tmp_path: Path) -> None:
    offline = hook("docs_offline", "mkdocs")
    (tmp_path / "index.html").write_text(page)
    offline.on_post_build(config=SimpleNamespace(site_dir=str(tmp_path)))


def test_a_file_outside_docs_has_a_place_on_the_site() -> None:
    links = hook("docs_links", "mkdocs")
    page = ROOT / "docs/design/merge.md"
    target = links.resolve(page, "../../rtl/merge.sv")
    assert links.address(target) == "repository/rtl/merge.sv.md"
    assert links.address(links.resolve(page, "../train.md")) == "train.md"
    assert links.resolve(page, "../nothing.md") is None


def test_code_in_a_table_keeps_its_bars() -> None:
    markdown = pytest.importorskip("markdown")
    tables = hook("docs_tables", "markdown")
    page = tables.on_page_markdown("| regex | |\n|---|---|\n| `a\\|b` | c |\n")
    assert "<td><code>a|b</code></td>\n<td>c</td>" in markdown.markdown(page, extensions=["tables"])
    assert tables.on_page_markdown(r"`a\|b`") == r"`a\|b`"


def test_docstrings_of_the_bridge_reach_the_reference() -> None:
    docstrings = hook("docs_docstrings", "griffe")
    docs = docstrings.rust_docs()
    assert docs["TokenizerCore.encode"].startswith("Encode a text")
    assert "Decoder.push" in docs


def test_an_example_in_a_docstring_becomes_code() -> None:
    docstrings = hook("docs_docstrings", "griffe")
    assert docstrings.fence("One.\n\n>>> 1 + 1\n2") == "One.\n\n```pycon\n>>> 1 + 1\n2\n```"
    assert docstrings.unwrap("a\nb\n\nc\nd") == "a b\n\nc\nd"
