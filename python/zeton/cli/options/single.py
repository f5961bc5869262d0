"""Commands that refuse an option given twice, of which click would keep the last in silence."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import click

import zeton


class Single(click.Command):
    """A command whose options come once each, unless they are flags or repeatable."""

    def make_parser(self, ctx: click.Context) -> Any:  # noqa: ANN401 - click keeps the type private.
        """Return click's parser, which then checks the options that it found."""
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_args(args: list[str]) -> Any:  # noqa: ANN401
            found, rest, order = parse(args)
            if not ctx.resilient_parsing:
                refuse_repeats(order)
            return found, rest, order

        parser.parse_args = parse_args
        return parser


def refuse_repeats(order: Sequence[click.Parameter]) -> None:
    """Raise an error for an option that comes more than once in the order of a command line.

    >>> refuse_repeats([click.Option(["-n", "--tokens"])] * 2)
    Traceback (most recent call last):
    zeton.errors.Error: --tokens is given 2 times; give it once
    """
    for param, count in Counter(order).items():
        if count == 1 or not isinstance(param, click.Option) or param.multiple or param.is_flag:
            continue
        if "-t" in param.opts:
            raise zeton.Error("give one -t; `zeton eval` compares several tokenizers")
        name = max(param.opts, key=len)
        raise zeton.Error(f"{name} is given {count} times; give it once")
