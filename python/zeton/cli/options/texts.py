"""The texts of a command: files and folders in every format that `zeton.corpus` reads."""

import click

paths_argument = click.argument("paths", nargs=-1, metavar="[PATH]...")

field_option = click.option(
    "--field",
    default="text",
    show_default=True,
    metavar="NAME",
    help="Field of a JSON line, or column of a Parquet file, that holds the text.",
)

on_error_option = click.option(
    "--on-error",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    show_default=True,
    help="Stop at a file or line that cannot be read, or skip and count it.",
)
