"""`zeton eval`: how many tokens each tokenizer makes of texts, and how many bytes a token holds."""

import json

import click

from zeton import corpus
from zeton.cli.options.samples import SAMPLES
from zeton.cli.options.texts import field_option, paths_argument
from zeton.cli.options.tokenizer import FOLDER, is_tokenizer, load
from zeton.cli.render.color import color_option
from zeton.cli.render.table import Cell, Column, aligned, markdown
from zeton.errors import CorpusError
from zeton.evaluation import Row, measure, total


@click.command("eval")
@paths_argument
@click.option(
    "-t",
    "--tokenizer",
    "names",
    multiple=True,
    metavar="TOKENIZER",
    help="A path or a name, as in the other commands. May be repeated. "
    f"By default gpt2, cl100k_base and, where there is one, ./{FOLDER}.",
)
@field_option
@color_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a table in Markdown.")
def evaluate(
    *,
    paths: tuple[str, ...],
    names: tuple[str, ...],
    field: str,
    colored: bool,
    as_json: bool,
    as_markdown: bool,
) -> None:
    """Compare tokenizers by how many bytes a token holds.

    Each tokenizer has its tokens, their ratio (bytes per token) and the share of the first
    tokenizer's tokens that it saves. The best ratio of a row is green, or has a star; the worst
    is red. Without a PATH the texts are short samples of prose in several languages, of code,
    of mathematics and of science.
    """
    if as_json and as_markdown:
        raise click.UsageError("Give --json or --markdown, not both.")
    tokenizers = {name: load(name) for name in names or default_names()}
    texts = corpus.texts(paths, field=field) if paths else SAMPLES.items()
    rows = measure(texts, tokenizers=tokenizers)
    if not rows:
        raise CorpusError("there is no text; give files or folders of text")
    whole = total(rows, names=tokenizers)
    if as_json:
        report = {
            "files": [described(row) for row in rows],
            "total": described(whole),
            "vocab_size": {name: each.vocab_size for name, each in tokenizers.items()},
        }
        click.echo(json.dumps(report))
        return
    columns = table([*rows, whole], list(tokenizers))
    for line in markdown(columns) if as_markdown else aligned(columns, colored=colored):
        click.echo(line, color=colored)


def default_names() -> list[str]:
    """Name the tokenizers to compare when none is given."""
    return ["gpt2", "cl100k_base", *([FOLDER] if is_tokenizer(FOLDER) else [])]


def described(row: Row) -> dict[str, object]:
    """Say in JSON what a row holds."""
    return {
        "name": row.name,
        "bytes": row.size,
        "tokens": row.tokens,
        "bytes_per_token": row.bytes_per_token(),
        "relative_difference": row.relative_difference(),
    }


def table(rows: list[Row], names: list[str]) -> list[Column]:
    """Put texts first, then each tokenizer, and compare all but the first with it."""
    columns = text_columns(rows)
    for name in names:
        columns += token_columns(rows, name)
        if name != names[0]:
            columns.append(difference_column(rows, name))
    return columns


def text_columns(rows: list[Row], label: str = "text") -> list[Column]:
    """Name the texts and say how large they are."""
    return [
        Column(label, [Cell(row.name) for row in rows], left=True),
        Column("bytes", [Cell(str(row.size)) for row in rows]),
    ]


def token_columns(rows: list[Row], name: str, decimals: int = 3) -> list[Column]:
    """Say how many tokens one tokenizer makes, and how many bytes a token holds."""
    return [
        Column("tokens", [Cell(str(row.tokens[name])) for row in rows], title=name),
        Column("ratio", [ratio_cell(row, name, decimals) for row in rows], title=name),
    ]


def ratio_cell(row: Row, name: str, decimals: int) -> Cell:
    """Mark the best and the worst ratio of a row."""
    ratio = row.bytes_per_token()[name]
    text = "-" if ratio is None else f"{ratio:.{decimals}f}"
    return Cell(text, "best" if name == row.best() else "worst" if name == row.worst() else None)


def difference_column(rows: list[Row], name: str) -> Column:
    """Say what share of the first tokenizer's tokens another one saves."""
    shares = (row.relative_difference()[name] for row in rows)
    cells = [Cell("-" if share is None else f"{share:+.1f}%") for share in shares]
    return Column("diff", cells, title=name)
