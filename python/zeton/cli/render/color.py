"""The option that says whether a command prints in colour."""

import os
import sys

import click


def wants_color(_: click.Context, __: click.Parameter, choice: str) -> bool:
    """Read `auto` as: a person looks at stdout, and has not asked for no colour."""
    looked_at = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return choice == "always" or (choice == "auto" and looked_at)


color_option = click.option(
    "--color",
    "colored",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    callback=wants_color,
    help="Print colours: on a terminal, always or never.",
)
