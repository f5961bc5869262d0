"""`zeton count`: text in, number of tokens out."""

import json
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import click

import zeton
from zeton.cli.options.files import (
    STDIN,
    Text,
    expanded,
    files_argument,
    raw_option,
    size_of,
    texts_of,
)
from zeton.cli.options.single import Single
from zeton.cli.options.sizes import Size
from zeton.cli.options.texts import field_option
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import say, watched
from zeton.corpus.formats import format_of
from zeton.text.escape import visible

BATCH_ROWS = 1 << 10
"""Rows of a table that are counted together, by all cores, at most."""

BATCH_CHARACTERS = 1 << 22
"""Characters that are counted together, at most, unless one row has more."""


@click.command(
    cls=Single,
    epilog=examples(
        "zeton count notes.txt -t cl100k_base",
        "zeton count corpus/ more.jsonl.gz",
        "zeton count --limit 8k < prompt.txt",
    ),
)
@files_argument
@tokenizer_option
@special_option
@click.option(
    "--limit",
    type=Size(),
    metavar="N",
    help="Stop reading a file at N tokens, and print N.",
)
@field_option
@raw_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def count(
    *,
    files: tuple[str, ...],
    name: str,
    specials: Specials,
    limit: int | None,
    field: str,
    raw: bool,
    as_json: bool,
) -> None:
    """Count the tokens of each FILE (standard input by default).

    A folder stands for the files in it. A .gz, .zst or .xz file is unpacked; of .jsonl and
    .parquet files the texts are counted. A file that cannot be read is reported, and the others
    are counted; the exit code is then 2.
    """
    tokenizer = load(name, specials)
    rows, failed = list[tuple[str, int]](), False
    for path in files or (STDIN,):
        try:
            for file in expanded([path]):
                tokens = tokens_of(tokenizer, file, specials, limit, field, raw=raw)
                rows.append((file, tokens))
                if files and not as_json:
                    click.echo(f"{tokens}\t{visible(file)}")
        except BrokenPipeError:
            raise
        except (zeton.Error, OSError) as error:
            say(error)
            failed = True
    total = sum(tokens for _, tokens in rows)
    if as_json:
        report = {"files": [{"name": file, "tokens": tokens} for file, tokens in rows]}
        click.echo(json.dumps(report | {"tokens": total}))
    elif not files and rows:
        click.echo(total)
    elif len(rows) > 1:
        click.echo(f"{total}\ttotal")
    if failed:
        sys.exit(2)


def tokens_of(
    tokenizer: zeton.Tokenizer,
    file: str,
    specials: Specials,
    limit: int | None,
    field: str,
    *,
    raw: bool,
) -> int:
    """Count the tokens of a file in bounded memory, and no further than the limit."""
    texts = texts_of(file, field=field, raw=raw)
    if file == STDIN or raw or not format_of(Path(file)).holds_many:
        parts = (tokens_of_text(tokenizer, text, specials, raw=raw) for text in texts)
        counts: Iterator[int] = chain.from_iterable(parts)
    else:
        rows_max = BATCH_ROWS if limit is None else 1
        counts = tokens_of_rows(tokenizer, texts, specials, rows_max)
    tokens = 0
    for each in counts:
        tokens += each
        if limit is not None and tokens >= limit:
            return limit
    return tokens


def tokens_of_text(
    tokenizer: zeton.Tokenizer, text: Text, specials: Specials, *, raw: bool
) -> Iterator[int]:
    """Yield the number of tokens of each block of a text."""
    encoder = tokenizer.encoder(allowed_special=specials)
    for block in watched(text.blocks, text.file, size_of(text.file, raw=raw)):
        yield encoder.push_count(block, None)
    yield len(encoder.finish())


def tokens_of_rows(
    tokenizer: zeton.Tokenizer, texts: Iterator[Text], specials: Specials, rows_max: int
) -> Iterator[int]:
    """Yield the number of tokens of each batch of short texts."""
    batch, characters = list[str](), 0
    for text in texts:
        row = "".join(map(str, text.blocks))
        batch.append(row)
        characters += len(row)
        if len(batch) >= rows_max or characters >= BATCH_CHARACTERS:
            yield sum(tokenizer.count_batch(batch, allowed_special=specials))
            batch, characters = [], 0
    yield sum(tokenizer.count_batch(batch, allowed_special=specials))
