"""`zeton decode`: ids in, text out."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

import zeton
from zeton.cli.options.files import STDIN, blocks, files_argument, is_shards, without_folders
from zeton.cli.options.ids import check_dtype, dtype_option
from zeton.cli.options.single import Single
from zeton.cli.options.tokenizer import load, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.corpus.formats import chunks
from zeton.text.escape import visible
from zeton.work.npy_file import Dtype

SEPARATORS = bytes.maketrans(b",[]\n\r\t\v\f", b"        ")
DIGITS_MAX = 20
NUMBER = re.compile(rb"[0-9]{1,20}")
IDS = re.compile(r"\[?[0-9]+[0-9, \[\]]*")
SHOWN_MAX = 60
"""Characters of ids that a message repeats."""

BLOCK_BYTES = 1 << 20
NPY = b"\x93NUMPY"


@click.command(
    cls=Single,
    epilog=examples(
        "zeton decode notes.ids > notes.txt",
        "zeton decode notes.npy > notes.txt",
        "zeton decode --ids '15496 995' -t gpt2",
    ),
)
@files_argument
@tokenizer_option
@click.option("--ids", metavar="IDS", help="Decode these ids, not a file.")
@dtype_option
def decode(*, files: tuple[str, ...], name: str, ids: str | None, dtype: Dtype | None) -> None:
    """Decode the ids of each FILE (standard input by default) into bytes.

    Ids are decimal numbers between spaces, line breaks, commas or brackets: the output of
    `zeton encode`, with --json or without. A .npy or .bin file holds binary ids, as
    `zeton encode --out` writes them. Nothing is added between texts.
    """
    if files and ids is not None:
        raise click.UsageError("Give FILE or --ids, not both.")
    for file in files:
        check_file(file, files)
    names = without_folders(files or (STDIN,))
    tokenizer = load(name)
    check_dtype(tokenizer, dtype)
    if ids is not None:
        click.echo(tokenizer.decode_bytes(checked([ids.encode().translate(SEPARATORS)])), nl=False)
        return
    for file in names:
        for block in ids_of(tokenizer, file, dtype):
            click.echo(tokenizer.decode_bytes(block), nl=False)


def check_file(file: str, files: tuple[str, ...]) -> None:
    """Raise an error for a folder of shards, and for ids where a file should be."""
    if is_shards(file):
        first = next(iter(sorted(Path(file).glob("*_000000.*"))), Path(file, "train_000000.bin"))
        raise zeton.Error(
            f"{file} is a folder of shards; name a file such as {first}, "
            f"or read the ids of a text with zeton.shards.open({file!r}).text(0)"
        )
    if IDS.fullmatch(file) and not Path(file).exists():
        ids = " ".join(files)
        shown = ids if IDS.fullmatch(ids) and len(ids) <= SHOWN_MAX else file[:SHOWN_MAX]
        raise zeton.Error(f"no file {file[:SHOWN_MAX]!r}; for ids give --ids {shown!r}")


def ids_of(tokenizer: zeton.Tokenizer, file: str, dtype: Dtype | None) -> Iterator[Iterable[int]]:
    """Yield the ids of a file a block at a time, text or binary."""
    if file != STDIN and Path(file).suffix in {".npy", ".bin"}:
        from zeton.text.id_files import read_ids

        return read_ids(tokenizer, file, dtype=dtype)
    read = blocks(file) if file == STDIN else chunks(Path(file), 0, BLOCK_BYTES)
    return numbers(read)


def numbers(parts: Iterable[bytes]) -> Iterator[list[int]]:
    r"""Read the ids that blocks of a text hold.

    >>> list(numbers([b"[1, 2", b"3]\n[4]"]))
    [[1], [23, 4]]
    """
    begun, known = b"", list[int]()  # The last ids are yielded when all words are known to be ids.
    for part in parts:
        if part.startswith(NPY) and not begun:
            raise zeton.Error("this is a NumPy array; name the file, and let it end in .npy")
        if known:
            yield known
        *whole, begun = (begun + part).translate(SEPARATORS).split(b" ")
        known = checked(whole if len(begun) <= DIGITS_MAX else [*whole, begun])
    yield known + checked([begun])


def checked(words: list[bytes]) -> list[int]:
    """Convert words to ids; anything but a decimal number is an error."""
    joined = b" ".join(words)
    found = joined.split()
    if joined.translate(None, b"0123456789 ") or max(map(len, found), default=0) > DIGITS_MAX:
        wrong = next(word for word in found if not NUMBER.fullmatch(word))
        raise zeton.Error(f'"{visible(wrong[:40])}" is not an id; an id is a decimal number')
    return list(map(int, found))
