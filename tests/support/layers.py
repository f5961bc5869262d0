"""Tables of layers: `crates/zeton/layers.txt` and `python/layers.txt`."""

from pathlib import Path

from support.paths import ROOT

ENGINE_LAYERS = ROOT / "crates/zeton/layers.txt"
PYTHON_LAYERS = ROOT / "python/layers.txt"


def rows(file: Path) -> list[list[str]]:
    """Read a table: the cells of each line that is not a comment.

    For example, `text | errors work | cuts` is `["text", "errors work", "cuts"]`.
    """
    lines = file.read_text().splitlines()
    return [
        [cell.strip() for cell in line.split("|")]
        for line in lines
        if line and not line.startswith("#")
    ]


def allowed_imports(file: Path) -> dict[str, set[str]]:
    """Return each layer, lowest first, with the layers that it may import."""
    return {row[0]: set(row[1].split()) for row in rows(file) if len(row) == 3}


def cycles(file: Path) -> set[tuple[str, str]]:
    """Return the imports against the order that the table names: importer and imported."""
    named = (row[0].split(">") for row in rows(file) if len(row) == 2)
    return {(importer.strip(), imported.strip()) for importer, imported in named}
