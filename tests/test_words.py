"""The words of the sources: rules of prose that a program can check.

The layers of the engine import only downwards, no type name stands twice in a crate, and prose has
no banned phrase, no line above 100 characters and few clauses headed by a pronoun. The check is a
floor: a comment that obeys it and still needs a second reading is not done.

`PYTHON_CHECKED` and `PAGES_CHECKED` are the tables of folders and pages, a line each.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.layers import ENGINE_LAYERS, allowed_imports
from support.paths import ROOT
from support.python_prose import prose_of

ENGINE = ROOT / "crates/zeton/src"
GENERATED = {"tables.rs", "registers.sv", "registers_pkg.sv"}

SOURCES = sorted(
    file
    for pattern in ("crates/*/src/**/*.rs", "crates/*/tests/**/*.rs", "rtl/*.sv", "fpga/**/*.sv")
    for file in ROOT.glob(pattern)
    if file.name not in GENERATED
)

PAGES_CHECKED = (
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "README.md",
    "SECURITY.md",
    "bench/README.md",
    "docs/*.md",
    "docs/design/*.md",
    "docs/notes/*.md",
    "docs/reference/*.md",
    "examples/pronounce/README.md",
)
PAGES = sorted(
    page
    for pattern in PAGES_CHECKED
    for page in ROOT.glob(pattern)
    if page.name != "accelerator-registers.md"
)

PYTHON_CHECKED = (
    "bench",
    "examples",
    "python/zeton",
    "scripts",
    "tests/python/nanochat",
    "tests/python/seq2seq",
    "tests/python/tiktoken",
    "tests/support",
)
"""Folders and files of Python whose docstrings, comments and option help are checked."""

PYTHON = sorted(
    file
    for place in PYTHON_CHECKED
    for file in ([ROOT / place] if place.endswith(".py") else (ROOT / place).rglob("*.py"))
)

BANNED = (
    "foretold",
    "in vain",
    "abreast",
    "whoever",
    "of use no more",
    "line of the cache",
    "lines of the cache",
    "handed over",
    "hands over",
    "hand over",
    "so many of",
    "the same with",
    "likewise",
    "as above",
    "of those",
    "first seen",
    "goes back",
)
"""Phrases of the private dialect that this code once spoke; docs/glossary.md has the field's."""

PRONOUNS = re.compile(r"\b(what|who|whoever|whatever|those)\b", re.IGNORECASE)
PRONOUNS_PER_1000_WORDS = 2
PROSE_COLUMNS_MAX = 100
EXAMPLE_FROM_LINES = 150
EXAMPLE = re.compile(r"for example|e\.g\.|# Examples?\b|```", re.IGNORECASE)
DIAGRAM = re.compile(r"(-->|──|→|\+--|\|\s.*\|)")


