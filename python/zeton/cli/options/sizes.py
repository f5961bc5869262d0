"""Numbers on the command line: `32k`, `10M`, `2GB`, `1e4`, `1%`; one rule for every option."""

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import click

import zeton

NUMBER = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?(?:e[0-9]{1,2})?)\s*([a-z]*)", re.IGNORECASE)
POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
MAX = 2**63 - 1

if TYPE_CHECKING:
    AnyParamType: TypeAlias = click.ParamType[Any]
else:
    AnyParamType = click.ParamType  # It is generic in newer versions of click only.


class Size(AnyParamType):
    """A whole number, with a unit if need be.

    `k`, `M`, `G` and `T` are powers of 1,000; `Ki`, `Mi`, `Gi` and `Ti` of 1,024. Of bytes, `B` may
    follow: `2GB`, `512MiB`. Of other things, `B` alone is a billion: `1B` tokens.
    """

    name = "size"

    def __init__(
        self,
        *,
        least: int = 0,
        most: int = MAX,
        of_bytes: bool = False,
        typo_below: int = 0,
    ) -> None:
        """Choose the bounds; a number below `typo_below` lacks its unit."""
        self.least = least
        self.most = most
        self.of_bytes = of_bytes
        self.typo_below = typo_below

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002 - click hands it over.
    ) -> int:
        """Read a number.

        >>> Size().convert("32k", None, None), Size().convert("1e4", None, None)
        (32000, 10000)
        >>> Size(of_bytes=True).convert("1.5GiB", None, None)
        1610612736
        >>> Size(of_bytes=True, typo_below=10**6).convert("2", click.Option(["--memory"]), None)
        Traceback (most recent call last):
        zeton.errors.Error: --memory is '2', which is 2 bytes; did you mean 2GB?
        >>> Size().convert("-1", click.Option(["--tokens"]), None)
        Traceback (most recent call last):
        zeton.errors.Error: --tokens is -1; give at least 0
        """
        if isinstance(value, int):
            return value
        text = str(value)
        below = text.strip().startswith("-") and self._read(text.strip()[1:])
        number = -below if below else self._read(text)
        named = _named(param)
        if number is None:
            raise zeton.Error(f"{named} is {text!r:.40}; write {self._examples()}")
        if self.least <= number < self.typo_below:
            counted = "1 byte" if number == 1 else f"{number:,} bytes"
            meant = f"; did you mean {text}GB?" if text.isdigit() else "; give more"
            raise zeton.Error(f"{named} is {text!r}, which is {counted}{meant}")
        if not self.least <= number <= self.most:
            is_less = number < self.least
            limit = f"at least {self.least:,}" if is_less else f"at most {self.most:,}"
            raise zeton.Error(f"{named} is {text:.40}; give {limit}")
        return number

    def _read(self, text: str) -> int | None:
        found = NUMBER.fullmatch(text.strip()) if len(text) < 64 else None
        if found is None:
            return None
        unit = found[2].lower()
        if self.of_bytes:
            unit = unit.removesuffix("b")
        elif unit == "b":
            unit = "g"
        base = 1024 if unit.endswith("i") else 1000
        power = POWERS.get(unit.removesuffix("i"))
        if power is None or (base == 1024 and not power):
            return None
        number = Decimal(found[1]) * base**power
        return int(number) if self.of_bytes or number == int(number) else None

    def _examples(self) -> str:
        if self.of_bytes:
            return "it as 2GB, 512MiB or a number of bytes"
        return "a number such as 32k, 1e4 or 16384"


class Sizes(AnyParamType):
    """Several sizes with commas between them: `8192,32k`."""

    name = "sizes"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[int]:
        """Read the numbers.

        >>> Sizes().convert("8192,32k", None, None)
        [8192, 32000]
        """
        return [Size().convert(each, param, ctx) for each in str(value).split(",")]


class Share(AnyParamType):
    """A share from 0 to 1, also in percent: `0.01` or `1%`."""

    name = "share"

    def convert(
        self,
        value: object,
        param: click.Parameter | None,
        ctx: click.Context | None,  # noqa: ARG002 - click hands it over.
    ) -> float:
        """Read a share; the package checks its bounds.

        >>> Share().convert("1%", None, None), Share().convert("0.25", None, None)
        (0.01, 0.25)
        """
        text = str(value).strip()
        try:
            return float(Decimal(text.removesuffix("%")) / (100 if text.endswith("%") else 1))
        except ArithmeticError:
            message = f"{_named(param)} is {text!r:.40}; write a share as 0.01 or 1%"
            raise zeton.Error(message) from None


def _named(param: click.Parameter | None) -> str:
    """Return the longest name of an option, as people type it."""
    return max(param.opts, key=len) if param is not None and param.opts else "the number"
