"""The texts of a command: files and folders of any kind that `jeton.corpus` reads."""

import click

paths_argument = click.argument("paths", nargs=-1, metavar="[PATH]...")

field_option = click.option(
    "--field", default="text", show_default=True, help="The field of a JSON line or Parquet row."
)
