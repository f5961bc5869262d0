"""`zeton learn`: counts in, tokenizer out."""

from typing import Any

import click

import zeton
from zeton.cli.commands.train import folder_of
from zeton.cli.options import learning


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="COUNTS...")
@learning.learning_options
@learning.out_option
@learning.memory_option
@learning.quiet_option
def learn(
    *,
    paths: tuple[str, ...],
    vocab_size: list[int],
    out: str,
    quiet: bool,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - those of the package, by the same names.
) -> None:
    """Learn a tokenizer from counts that `zeton train --count-only` made, and save it.

    Several counts files give what one count of all their texts would have given.
    """
    with learning.places(out, vocab_size) as targets, learning.warned(quiet=quiet):
        counts = zeton.Counts.load(*paths, temp_dir=folder_of(out))
        made = zeton.learn(
            counts, vocab_size=vocab_size, progress=learning.shown(quiet=quiet), **options
        )
        learning.save(made, targets, as_json=as_json)
