"""The texts of a command: files and folders of any kind that `zeton.corpus` reads."""

import click

paths_argument = click.argument("paths", nargs=-1, metavar="[PATH]...")

field_option = click.option(
    "--field", default="text", show_default=True, help="The field of a JSON line or Parquet row."
)

on_error_option = click.option(
    "--on-error",
    type=click.Choice(["raise", "skip"]),
    default="raise",
    show_default=True,
    help="What to do about a file or line that cannot be read.",
)
