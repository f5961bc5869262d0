"""An extension of griffe: docstrings as the site's API reference shows them.

It changes four things, because griffe reads sources and imports nothing:

- An example gets a fence, because Markdown reads `>>>` as three quotations.
- A method of a compiled class gets the doc comment that its Rust function has in `crates/bridge`.
- The first paragraph becomes one line, because a summary shows the first line only.
- A private alias in a signature becomes its value: `text: _Text` is shown as `text: str | bytes`.

For example, `>>> tok.count("two words")` and the line `2` after it become a block of `pycon`.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from griffe import Docstring, Extension

BRIDGE = Path(__file__).parent.parent / "crates/bridge/src"
EXAMPLE = re.compile(r"(?m)^(?P<indent> *)>>> .*(?:\n(?! *$).+)*")
CLASS = re.compile(
    r"#\[pyclass\((?P<options>[^\]]*)\)\]\s*(?:pub(?:\([\w: ]+\))? )?struct (?P<name>\w+)"
)
METHODS = re.compile(r"#\[pymethods\]\nimpl (?P<name>\w+) \{\n(?P<body>.*?)\n\}\n", re.DOTALL)
METHOD = re.compile(
    r"(?P<doc>(?:    ///.*\n)+)(?:    #\[(?:[^\]]|\](?!\n))*\]\n)*    (?:pub )?fn (?P<name>\w+)"
)


def fence(docstring: str) -> str:
    r"""Put a fence around each example.

    >>> fence("One.\n\n>>> 1 + 1\n2")
    'One.\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return EXAMPLE.sub(
        lambda found: f"{found['indent']}```pycon\n{found[0]}\n{found['indent']}```", docstring
    )


def unwrap(docstring: str) -> str:
    r"""Put the first paragraph on one line, unless it is an example or a list.

    >>> unwrap("Encode a text\ninto ids.\n\nMore\nof it.")
    'Encode a text into ids.\n\nMore\nof it.'
    """
    first, *others = docstring.split("\n\n", 1)
    if not first.startswith((">>>", "- ")):
        first = first.replace("\n", " ")
    return "\n\n".join([first, *others])


@cache
def rust_docs() -> dict[str, str]:
    """Return the doc comments of the bridge's methods, by `Class.method`."""
    docs = {}
    for file in BRIDGE.rglob("*.rs"):
        source = file.read_text()
        names = {
            found["name"]: (re.search(r'name = "(\w+)"', found["options"]) or [0, found["name"]])[1]
            for found in CLASS.finditer(source)
        }
        for block in METHODS.finditer(source):
            for method in METHOD.finditer(block["body"] + "\n"):
                lines = re.sub(r"(?m)^    /// ?", "", method["doc"]).rstrip()
                docs[f"{names.get(block['name'], block['name'])}.{method['name']}"] = lines
    return docs


class Docstrings(Extension):
    """Completes the docstring and the signature of each object that griffe has read."""

    def on_object(self, *, obj: Any, **_: object) -> None:  # noqa: ANN401 - any of griffe's.
        """Complete one object."""
        if obj.docstring is None and obj.path.startswith("zeton._engine."):
            name = obj.path.removeprefix("zeton._engine.")
            if name in rust_docs():
                obj.docstring = Docstring(rust_docs()[name], parent=obj)
        if obj.docstring is not None and "```" not in obj.docstring.value:
            obj.docstring.value = fence(unwrap(obj.docstring.value))
        for parameter in obj.parameters if obj.is_function else ():
            name = getattr(parameter.annotation, "name", "")
            alias = obj.module.members.get(name) if name.startswith("_") else None
            if alias is not None and alias.is_attribute:
                parameter.annotation = alias.value
