"""A parameter that is one of several names, with a suggestion for a misspelt one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import click

import zeton
from zeton.suggest import did_you_mean

if TYPE_CHECKING:
    AnyChoice: TypeAlias = click.Choice[str]
else:
    AnyChoice = click.Choice  # It is generic in newer versions of click only.


class Name(AnyChoice):
    """One of several names."""

    def __init__(self, choices: Sequence[str]) -> None:
        """Take the names."""
        super().__init__(choices)
        self.names = list(choices)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Check a name.

        >>> Name(["npy", "bin"]).convert("numpy", click.Option(["--format"]), None)
        Traceback (most recent call last):
        zeton.errors.Error: --format has no 'numpy'; did you mean 'npy'?
        """
        if value in self.names:
            return super().convert(value, param, ctx)
        option = max(param.opts, key=len) if param is not None else "the option"
        raise zeton.Error(f"{option} has no {value!r}{did_you_mean(value, self.names)}")
