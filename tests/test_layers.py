"""Imports between the packages of `python/zeton` follow `python/layers.txt` and point downwards."""

import ast
from collections.abc import Iterator
from inspect import isroutine
from pathlib import Path

import zeton
from support.layers import PYTHON_LAYERS, allowed_imports, cycles
from support.paths import ROOT

PACKAGE = ROOT / "python/zeton"
FRONT_DOORS = {"__init__", "__main__"}
"""Modules that hold nothing of their own: `zeton` itself, and `python -m zeton`."""


def layer_of(file: Path) -> str:
    """Name the package or module at the top of `zeton` that a file belongs to."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py").removesuffix(".abi3.so")


LAYERS = {layer_of(file) for file in PACKAGE.rglob("*.py")} | {"_engine"}


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a file that run, without the bodies of `if TYPE_CHECKING:`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from running(node)


def modules(tree: ast.AST) -> Iterator[str]:
    """Yield the dotted names that a file imports.

    For example, `from zeton import load` is `zeton.load`, as is an attribute `zeton.load`.
    """
    for node in running(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "zeton":
            yield f"zeton.{node.attr}"
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module, from zeton on"
            if node.module == "zeton":
                yield from (f"zeton.{each.name}" for each in node.names)
            else:
                yield node.module or ""


def public_names() -> dict[str, str]:
    """Return the module that each name of `zeton` comes from, as `zeton/__init__.py` has it."""
    tree = ast.parse((PACKAGE / "__init__.py").read_text())
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("zeton."):
            found |= {each.name: (node.module or "").split(".")[1] for each in node.names}
    return found


def imports(file: Path, names: dict[str, str]) -> set[str]:
    """Return the layers that a file imports, without its own.

    For example, `from zeton import search` is the package `search`, and `from zeton import load`
    is `tokenizer`, because `zeton/__init__.py` takes `load` from there.
    """
    found = set()
    for module in modules(ast.parse(file.read_text())):
        root, _, rest = module.partition(".")
        name = rest.split(".")[0]
        if root == "zeton" and name and name != "__version__":
            found.add(name if name in LAYERS else names.get(name, name))
    return found - {layer_of(file)}


def test_packages_import_only_downwards() -> None:
    table, names = allowed_imports(PYTHON_LAYERS), public_names()
    refused, closed = [], set()
    for file in sorted(PACKAGE.rglob("*.py")):
        layer = layer_of(file)
        if layer in FRONT_DOORS:
            continue
        assert layer in table, f"{layer} is in no line of python/layers.txt"
        for lower in sorted(imports(file, names) - table[layer]):
            if (layer, lower) in cycles(PYTHON_LAYERS):
                closed.add((layer, lower))
            else:
                refused.append(f"{file.relative_to(ROOT)}: {layer} may not import {lower}")
    assert refused == [], "\n".join(refused)
    assert cycles(PYTHON_LAYERS) == closed, "the cycle is cut: remove its line"


def test_the_table_of_packages_is_in_order() -> None:
    table = allowed_imports(PYTHON_LAYERS)
    order = list(table)
    assert set(order) == LAYERS - FRONT_DOORS
    for layer, allowed in table.items():
        assert allowed <= set(order[: order.index(layer)]), layer
    for layer, upper in cycles(PYTHON_LAYERS):
        assert order.index(layer) < order.index(upper), f"{layer} > {upper} points downwards"


def test_no_package_has_the_name_of_a_public_function() -> None:
    packages = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    functions = {name for name in zeton.__all__ if isroutine(getattr(zeton, name))}
    assert "train" in functions
    assert packages & functions == set()
