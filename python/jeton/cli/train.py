"""`jeton train`: corpus in, tokenizer out."""

import json
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

import jeton
from jeton import corpus
from jeton.cli.texts import field_option, paths_argument
from jeton.cli.tokenizer import FOLDER
from jeton.cli.visible import visible
from jeton.tokenizer import target_of

POSITIVE = click.IntRange(min=1)


@click.command()
@paths_argument
@click.option(
    "-n",
    "--vocab-size",
    default=16384,
    show_default=True,
    metavar="N",
    help="Tokens, bytes and specials included.",
)
@click.option(
    "-o",
    "--out",
    default=FOLDER,
    show_default=True,
    help="Where to save: a folder, or a file that ends in .jeton.",
)
@click.option("--pattern", help="The pattern that splits a text into pieces.")
@click.option(
    "--special", "specials", multiple=True, metavar="NAME", help="A special. May be repeated."
)
@field_option
@click.option("--threads", type=POSITIVE, metavar="N", help="Threads to count with.")
@click.option("--memory", type=POSITIVE, metavar="BYTES", help="Memory to count within.")
@click.option("--exact-size", is_flag=True, help="Refuse a corpus that has too few pairs.")
@click.option("--quiet", is_flag=True, help="No progress, no remarks.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def train(
    *,
    paths: tuple[str, ...],
    vocab_size: int,
    out: str,
    pattern: str | None,
    specials: tuple[str, ...],
    field: str,
    threads: int | None,
    memory: int | None,
    exact_size: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Train a tokenizer on the texts of files and folders, and save it.

    Files are text, .jsonl or .parquet; text and .jsonl may also be .gz, .zst or .xz. A PATH may
    be a glob. Without a PATH the corpus is the sources of Python's standard library.
    """
    files = corpus.files(paths) if paths else corpus.standard_library()
    target_of(out)  # What cannot be saved is refused before the work.
    if not quiet and (not paths or sys.stderr.isatty()):
        remark(files, given=bool(paths))
    with warnings_in_one_line(quiet=quiet):
        tokenizer = jeton.train_files(
            files,
            vocab_size,
            field=field,
            pattern=pattern,
            specials=specials,
            threads=threads,
            memory=memory,
            progress=not quiet and sys.stderr.isatty(),
            exact_size=exact_size,
        )
    path = tokenizer.save(out)
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


def remark(files: list[Path], *, given: bool) -> None:
    """Say what the corpus is: a folder leaves out what is hidden or binary."""
    library = f", the library of Python {platform.python_version()}"
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    source = "" if given else library
    click.echo(f"jeton: training on {len(files)} files{source} ({megabytes:.1f} MB)", err=True)


@contextmanager
def warnings_in_one_line(*, quiet: bool) -> Iterator[None]:
    """Turn each warning into a line on stderr, or into nothing."""
    with warnings.catch_warnings(action="ignore" if quiet else "always"):
        warnings.showwarning = lambda message, *_: click.echo(f"jeton: {message}", err=True)
        yield
