"""What `zeton train` and `zeton learn` share: options, remarks, saving."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

import zeton
from zeton.cli.options.tokenizer import FOLDER, load
from zeton.text.escape import visible
from zeton.tokenizer import target_of
from zeton.work.progress import Shown, measured


def read_sizes(_: click.Context, __: click.Parameter, given: str) -> list[int]:
    """Read `--vocab-size 8192,32768`."""
    try:
        return [int(size) for size in given.split(",")]
    except ValueError:
        raise click.BadParameter(f"{given!r} is no number, nor several with commas") from None


def read_initial(_: click.Context, __: click.Parameter, name: str | None) -> zeton.Tokenizer | None:
    """Load the tokenizer that `--initial` names."""
    return None if name is None else load(name)


memory_option = click.option(
    "--memory", metavar="SIZE", help="Memory to use, as 2GB. By default, half of what is free."
)
quiet_option = click.option("--quiet", is_flag=True, help="No progress, no remarks.")
out_option = click.option(
    "-o",
    "--out",
    default=FOLDER,
    show_default=True,
    help="Where to save: a folder, or a file that ends in .zeton.",
)
OPTIONS = [
    click.option(
        "-n",
        "--vocab-size",
        default="16384",
        show_default=True,
        metavar="N[,N]...",
        callback=read_sizes,
        help="Tokens, bytes and specials included; several sizes are saved as OUT-N.",
    ),
    click.option(
        "--special", "specials", multiple=True, metavar="NAME", help="A special. May be repeated."
    ),
    click.option(
        "--initial",
        metavar="TOKENIZER",
        callback=read_initial,
        help="A tokenizer to go on from: its ids stay, new ones are added.",
    ),
    click.option(
        "--min-count",
        default=1,
        metavar="N",
        help="Leave out pieces that occur less often; a remark says how many.",
    ),
    click.option("--max-token-bytes", type=int, metavar="N", help="Make no longer tokens."),
    click.option("--report", metavar="FILE", help="Write a report as HTML."),
    click.option("--exact-size", is_flag=True, help="Refuse a corpus that has too few pairs."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
]


def learning_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of learning to a command."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@contextmanager
def places(out: str, sizes: Sequence[int]) -> Iterator[list[str]]:
    """Yield where each vocabulary goes; what cannot be saved is refused before the work.

    Folders that were made for it go again if nothing is saved.
    """
    names = targets(out, sizes)
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
            click.echo(f"{visible(str(path))}: {tokenizer.vocab_size} tokens")


def say(remark: Any) -> None:  # noqa: ANN401 - a text or a warning.
    """Say something that is no data."""
    click.echo(f"zeton: {visible(str(remark))}", err=True)


def shown(*, quiet: bool) -> Shown:
    """Return how progress is shown: as bars on a terminal; elsewhere what was asked for is said."""
    if quiet or sys.stderr.isatty():
        return not quiet
    return lambda now: say(measured(now)) if now.stage == "measure" else None


@contextmanager
def warned(*, quiet: bool) -> Iterator[None]:
    """Turn each warning into a line on stderr, or into nothing."""
    with warnings.catch_warnings(action="ignore" if quiet else "always"):
        warnings.showwarning = lambda message, *_: say(message)
        yield
