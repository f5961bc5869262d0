"""`zeton count`: text in, number of tokens out."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

import zeton
from zeton.cli.options.files import STDIN, blocks, files_argument
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.text.escape import visible


@click.command()
@files_argument
@tokenizer_option
@special_option
@click.option(
    "--limit",
    type=click.IntRange(0),
    metavar="N",
    help="Stop at N tokens; print N if there are more.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def count(
    *, files: tuple[str, ...], name: str, specials: Specials, limit: int | None, as_json: bool
) -> None:
    """Count the tokens of each FILE (standard input by default)."""
    tokenizer = load(name)
    counts = [(file, tokens_of(tokenizer, file, specials, limit)) for file in files or (STDIN,)]
    total = sum(tokens for _, tokens in counts)
    if as_json:
        rows = [{"name": file, "tokens": tokens} for file, tokens in counts]
        click.echo(json.dumps({"files": rows, "tokens": total}))
        return
    if not files:
        click.echo(total)
        return
    for file, tokens in counts:
        click.echo(f"{tokens}\t{visible(file)}")
    if len(counts) > 1:
        click.echo(f"{total}\ttotal")


def tokens_of(tokenizer: zeton.Tokenizer, file: str, specials: Specials, limit: int | None) -> int:
    """Count the tokens of a file, a block at a time, no further than the limit."""
    encoder, tokens = tokenizer.encoder(allowed_special=specials), 0
    for block in shown(blocks(file), file):
        tokens += encoder.push_count(block, None)
        if limit is not None and tokens >= limit:
            return limit
    tokens += len(encoder.finish())
    return tokens if limit is None else min(tokens, limit)


def shown(parts: Iterator[bytes], file: str) -> Iterator[bytes]:
    """Show on a terminal how far a file is, with bytes a second and the time left."""
    if not sys.stderr.isatty():
        yield from parts
        return
    from tqdm import tqdm

    total = None if file == STDIN else Path(file).stat().st_size
    with tqdm(desc=file, total=total, unit="B", unit_scale=True, leave=False, delay=1) as bar:
        for part in parts:
            yield part
            bar.update(len(part))
