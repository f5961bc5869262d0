"""tiktoken's surface on our engine: `import zeton.tiktoken as tiktoken` is the line to change.

Names, signatures, ids and types of error are those of tiktoken 0.14.0. Vocabularies come with the
package, nothing is downloaded. Where tiktoken panics, hangs or drops text, this refuses or does
what was meant; docs/tiktoken.md lists every such place.
"""

from zeton.tiktoken import core, load, model, registry
from zeton.tiktoken.core import Encoding
from zeton.tiktoken.model import encoding_for_model, encoding_name_for_model
from zeton.tiktoken.registry import get_encoding, list_encoding_names

__version__ = "0.14.0"
"""The version of tiktoken that this is equal to."""

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
