"""`zeton learn`: counts in, tokenizer out."""

from typing import Any

import click

import zeton
from zeton.cli.commands.train import folder_of
from zeton.cli.options import learning
from zeton.cli.options.single import Single
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import shown


@click.command(
    cls=Single,
    epilog=examples(
        "zeton train part1/ --count-only -o part1.counts",
        "zeton learn part1.counts part2.counts -n 32k",
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="COUNTS...")
@learning.learning_options
@learning.out_option
@learning.force_option
@learning.memory_option
@learning.quiet_option
def learn(
    *,
    paths: tuple[str, ...],
    vocab_size: list[int],
    out: str,
    force: bool,
    quiet: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of the package, by the same names.
) -> None:
    """Train a tokenizer from counts that `zeton train --count-only` wrote, and save it.

    Several files of counts give the tokenizer of all their texts together.
    """
    with learning.places(out, vocab_size, force=force) as targets, learning.warned(quiet=quiet):
        counts = zeton.Counts.load(*paths, temp_dir=folder_of(out))
        made = zeton.learn(counts, vocab_size=vocab_size, progress=shown(quiet=quiet), **options)
        learning.save(made, targets, as_json=as_json)
