"""`zeton eval`: tokenizers compared on texts, by tokens and by bytes a token."""

import json
from collections.abc import Iterable, Iterator

import click

from zeton import corpus
from zeton.cli.options.files import refuse_shards
from zeton.cli.options.learning import quiet_option
from zeton.cli.options.samples import SAMPLES
from zeton.cli.options.single import Single
from zeton.cli.options.texts import field_option, paths_argument
from zeton.cli.options.tokenizer import FOLDER, is_tokenizer, load
from zeton.cli.render.color import color_option
from zeton.cli.render.examples import examples
from zeton.cli.render.progress import bar
from zeton.cli.render.table import Cell, Column, aligned, markdown
from zeton.errors import CorpusError
from zeton.evaluation import Row, measure, total

ROWS_MAX = 40
"""Files with a row of their own; the rest of a larger corpus shares one."""


@click.command(
    "eval",
    cls=Single,
    epilog=examples(
        "zeton eval corpus/ -t gpt2 -t o200k_base -t small.zeton",
        "zeton eval notes/ --total --markdown > comparison.md",
    ),
)
@paths_argument
@click.option(
    "-t",
    "--tokenizer",
    "names",
    multiple=True,
    metavar="TOKENIZER",
    help="Tokenizer to compare, by path or name. Repeatable. "
    f"By default gpt2, cl100k_base and, where there is one, ./{FOLDER}.",
)
@field_option
@click.option("--total", "only_total", is_flag=True, help="Print the total only.")
@color_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print a table in Markdown.")
@quiet_option
def evaluate(
    *,
    paths: tuple[str, ...],
    names: tuple[str, ...],
    field: str,
    only_total: bool,
    colored: bool,
    as_json: bool,
    as_markdown: bool,
    quiet: bool,
) -> None:
    """Compare tokenizers by the bytes a token holds.

    Columns of a tokenizer: its tokens, the ratio (bytes per token), and the percentage of the
    first tokenizer's tokens that it saves. The best ratio of a row is green, or has a star; the
    worst is red. Beyond 40 files the smaller ones share a row. Without a PATH the texts are
    short samples: prose in several languages, code, mathematics and science.
    """
    if as_json and as_markdown:
        raise click.UsageError("Give --json or --markdown, not both.")
    refuse_shards(paths)
    tokenizers = {name: load(name) for name in names or default_names()}
    texts = watched_texts(paths, field, quiet=quiet) if paths else SAMPLES.items()
    rows: list[Row] = measure(texts, tokenizers=tokenizers)
    if not rows:
        raise CorpusError("there is no text; give files or folders of text")
    whole = total(rows, names=tokenizers)
    if only_total:
        rows = []
    if as_json:
        report = {
            "files": [described(row) for row in rows],
            "total": described(whole),
            "vocab_size": {name: each.vocab_size for name, each in tokenizers.items()},
        }
        click.echo(json.dumps(report))
        return
    columns = table([*grouped(rows, tokenizers), whole], list(tokenizers))
    for line in markdown(columns) if as_markdown else aligned(columns, colored=colored):
        click.echo(line, color=colored)


def watched_texts(
    paths: tuple[str, ...], field: str, *, quiet: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield the texts of files, and show how many bytes were read."""
    done = 0
    with bar("eval", None, quiet=quiet) as tell:
        for name, text in corpus.texts(paths, field=field):
            yield name, text
            done += len(text)
            tell(done)


def grouped(rows: list[Row], names: Iterable[str]) -> list[Row]:
    """Keep the rows of the largest files, in order, and add the others up into one."""
    if len(rows) <= ROWS_MAX:
        return rows
    by_size = sorted(range(len(rows)), key=lambda at: -rows[at].size)
    largest = set(by_size[: ROWS_MAX - 1])
    others = total([row for at, row in enumerate(rows) if at not in largest], names=names)
    others.name = f"{len(rows) - len(largest)} other files"
    return [*(row for at, row in enumerate(rows) if at in largest), others]


def default_names() -> list[str]:
    """Return the names of the tokenizers that are compared by default."""
    return ["gpt2", "cl100k_base", *([FOLDER] if is_tokenizer(FOLDER) else [])]


def described(row: Row) -> dict[str, object]:
    """Return a row as values for JSON."""
    return {
        "name": row.name,
        "bytes": row.size,
        "tokens": row.tokens,
        "bytes_per_token": row.bytes_per_token(),
        "relative_difference": row.relative_difference(),
    }


def table(rows: list[Row], names: list[str]) -> list[Column]:
    """Return the columns: texts, then each tokenizer, compared with the first."""
    columns = text_columns(rows)
    for name in names:
        columns += token_columns(rows, name)
        if name != names[0]:
            columns.append(difference_column(rows, name))
    return columns


def text_columns(rows: list[Row], label: str = "text") -> list[Column]:
    """Return the names and the sizes of the texts."""
    return [
        Column(label, [Cell(row.name) for row in rows], left=True),
        Column("bytes", [Cell(str(row.size)) for row in rows]),
    ]


def token_columns(rows: list[Row], name: str, decimals: int = 3) -> list[Column]:
    """Return the tokens of a tokenizer, and its bytes a token."""
    return [
        Column("tokens", [Cell(str(row.tokens[name])) for row in rows], title=name),
        Column("ratio", [ratio_cell(row, name, decimals) for row in rows], title=name),
    ]


def ratio_cell(row: Row, name: str, decimals: int) -> Cell:
    """Return a ratio, with a mark if it is the best or the worst of its row."""
    ratio = row.bytes_per_token()[name]
    text = "-" if ratio is None else f"{ratio:.{decimals}f}"
    return Cell(text, "best" if name == row.best() else "worst" if name == row.worst() else None)


def difference_column(rows: list[Row], name: str) -> Column:
    """Return the share of the first tokenizer's tokens that another one saves."""
    shares = (row.relative_difference()[name] for row in rows)
    cells = [Cell("-" if share is None else f"{share:+.1f}%") for share in shares]
    return Column("diff", cells, title=name)
