"""`zeton encode`: text in, ids out."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

import zeton
from zeton.cli.options.files import (
    STDIN,
    Text,
    bytes_of,
    files_argument,
    raw_option,
    size_of,
    texts_of,
    without_folders,
)
from zeton.cli.options.ids import check_dtype, dtype_option
from zeton.cli.options.learning import check_new, force_option
from zeton.cli.options.single import Single
from zeton.cli.options.texts import field_option
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import watched
from zeton.plural import counted
from zeton.text.escape import visible
from zeton.work.npy_file import Dtype

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BINARY = {".npy", ".bin"}
"""The suffixes that `--out` takes."""


@click.command(
    cls=Single,
    epilog=examples(
        "zeton encode notes.txt > notes.ids",
        "zeton encode notes.txt -o notes.npy --dtype uint16",
        "zeton encode --text 'Hello<|endoftext|>' --special all -t gpt2",
    ),
)
@files_argument
@tokenizer_option
@special_option
@click.option("--text", help="Encode this text, not a file.")
@click.option("--prepend", metavar="NAME", help="Special token to put before each text.")
@click.option("--append", metavar="NAME", help="Special token to put after each text.")
@click.option(
    "-o", "--out", metavar="FILE", help="Write the ids of all texts to a .npy or bare .bin file."
)
@dtype_option
@force_option
@field_option
@raw_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array for each text.")
def encode(
    *,
    files: tuple[str, ...],
    name: str,
    specials: Specials,
    text: str | None,
    prepend: str | None,
    append: str | None,
    out: str | None,
    dtype: Dtype | None,
    force: bool,
    field: str,
    raw: bool,
    as_json: bool,
) -> None:
    """Encode each FILE (standard input by default) into a line of ids.

    A .gz, .zst or .xz file is unpacked. A .jsonl or .parquet file gives a line for each text.
    """
    if files and text is not None:
        raise click.UsageError("Give FILE or --text, not both.")
    if out is None and dtype is not None:
        raise zeton.Error("--dtype is for --out; give `--out ids.npy` too")
    if out is not None and Path(out).suffix not in BINARY:
        raise zeton.Error(f"--out is {out!r}; give a .npy or .bin file, or `> {out}` for text")
    if out is not None:
        check_new([Path(out)], force=force)
    names = [STDIN] if text is not None else without_folders(files or (STDIN,))
    tokenizer = load(name, specials, prepend, append)
    check_dtype(tokenizer, dtype)
    texts: Iterator[Text] = (each for file in names for each in read_texts(file, field, raw=raw))
    if text is not None:
        texts = iter([Text(STDIN, iter([bytes_of(text)]))])
    if out is not None:
        write(tokenizer, texts, out, dtype, (specials, prepend, append))
        return
    first, between, last = ("[", ", ", "]") if as_json else ("", " ", "")
    for each in texts:
        is_first = True
        for ids in encoded(tokenizer, each, specials, prepend, append):
            click.echo((first if is_first else between) + between.join(map(str, ids)), nl=False)
            is_first = False
        click.echo(f"{first}{last}" if is_first else last)


def read_texts(file: str, field: str, *, raw: bool) -> Iterator[Text]:
    """Yield the texts of a file, whose progress is shown."""
    for text in texts_of(file, field=field, raw=raw):
        size = size_of(file, raw=raw)
        yield text if size is None else Text(file, watched(text.blocks, file, size))


def encoded(
    tokenizer: zeton.Tokenizer,
    text: Text,
    specials: Specials,
    prepend: str | None,
    append: str | None,
) -> Iterator[list[int]]:
    """Yield the ids of a text a block at a time; no list is empty."""
    encoder = tokenizer.encoder(allowed_special=specials)
    if prepend is not None:
        yield tokenizer.encode("", prepend=prepend)
    for block in text.blocks:
        if ids := encoder.push(block):
            yield ids
    if ids := encoder.finish():
        yield ids
    if append is not None:
        yield tokenizer.encode("", append=append)


def write(
    tokenizer: zeton.Tokenizer,
    texts: Iterator[Text],
    out: str,
    dtype: Dtype | None,
    around: tuple[Specials, str | None, str | None],
) -> None:
    """Write the ids of all texts to one file, and print how many there are."""
    import numpy as np

    from zeton.text.id_files import write_ids

    def arrays() -> "Iterator[NDArray[np.uint32]]":
        for text in texts:
            for ids in encoded(tokenizer, text, *around):
                yield np.array(ids, np.uint32)

    count = write_ids(tokenizer, arrays(), out, dtype=dtype)
    click.echo(f"{visible(out)}: {counted(count, 'token')}")
