"""`zeton train`: corpus in, tokenizer out."""

import json
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

import zeton
from zeton import corpus
from zeton.cli.options import learning
from zeton.cli.options.learning import say
from zeton.cli.options.texts import field_option, on_error_option, paths_argument
from zeton.rules import Rules, get_rules
from zeton.text.escape import visible
from zeton.work import checkpoint
from zeton.work.checkpoint import OtherWorkError
from zeton.work.executor import EXECUTORS

POSITIVE = click.IntRange(min=1)


def read_weights(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """Read `--weight 'code/*=3'`."""
    weights = {}
    for weight in given:
        pattern, is_there, number = weight.rpartition("=")
        if not (is_there and pattern and number.isascii() and number.isdigit()):
            raise click.BadParameter(f"{weight!r} is no PATH=N, such as 'code/*=3'")
        weights[pattern] = int(number)
    return weights


def read_rules(_: click.Context, __: click.Parameter, given: str | None) -> Rules | None:
    """Read the rules that `--rules` names."""
    return None if given is None else get_rules(given)


@click.command()
@paths_argument
@learning.learning_options
@learning.out_option
@click.option("--pattern", help="The pattern that splits a text into pieces.")
@click.option(
    "--rules",
    metavar="RULES",
    callback=read_rules,
    help="Rules in place of a pattern: a .toml or .json file, or a ready-made set, such as code.",
)
@field_option
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="PATH=N",
    callback=read_weights,
    help="How many times the texts of a file, or of a glob, count. May be repeated.",
)
@click.option(
    "--validation",
    default=0.0,
    metavar="SHARE",
    help="Share of the texts, such as 0.01, to measure the growing vocabulary on.",
)
@on_error_option
@click.option("--threads", type=POSITIVE, metavar="N", help="Threads to count with.")
@learning.memory_option
@click.option(
    "--checkpoint-every",
    default="1GB",
    show_default=True,
    metavar="SIZE",
    help="Save a checkpoint after every SIZE of text.",
)
@click.option("--restart", is_flag=True, help="Start over: discard the checkpoint.")
@click.option(
    "--executor",
    type=click.Choice(EXECUTORS),
    help="Count in units, on this machine or on a Ray cluster (RAY_ADDRESS, or this machine).",
)
@click.option("--workers", type=POSITIVE, metavar="N", help="Units to count at once on Ray.")
@click.option("--count-only", is_flag=True, help="Write the counts to OUT, for `zeton learn`.")
@learning.quiet_option
@click.pass_context
def train(
    context: click.Context,
    /,
    *,
    paths: tuple[str, ...],
    vocab_size: list[int],
    out: str,
    count_only: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of the package, by the same names.
) -> None:
    """Train a tokenizer on the texts of files and folders, and save it.

    Files are text, .jsonl or .parquet; text and .jsonl may also be .gz, .zst or .xz. A PATH may
    be a glob. Without a PATH the corpus is the sources of Python's standard library.

    Resumable: progress is saved in OUT.checkpoint. Run the same command again to continue.
    """
    files = corpus.files(paths) if paths else corpus.standard_library()
    checkpoint_dir = Path(f"{Path(out)}.checkpoint")
    if count_only:
        refuse_options_of_learning(context)
        for name in LEARNING_ONLY & options.keys():
            del options[name]
    targets = [out] if count_only else learning.targets(out, vocab_size)
    ours = {
        Path(path).absolute()
        for path in [*targets, checkpoint_dir, options.get("report") or checkpoint_dir]
    }
    files = [file for file in files if ours.isdisjoint([file.absolute(), *file.absolute().parents])]
    options |= {"checkpoint_dir": checkpoint_dir, "temp_dir": folder_of(out)}
    options["progress"] = learning.shown(quiet=quiet)
    options["on_warning"] = str if quiet else say
    if not quiet and (not paths or sys.stderr.isatty()):
        describe_corpus(files, given=bool(paths))
    with learning.warned(quiet=quiet), resume_hint(checkpoint_dir):
        if count_only:
            counts = zeton.count_files(files, **options)
            path = counts.save(out)
            summary = {"path": str(path), "pieces": len(counts), "texts": counts.texts}
            said = f"{visible(str(path))}: {len(counts)} pieces"
            click.echo(json.dumps(summary) if as_json else said)
        else:
            with learning.places(out, vocab_size):
                made = zeton.train_files(files, vocab_size=vocab_size, **options)
                learning.save(made, targets, as_json=as_json)
    checkpoint.discard(checkpoint_dir)


LEARNING_ONLY = {"specials", "initial", "min_count", "max_token_bytes", "report", "exact_size"}
"""The options that counting does not know."""


def refuse_options_of_learning(context: click.Context) -> None:
    """Refuse what counting alone cannot do, rather than leave it out."""
    for name in sorted(LEARNING_ONLY | {"vocab_size", "validation"}):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.removesuffix("s").replace("_", "-")
            raise zeton.Error(f"--{option} is for learning, and --count-only does not learn")
    if context.get_parameter_source("out") is not ParameterSource.COMMANDLINE:
        raise zeton.Error("--count-only needs --out, a file such as part.counts")
    if Path(context.params["out"]).is_dir():
        raise zeton.Error(f"{context.params['out']} is a folder; counts are a file")


def folder_of(out: str) -> Path:
    """Return where temporary files go: beside the result, which needs no room in memory."""
    folder = Path(out).absolute().parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def resume_hint(checkpoint_dir: Path) -> Iterator[None]:
    """Say after Ctrl-C, or an error, what is kept."""
    try:
        yield
    except OtherWorkError:
        raise
    except (KeyboardInterrupt, zeton.Error) as error:
        if checkpoint.holds_results(checkpoint_dir):
            say(f"progress is saved in {checkpoint_dir}; run the same command to resume")
        elif isinstance(error, KeyboardInterrupt):
            say("stopped before the first checkpoint; run the same command to start over")
        raise


def describe_corpus(files: list[Path], *, given: bool) -> None:
    """Say what the corpus is: a folder leaves out what is hidden or binary."""
    library = f", the library of Python {platform.python_version()}"
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    source = "" if given else library
    say(f"training on {len(files)} files{source} ({megabytes:.1f} MB)")
