"""The option that says how a file stores ids."""

import click

dtype_option = click.option(
    "--dtype",
    type=click.Choice(["uint16", "uint32"]),
    help="Type of the ids in a binary file; by default the smallest that fits the vocabulary.",
)
