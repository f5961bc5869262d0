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
from zeton.cli.options.files import STDIN, refuse_shards
from zeton.cli.options.single import Single
from zeton.cli.options.sizes import Share
from zeton.cli.options.texts import field_option, on_error_option, paths_argument
from zeton.cli.options.tokenizer import load
from zeton.cli.render.color import wants_color
from zeton.cli.render.comparison import comparison, split_files
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import say, shown
from zeton.plural import counted
from zeton.rules import Rules, get_rules
from zeton.text.escape import visible
from zeton.work import checkpoint
from zeton.work.checkpoint import OtherWorkError
from zeton.work.executor import EXECUTORS

POSITIVE = click.IntRange(min=1)

BASES = {
    "nanochat": "nanochat",
    "gpt2": "gpt2",
    "r50k_base": "gpt2",
    "p50k_base": "gpt2",
    "cl100k": "cl100k",
    "cl100k_base": "cl100k",
    "o200k": "o200k",
    "o200k_base": "o200k",
}
"""The base of rules for each name of a known pattern."""


def read_weights(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> dict[str, int]:
    """Read `--weight 'code/*=3'`."""
    weights = {}
    for weight in given:
        pattern, is_there, number = weight.rpartition("=")
        if not (is_there and pattern and number.isascii() and number.isdigit()):
            raise zeton.Error(f"--weight is {weight!r}; write PATH=N, such as 'code/*=3'")
        weights[pattern] = int(number)
    return weights


def read_pattern(_: click.Context, __: click.Parameter, given: str | None) -> str | None:
    """Check that `--pattern` is no name of a known pattern."""
    if given in BASES:
        raise zeton.Error(
            f"--pattern is {given!r}, a name; for its regular expression write "
            f'`base = "{BASES[given]}"` into rules.toml, and give --rules rules.toml'
        )
    return given


def read_rules(_: click.Context, __: click.Parameter, given: str | None) -> Rules | None:
    """Read the rules that `--rules` names."""
    return None if given is None else get_rules(given)


@click.command(
    cls=Single,
    epilog=examples(
        "zeton train corpus/ more.jsonl.zst -n 32k --special '<|endoftext|>'",
        "zeton train corpus/ -n 8k,32k --validation 1% --report report.html",
        "zcat corpus.txt.gz | zeton train - -o small.zeton",
    ),
)
@paths_argument
@learning.learning_options
@learning.out_option
@click.option(
    "--pattern",
    metavar="REGEX",
    callback=read_pattern,
    help="Regular expression of the pre-tokenizer.",
)
@click.option(
    "--rules",
    metavar="RULES",
    callback=read_rules,
    help="Rules, not a pattern: a .toml or .json file, or a ready-made set such as code.",
)
@field_option
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="PATH=N",
    callback=read_weights,
    help="Count the texts of a file, or of a glob, N times. Repeatable.",
)
@click.option(
    "--validation",
    default=0.0,
    type=Share(),
    metavar="SHARE",
    help="Share of the texts, such as 1%, held out to measure the vocabulary on.",
)
@on_error_option
@click.option("--threads", type=POSITIVE, metavar="N", help="Threads to count with.")
@learning.memory_option
@learning.checkpoint_option("1GB")
@click.option("--restart", is_flag=True, help="Start over: discard the checkpoint.")
@click.option(
    "--executor",
    type=click.Choice(EXECUTORS),
    help="Count in work units: here, or on a Ray cluster (RAY_ADDRESS, or a local one).",
)
@click.option("--workers", type=POSITIVE, metavar="N", help="Work units to count at once on Ray.")
@click.option("--count-only", is_flag=True, help="Write counts to OUT, for `zeton learn`.")
@click.option(
    "--compare",
    multiple=True,
    metavar="TOKENIZER",
    help="Hold out 2% of the files, and compare with a tokenizer on them. Repeatable.",
)
@learning.force_option
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
    compare: tuple[str, ...],
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of the package, by the same names.
) -> None:
    """Train a tokenizer on the texts of files and folders, and save it.

    Files are text, .jsonl or .parquet; text and .jsonl may also be .gz, .zst or .xz. A PATH may
    be a glob, or `-` for standard input. Without a PATH the corpus is the sources of Python's
    standard library.

    Resumable: progress is saved in OUT.checkpoint. Run the same command again to continue.
    """
    refuse_shards(paths)
    given = [STDIN_PATH if path == STDIN else path for path in paths]
    files = corpus.files(given) if paths else corpus.standard_library()
    checkpoint_dir = Path(f"{Path(out)}.checkpoint")
    if not options["restart"]:  # A resumed run was allowed to save when it began.
        force = force or checkpoint.holds_results(checkpoint_dir)
    others = {name: load(name) for name in compare}
    if count_only:
        refuse_options_of_learning(context)
        for name in LEARNING_ONLY & options.keys():
            del options[name]
    targets = [out] if count_only else learning.targets(out, vocab_size)
    ours = {
        Path(path).resolve()
        for path in [*targets, checkpoint_dir, options.get("report") or checkpoint_dir]
    }
    whole = [(file, file.resolve()) for file in files]
    files = [file for file, path in whole if ours.isdisjoint([path, *path.parents])]
    files, held_out = split_files(files) if compare else (files, [])
    # A pipe cannot be read again, so that a checkpoint of it would be of no use.
    is_resumable = all(map(Path.is_file, files))
    options["checkpoint_dir"] = checkpoint_dir if is_resumable else None
    options["temp_dir"] = folder_of(out)
    options["progress"] = shown(quiet=quiet)
    options["on_warning"] = str if quiet else say
    if not quiet and (not paths or sys.stderr.isatty()):
        describe_corpus(files, given=bool(paths))
    with learning.warned(quiet=quiet):
        if count_only:
            learning.check_new([Path(out)], force=force)
            with resume_hint(checkpoint_dir):
                counts = zeton.count_files(files, **options)
                path = counts.save(out)
            summary = {"path": str(path), "pieces": len(counts), "texts": counts.texts}
            said = f"{visible(str(path))}: {counted(len(counts), 'piece')}"
            click.echo(json.dumps(summary) if as_json else said)
        else:
            with learning.places(out, vocab_size, force=force), resume_hint(checkpoint_dir):
                made = zeton.train_files(files, vocab_size=vocab_size, **options)
                learning.save(made, targets, as_json=as_json)
    checkpoint.discard(checkpoint_dir)
    if others and not as_json:
        others |= dict(zip(targets, made, strict=True))
        colored = wants_color(context, context.command.params[0], "auto")
        field = options["field"]
        for line in comparison(others, files, held_out, field=field, colored=colored):
            click.echo(line, color=colored)


