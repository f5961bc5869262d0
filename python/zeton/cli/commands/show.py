"""`zeton show`: a text, with its tokens told apart, and how they came about."""

import json
import shutil
from collections.abc import Iterable, Iterator

import click

from zeton.cli.options.files import STDIN, bytes_of, read
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.cli.render import explained
from zeton.cli.render.color import color_option
from zeton.cli.render.drawing import bar, drawn


@click.command()
@click.argument("text", required=False)
@tokenizer_option
@special_option
@click.option("--file", help="A file to show in place of TEXT.")
@click.option("--ids/--no-ids", default=True, show_default=True, help="Each id after its token.")
@click.option("--rules", is_flag=True, help="Each piece over the name of the rule that made it.")
@click.option("--merges", is_flag=True, help="Each merge of each piece, in order.")
@click.option("--json", "as_json", is_flag=True, help="Pieces, rules and merges as JSON.")
@color_option
def show(
    *,
    text: str | None,
    name: str,
    specials: Specials,
    file: str | None,
    ids: bool,
    rules: bool,
    merges: bool,
    as_json: bool,
    colored: bool,
) -> None:
    """Show the tokens of TEXT (standard input by default).

    They stand on colours on a terminal, and between bars elsewhere or where NO_COLOR is set.
    """
    if text is not None and file is not None:
        raise click.UsageError("Give TEXT or --file, not both.")
    tokenizer = load(name)
    content = bytes_of(text) if text is not None else read(file or STDIN)
    if not (rules or merges or as_json):
        text_ids = tokenizer.encode(content, allowed_special=specials)
        tokens = ((token_id, tokenizer.token_bytes(token_id)) for token_id in text_ids)
        for line in lines(tokens, ids=ids, colored=colored):
            click.echo(line, color=colored)
        return
    explanation = tokenizer.explain(content, allowed_special=specials)
    if as_json:
        click.echo(json.dumps(explanation.to_dict()))
        return
    columns = shutil.get_terminal_size().columns
    if rules:
        for line in explained.rules(explanation, columns, ids=ids, colored=colored):
            click.echo(line, color=colored)
    if rules and merges:
        click.echo()
    if merges:
        for line in explained.merges(explanation, columns, colored=colored):
            click.echo(line, color=colored)


def lines(tokens: Iterable[tuple[int, bytes]], *, ids: bool, colored: bool) -> Iterator[str]:
    """Draw the tokens, and end the line after each that holds a line break."""
    line: list[str] = []
    for number, (token_id, token) in enumerate(tokens):
        line.append(drawn(token, token_id if ids else None, number, colored=colored))
        if b"\n" in token:
            yield bar(colored=colored).join(line)
            line = []
    if line:
        yield bar(colored=colored).join(line)
