"""A hook of MkDocs: pages may link to any file of the repository, and the site has that file.

A link such as `../crates/zeton/src/merge/windows.rs` works on a page that is read in a checkout.
The site holds `docs/` only, so each linked file outside becomes a page of the site as well: a
Markdown file as it is, a source file as a listing, a folder as the list of its files.

    docs/design/merge.md:  [windows](../../crates/zeton/src/merge/windows.rs)
    on the site:           [windows](../repository/crates/zeton/src/merge/windows.rs.md)

A link to a file that does not exist stays as it is, and `mkdocs build --strict` refuses it.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
LINK = re.compile(r"(?P<before>\]\()(?P<path>[^)#:\s]+)(?P<after>(?:#[^)\s]*)?\))")
LANGUAGES = {".rs": "rust", ".py": "python", ".sv": "systemverilog", ".toml": "toml"}
ALWAYS = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md")
"""Files outside `docs/` that the navigation names."""
HIDDEN = "---\nsearch:\n  exclude: true\n---\n\n"
"""Search finds pages of the documentation, not listings of sources."""


def on_files(files: Any, *, config: Any) -> Any:  # noqa: ANN401 - MkDocs has no types here.
    """Add a page for every file outside `docs/` that a page links to, and for theirs in turn."""
    waiting = [ROOT / name for name in ALWAYS]
    for file in files.documentation_pages():
        waiting += outside(Path(file.abs_src_path))
    added: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in added:
            continue
        added.add(path)
        uri = address(path)
        if path.suffix in {".svg", ".png"}:
            files.append(File.generated(config, uri, abs_src_path=str(path)))
            continue
        files.append(File.generated(config, uri, content=page(path)))
        if path.suffix == ".md":
            waiting += outside(path)
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:  # noqa: ANN401
    """Point links at the pages of the site."""
    uri = page.file.src_uri
    path = source(uri)
    if path is None or path.suffix != ".md":
        return markdown
    start = posixpath.dirname(uri)

    def point(found: re.Match[str]) -> str:
        target = resolve(path, found["path"])
        if target is None:
            return found[0]
        relative = posixpath.relpath(address(target), start or ".")
        return f"{found['before']}{relative}{found['after']}"

    return LINK.sub(point, markdown)


def outside(path: Path) -> list[Path]:
    """Return the files outside `docs/` that a page links to."""
    targets = (resolve(path, found["path"]) for found in LINK.finditer(path.read_text()))
    return [target for target in targets if target and not target.is_relative_to(ROOT / "docs")]


def resolve(path: Path, link: str) -> Path | None:
    """Return the file of the repository that a link on a page means, if there is one."""
    target = (path.parent / link).resolve()
    return target if target.exists() and target.is_relative_to(ROOT) else None


def address(path: Path) -> str:
    """Return the place of a file in the site's sources.

    >>> address(ROOT / "docs/train.md"), address(ROOT / "rtl/merge.sv")
    ('train.md', 'repository/rtl/merge.sv.md')
    """
    relative = path.relative_to(ROOT)
    if relative.parts[0] == "docs":
        return relative.relative_to("docs").as_posix()
    kept = path.suffix in {".md", ".svg", ".png"}
    return f"repository/{relative.as_posix()}{'' if kept else '.md'}"


def source(uri: str) -> Path | None:
    """Return the file of the repository that a page of the site shows."""
    if not uri.startswith("repository/"):
        return ROOT / "docs" / uri
    path = ROOT / uri.removeprefix("repository/")
    return path if path.exists() else None


def page(path: Path) -> str:
    """Return a file or folder outside `docs/` as Markdown."""
    if path.suffix == ".md":
        return path.read_text()
    name = path.relative_to(ROOT).as_posix()
    if path.is_dir():
        rows = [f"- `{each.name}{'/' * each.is_dir()}`" for each in sorted(path.iterdir())]
        return f"{HIDDEN}# {name}/\n\n" + "\n".join(rows) + "\n"
    language = LANGUAGES.get(path.suffix, "text")
    return f"{HIDDEN}# {name}\n\n`````{language}\n{path.read_text()}`````\n"
