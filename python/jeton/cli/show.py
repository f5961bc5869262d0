r"""`jeton show`: a text, with its tokens told apart.

What would not print is escaped, so nothing in a text can command the terminal. A backslash of the
text is shown as two, so that `\n` is always a line break.
"""

from collections.abc import Iterable, Iterator

import click

from jeton.cli.color import color_option
from jeton.cli.files import STDIN, bytes_of, read
from jeton.cli.tokenizer import Specials, load, special_option, tokenizer_option
from jeton.visible import visible

# Black on pale colours of the fixed 256: the same on a dark terminal as on a light one.
COLORS = [f"\x1b[38;5;16;48;5;{pale}m" for pale in (153, 193, 223, 219)]
DIM = "\x1b[2m"
RESET = "\x1b[0m"

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


@click.command()
@click.argument("text", required=False)
@tokenizer_option
@special_option
@click.option("--file", help="A file to show in place of TEXT.")
@click.option("--ids/--no-ids", default=True, show_default=True, help="Each id after its token.")
@color_option
def show(
    *, text: str | None, name: str, specials: Specials, file: str | None, ids: bool, colored: bool
) -> None:
    """Show the tokens of TEXT (standard input by default).

    They stand on colours on a terminal, and between bars elsewhere or where NO_COLOR is set.
    """
    if text is not None and file is not None:
        raise click.UsageError("Give TEXT or --file, not both.")
    tokenizer = load(name)
    content = bytes_of(text) if text is not None else read(file or STDIN)
    text_ids = tokenizer.encode(content, specials=specials)
    tokens = ((token_id, tokenizer.token_bytes(token_id)) for token_id in text_ids)
    for line in lines(tokens, ids=ids, colored=colored):
        click.echo(line, color=colored)


def lines(tokens: Iterable[tuple[int, bytes]], *, ids: bool, colored: bool) -> Iterator[str]:
    """Draw the tokens, and end the line after each that holds a line break."""
    separator = "" if colored else "|"
    line: list[str] = []
    for index, (token_id, token) in enumerate(tokens):
        shown = visible(token.replace(b"\\", b"\\\\"))
        small = str(token_id).translate(SUBSCRIPTS) if ids else ""
        if colored:
            shown = f"{COLORS[index % len(COLORS)]}{shown}{RESET}"
            small = f"{DIM}{small}{RESET}" if ids else ""
        line.append(shown + small)
        if b"\n" in token:
            yield separator.join(line)
            line = []
    if line:
        yield separator.join(line)