STDIN_PATH = "/dev/stdin"
"""The path of standard input, where the system has one."""

LEARNING_ONLY = {"specials", "initial", "min_count", "max_token_bytes", "report", "exact_size"}
"""The options that counting does not have."""


def refuse_options_of_learning(context: click.Context) -> None:
    """Raise an error for an option that has no effect on counts."""
    for name in sorted(LEARNING_ONLY | {"vocab_size", "validation", "compare"}):
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.removesuffix("s").replace("_", "-")
            raise zeton.Error(f"--{option} is for learning; give it to `zeton learn`, not here")
    if context.get_parameter_source("out") is not ParameterSource.COMMANDLINE:
        raise zeton.Error("--count-only needs --out, a file such as part.counts")
    if Path(context.params["out"]).is_dir():
        raise zeton.Error(f"{context.params['out']} is a folder; counts are a file")


def folder_of(out: str) -> Path:
    """Return the folder of temporary files: beside the result, because /tmp may be in memory."""
    folder = Path(out).absolute().parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def resume_hint(checkpoint_dir: Path) -> Iterator[None]:
    """Report after Ctrl-C, or an error, whether a checkpoint is kept."""
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
    """Report the size of the corpus, in which hidden and binary files of folders are left out."""
    library = f" of Python {platform.python_version()}'s standard library"
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    source = "" if given else library
    say(f"training on {counted(len(files), 'file')}{source} ({megabytes:.1f} MB)")
