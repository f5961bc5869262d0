"""tiktoken's API on zeton's engine: write `import zeton.tiktoken as tiktoken`.

Names, signatures, ids and error types equal tiktoken 0.14.0. Vocabularies come with the package, so
nothing is downloaded. Inputs on which tiktoken panics, hangs or drops text raise an error or give
the documented result; docs/tiktoken.md lists them all.
"""

from zeton.tiktoken import core, load, model, registry
from zeton.tiktoken.core import Encoding
from zeton.tiktoken.model import encoding_for_model, encoding_name_for_model
from zeton.tiktoken.registry import get_encoding, list_encoding_names

__version__ = "0.14.0"
"""The version of tiktoken with the same API."""

__all__ = [
    "Encoding",
    "core",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
    "load",
    "model",
    "registry",
]