def comments(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a source that hold a comment, numbered from 1, markers left out."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        found = re.search(r"(?:^|\s)//[/!]?\s?(.*)", line)
        if found and '"' not in line[: found.start()]:
            yield number, found[1]


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a page that are neither code nor a row of a table."""
    in_code = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and not line.lstrip().startswith("|"):
            yield number, line


def texts(file: Path) -> list[tuple[int, str]]:
    """Return the lines of prose of a source or a page."""
    readers = {".md": prose, ".py": prose_of}
    return list(readers.get(file.suffix, comments)(file))


def name(file: Path) -> str:
    return str(file.relative_to(ROOT))


def without_tests(source: str) -> str:
    """Leave out comments and the module of tests, which ends a file."""
    source = re.split(r"#\[cfg\(test\)\]\n(?:pub\([\w: ]+\) )?mod tests", source)[0]
    return re.sub(r"//.*", "", source)


def imports(file: Path, roots: dict[str, str]) -> set[str]:
    """Return the layers that a file names, by `crate::` or by a chain of `super::` to the root.

    `roots` maps each name that the crate re-exports to its layer.
    """
    source = without_tests(file.read_text())
    names = re.findall(r"\bcrate::(\w+)", source)
    module = file.relative_to(ENGINE).with_suffix("").parts
    depth = len(module) - (module[-1] == "mod")
    names += re.findall(rf"\b(?:super::){{{depth}}}(?!super)(\w+)", source)
    for group in re.findall(r"\bcrate::\{([^;]*)\};", source):
        names += re.findall(r"(?:^|,)\s*(\w+)", group)
    return {roots.get(name, name) for name in names}


def test_layers_import_only_downwards() -> None:
    table = allowed_imports(ENGINE_LAYERS)
    order = list(table)
    library = (ENGINE / "lib.rs").read_text()
    exported = re.findall(r"pub use (\w+)::(?:[\w:]*::)?(\{[^}]*\}|\w+);", library)
    roots = {
        item.strip(): layer for layer, items in exported for item in items.strip("{}").split(",")
    }
    for layer, allowed in table.items():
        assert all(order.index(lower) < order.index(layer) for lower in allowed), layer
    refused = []
    for file in sorted(ENGINE.rglob("*.rs")):
        layer = file.relative_to(ENGINE).parts[0].removesuffix(".rs")
        if layer == "lib" or file.name == "tests.rs":
            continue
        assert layer in table, f"{name(file)} is in no layer of crates/zeton/layers.txt"
        wrong = imports(file, roots) - table[layer] - {layer}
        refused += [f"{name(file)}: {layer} may not import {lower}" for lower in sorted(wrong)]
    assert refused == []


def test_architecture_shows_the_table_of_layers() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text()
    shown = dict(re.findall(r"(?m)^\| `(\w+)` \| ([\w ,`–-]*) \|", page))
    read = {layer: set(re.findall(r"\w+", allowed)) for layer, allowed in shown.items()}
    assert read == allowed_imports(ENGINE_LAYERS)
    assert list(read) == list(allowed_imports(ENGINE_LAYERS))


@pytest.mark.parametrize("crate", ["zeton", "bridge"])
def test_no_type_name_stands_twice_in_a_crate(crate: str) -> None:
    declared = re.compile(r"(?m)^\s*(?:pub(?:\([\w: ]+\))? )?(?:struct|enum|trait|union) (\w+)")
    names = Counter(
        found
        for file in sorted((ROOT / "crates" / crate / "src").rglob("*.rs"))
        for found in declared.findall(file.read_text())
    )
    assert [name for name, count in names.items() if count > 1] == []


CONSTRUCTOR = re.compile(
    r"(?P<attributes>(?:#\[[^\]]*\]\s*)*)(?:pub(?:\([\w: ]+\))? )?(?:const |unsafe )*"
    r"fn (?P<name>new|from_\w+|(?:parse|try_from|recognise)\w*)\b(?:<[^(]*>)?\([^{;]*?\)"
    r"\s*->\s*(?P<returned>[^{;]+?)\s*(?:where[^{]*)?\{"
)
PYTHON_CALLS_IT = ("#[new]", "#[pyfunction]", "#[staticmethod]")


def test_constructors_say_whether_they_can_fail() -> None:
    """`new` and `from_*` cannot fail, `parse` and `try_from_*` can, `recognise` gives an Option."""
    wrong = []
    for file in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        for found in CONSTRUCTOR.finditer(without_tests(file.read_text())):
            function, returned = found["name"], found["returned"]
            if function == "from_str" or any(it in found["attributes"] for it in PYTHON_CALLS_IT):
                continue
            can_fail = returned.startswith(("Result", "PyResult", "Option"))
            says_so = function.startswith(("parse", "try_from", "recognise"))
            if can_fail != says_so or (function == "recognise" and returned[:6] != "Option"):
                wrong.append(f"{name(file)}: {function} -> {returned}")
    assert wrong == []


@pytest.mark.parametrize("file", SOURCES + PAGES + PYTHON, ids=name)
def test_prose_has_no_banned_phrase_and_no_long_line(file: Path) -> None:
    wrong = []
    lines = file.read_text().splitlines()
    for number, text in texts(file):
        found = [phrase for phrase in BANNED if phrase in text.lower()]
        wrong += [f"{number}: {phrase}: {text}" for phrase in found]
        is_link = "](" in text or "http" in text
        is_checked_by_ruff = file.suffix == ".py"
        if len(lines[number - 1]) > PROSE_COLUMNS_MAX and not is_link and not is_checked_by_ruff:
            wrong.append(f"{number}: {len(lines[number - 1])} columns: {text}")
    assert wrong == []


FOLDERS = ["crates/zeton", "crates/bridge", "rtl", "fpga", "docs", *PYTHON_CHECKED]
FOLDERS += [page for page in PAGES_CHECKED if "/" not in page]


def test_the_tables_name_what_exists() -> None:
    missing = [place for place in FOLDERS if not (ROOT / place).exists()]
    missing += [page for page in PAGES_CHECKED if not [*ROOT.glob(page)]]
    assert missing == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_sentences_have_nouns_for_subjects(folder: str) -> None:
    files = [file for file in SOURCES + PAGES + PYTHON if name(file).startswith(folder)]
    lines = [(f"{name(file)}:{number}", text) for file in files for number, text in texts(file)]
    words = sum(len(re.findall(r"[A-Za-z]+", text)) for _, text in lines)
    found = [f"{place}: {text}" for place, text in lines if PRONOUNS.search(text)]
    assert len(found) <= max(1, words * PRONOUNS_PER_1000_WORDS / 1000), "\n".join(found)


FILE_NAMES = re.compile(
    r"\b(?:crates|python|rtl|fpga|tests|bench|scripts|docs)/[\w/.-]+\.(?:rs|sv|py|pyi|md|cpp|rdl)\b"
)


def test_comments_and_pages_name_files_that_exist() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("python/**/*.py")]
    missing = [
        f"{name(file)} names {found}"
        for file in [*SOURCES, *pages]
        for found in FILE_NAMES.findall(file.read_text())
        if not (ROOT / found).exists() and not (ROOT / "crates/zeton" / found).exists()
    ]
    assert missing == []


@pytest.mark.parametrize("file", SOURCES, ids=name)
def test_a_long_file_has_an_example(file: Path) -> None:
    source = file.read_text()
    if len(source.splitlines()) <= EXAMPLE_FROM_LINES or file.name == "tests.rs":
        return
    text = "\n".join(text for _, text in comments(file))
    assert EXAMPLE.search(text) or DIAGRAM.search(text), f"{name(file)} has no example"
