"""Options, warnings and saving of `zeton train` and `zeton learn`."""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import click

import zeton
from zeton.cli.options.sizes import Size, Sizes
from zeton.cli.options.tokenizer import FOLDER, load
from zeton.cli.render.progress import say
from zeton.plural import counted
from zeton.text.escape import visible
from zeton.tokenizer import FILE_NAME, target_of


def read_initial(_: click.Context, __: click.Parameter, name: str | None) -> zeton.Tokenizer | None:
    """Load the tokenizer that `--initial` names."""
    return None if name is None else load(name)


MEMORY_LEAST = 1_000_000
"""A smaller memory is a number without its unit."""

memory_option = click.option(
    "--memory",
    type=Size(least=1, of_bytes=True, typo_below=MEMORY_LEAST),
    metavar="SIZE",
    help="Memory to use, such as 2GB. By default, half of the free memory.",
)
CHECKPOINT_LEAST = 1_000
"""Fewer bytes between checkpoints are a number without its unit."""


def checkpoint_option(default: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option for the bytes between checkpoints."""
    return click.option(
        "--checkpoint-every",
        default=default,
        show_default=True,
        type=Size(least=1, of_bytes=True, typo_below=CHECKPOINT_LEAST),
        metavar="SIZE",
        help="Save a checkpoint after every SIZE of text.",
    )


quiet_option = click.option("--quiet", is_flag=True, help="Print no progress and no warnings.")
force_option = click.option("--force", is_flag=True, help="Overwrite the file that OUT names.")
out_option = click.option(
    "-o",
    "--out",
    default=FOLDER,
    show_default=True,
    metavar="PATH",
    help="Where to save: a folder, or a file that ends in .zeton.",
)
OPTIONS = [
    click.option(
        "-n",
        "--vocab-size",
        default="16384",
        show_default=True,
        metavar="N[,N]...",
        type=Sizes(),
        help="Number of tokens, bytes and special tokens included, such as 32k. "
        "Several sizes are saved as OUT-N.",
    ),
    click.option(
        "--special", "specials", multiple=True, metavar="NAME", help="Special token. Repeatable."
    ),
    click.option(
        "--initial",
        metavar="TOKENIZER",
        callback=read_initial,
        help="Tokenizer to extend: its ids stay, new tokens are added.",
    ),
    click.option(
        "--min-count",
        default=1,
        type=Size(),
        metavar="N",
        help="Drop pieces with fewer than N occurrences; their number is reported.",
    ),
    click.option(
        "--max-token-bytes", type=Size(), metavar="N", help="Maximum length of a token in bytes."
    ),
    click.option("--report", metavar="FILE", help="Write a report in HTML."),
    click.option(
        "--exact-size", is_flag=True, help="Fail if the corpus has too few pairs for N tokens."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
]


def learning_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of learning to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@contextmanager
def places(out: str, sizes: Sequence[int], *, force: bool) -> Iterator[list[str]]:
    """Yield the path of each vocabulary, checked before the work: it must be new, unless `force`.

    Folders that were made for it are removed again if nothing is saved.
    """
    names = targets(out, sizes)
    check_new([saved_as(name) for name in names], force=force)
    new = [Path(name) for name in names if not Path(name).exists()]
    try:
        for name in names:
            target_of(name)
        yield names
    except BaseException:
        for folder in new:
            with suppress(OSError):  # It is no folder, or something was saved.
                folder.rmdir()
        raise


def saved_as(name: str) -> Path:
    """Return the file to which a tokenizer is saved.

    >>> saved_as("small.zeton"), saved_as("tokenizer")
    (PosixPath('small.zeton'), PosixPath('tokenizer/tokenizer.zeton'))
    """
    path = Path(name)
    return path if path.suffix == ".zeton" else path / FILE_NAME


def check_new(paths: Sequence[Path], *, force: bool) -> None:
    """Raise an error for a file that exists, unless it may be overwritten."""
    for path in paths:
        if path.is_file() and not force:
            raise zeton.Error(f"{path} exists; name another --out, or overwrite it with --force")


def targets(out: str, sizes: Sequence[int]) -> list[str]:
    """Return where each vocabulary goes.

    >>> targets("tok.zeton", [512, 1024])
    ['tok-512.zeton', 'tok-1024.zeton']
    """
    path, found = Path(out), [out]
    if len(sizes) > 1:
        suffix = path.suffix if path.suffix == ".zeton" else ""
        stem = str(path).removesuffix(suffix)
        found = [f"{stem}-{size}{suffix}" for size in sizes]
    return found


def save(tokenizers: Sequence[zeton.Tokenizer], paths: Sequence[str], *, as_json: bool) -> None:
    """Save tokenizers and print where they are."""
    for tokenizer, target in zip(tokenizers, paths, strict=True):
        path = tokenizer.save(target)
        if as_json:
            summary = {
                "path": str(path),
                "vocab_size": tokenizer.vocab_size,
                "merges": len(tokenizer.merges()),
                "specials": tokenizer.specials,
            }
            click.echo(json.dumps(summary))
        else:
            click.echo(f"{visible(str(path))}: {counted(tokenizer.vocab_size, 'token')}")


@contextmanager
def warned(*, quiet: bool) -> Iterator[None]:
    """Turn each warning into a line on stderr, or into nothing."""
    with warnings.catch_warnings(action="ignore" if quiet else "always"):
        warnings.showwarning = lambda message, *_: say(message)
        yield
