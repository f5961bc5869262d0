"""`jeton eval`: how many bytes a token of each tokenizer holds, file by file."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

import click

import jeton
from jeton.cli.samples import SAMPLES
from jeton.cli.tokenizer import FOLDER, is_tokenizer, load
from jeton.cli.visible import visible


@dataclass
class Row:
    """The size of one file, and how many tokens each tokenizer makes of it."""

    name: str
    size: int
    tokens: dict[str, int]

    def bytes_per_token(self) -> dict[str, float | None]:
        """Divide; an empty file has no answer."""
        return {
            name: self.size / tokens if tokens else None for name, tokens in self.tokens.items()
        }


@click.command("eval")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "-t",
    "--tokenizer",
    "names",
    multiple=True,
    metavar="TOKENIZER",
    help="A path or a name, as in the other commands. May be repeated. "
    f"By default gpt2, cl100k_base and, where there is one, ./{FOLDER}.",
)
@click.option(
    "--field", default="text", show_default=True, help="The field of a JSON line or Parquet row."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def evaluate(*, paths: tuple[str, ...], names: tuple[str, ...], field: str, as_json: bool) -> None:
    """Compare tokenizers by how many bytes a token holds.

    Without a PATH the texts are short samples of prose in several languages, and of code.
    """
    tokenizers = {name: load(name) for name in names or default_names()}
    texts = jeton.corpus.texts(paths, field=field) if paths else SAMPLES.items()
    rows = measure(texts, tokenizers)
    total = sum_of(rows, tokenizers)
    if as_json:
        report = {"files": [described(row) for row in rows], "total": described(total)}
        click.echo(json.dumps(report))
    else:
        for line in table([*rows, total], list(tokenizers)):
            click.echo(line)


def default_names() -> list[str]:
    """Name the tokenizers to compare when none is given."""
    return ["gpt2", "cl100k_base", *([FOLDER] if is_tokenizer(FOLDER) else [])]


def measure(
    texts: Iterable[tuple[str, bytes]], tokenizers: dict[str, jeton.Tokenizer]
) -> list[Row]:
    """Count the bytes and the tokens of each file, whose texts may be many."""
    rows: dict[str, Row] = {}
    for file, text in texts:
        row = rows.setdefault(file, Row(file, 0, dict.fromkeys(tokenizers, 0)))
        row.size += len(text)
        for name, tokenizer in tokenizers.items():
            row.tokens[name] += tokenizer.count(text)
    return list(rows.values())


def sum_of(rows: list[Row], names: Iterable[str]) -> Row:
    """Add all files up."""
    tokens = {name: sum(row.tokens[name] for row in rows) for name in names}
    return Row("total", sum(row.size for row in rows), tokens)


def described(row: Row) -> dict[str, object]:
    """Say in JSON what a row holds."""
    return {
        "name": row.name,
        "bytes": row.size,
        "tokens": row.tokens,
        "bytes_per_token": row.bytes_per_token(),
    }


def table(rows: list[Row], names: list[str]) -> list[str]:
    """Align names left and numbers right."""
    cells = [["bytes per token", *map(visible, names)]]
    for row in rows:
        numbers = row.bytes_per_token().values()
        cells.append([visible(row.name), *("-" if n is None else f"{n:.3f}" for n in numbers)])
    first, *others = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            [name.ljust(first), *(c.rjust(width) for c, width in zip(line, others, strict=True))]
        )
        for name, *line in cells
    ]
