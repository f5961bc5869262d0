"""Compare tokenizers as nanochat does: `python -m zeton.nanochat.tok_eval corpus/`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

import click

from zeton import corpus
from zeton.cli import Refusing
from zeton.cli.commands.evaluate import difference_column, text_columns, token_columns
from zeton.cli.options.samples import SAMPLES
from zeton.cli.options.texts import field_option, paths_argument
from zeton.cli.render.color import color_option
from zeton.cli.render.table import Cell, Column, aligned
from zeton.errors import Error
from zeton.evaluation import Row, measure
from zeton.nanochat import RustBPETokenizer, get_tokenizer
from zeton.nanochat.folder import shards
from zeton.tokenizer import Tokenizer

OURS = "Ours"

ROWS = 1024
"""The rows of a batch in nanochat's corpus."""

TEXTS = {
    "news": SAMPLES["English"],
    "korean": SAMPLES["Korean"],
    "code": SAMPLES["Python"],
    "math": SAMPLES["mathematics"],
    "science": SAMPLES["science"],
}


@click.command(cls=Refusing, context_settings={"help_option_names": ["-h", "--help"]})
@paths_argument
@field_option
@color_option
def tok_eval(*, paths: tuple[str, ...], field: str, colored: bool) -> None:
    """Compare nanochat's tokenizer with GPT-2's and GPT-4's on samples, files and folders.

    Without a PATH it reads the first rows of nanochat's corpus, and of its validation file.
    """
    compared = {
        "GPT-2": RustBPETokenizer.from_pretrained("gpt2"),
        "GPT-4": RustBPETokenizer.from_pretrained("cl100k_base"),
        OURS: get_tokenizer(),
    }
    tokenizers = {name: each.tokenizer for name, each in compared.items()}
    rows = [
        row
        for texts in (TEXTS.items(), corpus.texts(paths, field) if paths else beginnings(field))
        for row in measure(checked(texts, tokenizers), tokenizers=tokenizers)
    ]
    click.echo("\nVocab sizes:")
    for name, each in compared.items():
        click.echo(f"{name}: {each.get_vocab_size()}")
    for baseline in ("GPT-2", "GPT-4"):
        for line in comparison(rows, baseline, colored=colored):
            click.echo(line, color=colored)


def beginnings(field: str) -> Iterator[tuple[str, bytes]]:
    """Yield the first rows of nanochat's corpus and of its last file, if they exist."""
    files = shards()
    for name, some in (("train", files[:-1][:1]), ("val", files[-1:])):
        for _, text in islice(corpus.texts(some, field), ROWS):
            yield name, text


def checked(
    texts: Iterable[tuple[str, bytes]], tokenizers: Mapping[str, Tokenizer]
) -> Iterator[tuple[str, bytes]]:
    """Yield texts after a round trip through every tokenizer; a changed text is an error."""
    for file, text in texts:
        for name, tokenizer in tokenizers.items():
            if tokenizer.decode_bytes(tokenizer.encode(text)) != text:
                raise Error(f"{name} decodes {file} to another text; please report this bug")
        yield file, text


def comparison(rows: Iterable[Row], baseline: str, *, colored: bool) -> list[str]:
    """Return the lines of nanochat's table: a baseline beside our tokenizer."""
    names = (baseline, OURS)
    pairs = [Row(row.name, row.size, {name: row.tokens[name] for name in names}) for row in rows]
    difference = replace(difference_column(pairs, OURS), label="diff %", title="Relative")
    better = Column("better", [Cell(row.best() or "Tie") for row in pairs], left=True)
    columns = [
        *text_columns(pairs, "text type"),
        *(column for name in names for column in token_columns(pairs, name, decimals=2)),
        difference,
        better,
    ]
    titles, labels, *lines = aligned(columns, colored=colored)
    heading = f"\nComparison with {baseline}:"
    width = len(labels)
    return [heading, "=" * width, titles, labels.title(), "-" * width, *lines]


if __name__ == "__main__":
    tok_eval()
