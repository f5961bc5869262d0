"""Encodings by name: the vocabularies that come with zeton, and plugins."""

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from functools import cache, partial
from threading import RLock
from typing import Any

from zeton.errors import VocabError
from zeton.pretrained import pretrained, pretrained_names
from zeton.tiktoken.core import Encoding

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]

_lock = RLock()

ENCODINGS: dict[str, Encoding] = {}
"""The encodings made so far, by name."""

ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] | None = None
"""Functions that return the arguments of `Encoding`, by name; None before the first use."""

_OWN = "tiktoken_ext.openai_public"
"""tiktoken's own plugin, which downloads; zeton's bundled vocabularies replace it."""


def get_encoding(encoding_name: str) -> Encoding:
    """Return the encoding with a name; later calls return the same object."""
    if not isinstance(encoding_name, str):
        raise VocabError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    if encoding_name in ENCODINGS:
        return ENCODINGS[encoding_name]
    with _lock:
        if encoding_name not in ENCODINGS:
            ENCODINGS[encoding_name] = _make(encoding_name)
        return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """Return the names that `get_encoding` knows."""
    return list(_constructors())


def _make(name: str) -> Encoding:
    constructors = _constructors()
    if name not in constructors:
        known = f"known are {', '.join(constructors)}; plugins: {_available_plugin_modules()}"
        raise VocabError(f"Unknown encoding {name}; {known}")
    constructor = constructors[name]
    if isinstance(constructor, partial) and constructor.func is _arguments:
        return Encoding._of(name, pretrained(name))  # Without a copy of its tokens.
    return Encoding(**constructor())


def _constructors() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return all constructors, zeton's and the plugins'; the first call finds them."""
    global ENCODING_CONSTRUCTORS  # noqa: PLW0603 - tiktoken's name for it is public.
    with _lock:
        if ENCODING_CONSTRUCTORS is None:
            found: dict[str, Callable[[], dict[str, Any]]] = {
                name: partial(_arguments, name) for name in pretrained_names()
            }
            for module_name in _available_plugin_modules():
                _add_plugin(found, module_name)
            ENCODING_CONSTRUCTORS = found
        return ENCODING_CONSTRUCTORS


def _arguments(name: str) -> dict[str, Any]:
    tok = pretrained(name)
    return {
        "name": name,
        "pat_str": tok.pattern,
        "mergeable_ranks": tok.ranks(),
        "special_tokens": tok.specials,
    }


@cache
def _available_plugin_modules() -> Sequence[str]:
    """Return the names of plugins: modules in the namespace package `tiktoken_ext`."""
    try:
        namespace = importlib.import_module("tiktoken_ext")
    except ModuleNotFoundError:
        return []
    found = pkgutil.iter_modules(namespace.__path__, "tiktoken_ext.")
    return [module.name for module in found if module.name != _OWN]


def _add_plugin(found: dict[str, Callable[[], dict[str, Any]]], module_name: str) -> None:
    module = importlib.import_module(module_name)
    if not hasattr(module, "ENCODING_CONSTRUCTORS"):
        raise VocabError(f"tiktoken plugin {module_name} does not define ENCODING_CONSTRUCTORS")
    for name, constructor in module.ENCODING_CONSTRUCTORS.items():
        if name in found:
            raise VocabError(f"Duplicate encoding name {name} in tiktoken plugin {module_name}")
        found[name] = constructor
