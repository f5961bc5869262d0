"""The option that says how a file stores ids."""

import click

import zeton
from zeton.work.npy_file import Dtype, dtype_of

dtype_option = click.option(
    "--dtype",
    type=click.Choice(["uint16", "uint32"]),
    help="Type of the ids in a binary file; by default the smallest that fits the vocabulary.",
)


def check_dtype(tokenizer: zeton.Tokenizer, dtype: Dtype | None) -> None:
    """Raise an error for a type of numbers that is too small for the ids of a tokenizer."""
    size = tokenizer.vocab_size
    if dtype == "uint16" and dtype_of(size) != "uint16":
        raise zeton.Error(f"ids up to {size - 1:,} do not fit uint16; give --dtype uint32")
