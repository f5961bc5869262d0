"""A new tokenizer beside others, on files of its corpus that it was not trained on."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import zeton
from zeton import corpus
from zeton.cli.render.table import aligned
from zeton.evaluation import measure, total
from zeton.plural import counted

ONE_OF = 50
"""One file of so many is held out, chosen by its name, so that a run can be resumed."""


def split_files(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the files to train on, and the held-out ones: 2 % of many, none of a few.

    >>> kept, held_out = split_files([Path(f"{number}.txt") for number in range(200)])
    >>> len(kept), len(held_out), len(split_files([Path("a.txt")])[1])
    (197, 3, 0)
    """
    held_out = [
        file
        for file in files
        if int.from_bytes(sha256(file.name.encode(errors="replace")).digest()[:4]) % ONE_OF == 0
    ]
    if not held_out or len(held_out) == len(files):
        return list(files), []
    chosen = set(held_out)
    return [file for file in files if file not in chosen], held_out


def comparison(
    tokenizers: dict[str, zeton.Tokenizer],
    files: Sequence[Path],
    held_out: Sequence[Path],
    *,
    field: str,
    colored: bool,
) -> Iterator[str]:
    """Draw a table of one row: the held-out files, or a corpus of too few files itself."""
    from zeton.cli.commands.evaluate import table

    row = total(
        measure(corpus.texts(held_out or files, field=field), tokenizers=tokenizers),
        names=tokenizers,
    )
    row.name = counted(len(held_out or files), "held-out file" if held_out else "training file")
    yield ""
    if held_out:
        yield "On files of the corpus that were held out of the training:"
    else:
        yield "On the corpus itself, which has too few files to hold some out:"
    yield from aligned(table([row], list(tokenizers)), colored=colored)
    sizes = (f"{each.vocab_size:,} tokens of {name}" for name, each in tokenizers.items())
    yield f"Vocabularies: {', '.join(sizes)}."
