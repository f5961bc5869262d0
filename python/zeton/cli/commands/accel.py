"""`zeton accel`: text in, ids out, by a card."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

import zeton
from zeton.cli.options.files import STDIN, files_argument, texts_of
from zeton.cli.options.groups import Group
from zeton.cli.options.tokenizer import Specials, load, special_option, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.text.escape import visible

if TYPE_CHECKING:
    from zeton.accel import Configuration, Device

PARAMETERS = {
    "lanes": "Texts encoded in parallel.",
    "units": "Narrow merge units of a lane.",
    "slots": "Maximum bytes of a part in a narrow unit.",
    "wide_units": "Wide merge units of a lane.",
    "wide_slots": "Maximum bytes of a part in a wide unit.",
    "id_bits": "Bits of an id.",
    "bank_bits": "Bits of an index into a bank of pairs.",
    "bridge_bits": "Bits of an index into the table of bridges.",
    "bytes_log": "Bits of an index into the FIFO of bytes.",
}
"""The parameters of a card that options change."""

SHOWN = ("gpt2", "cl100k_base", "o200k_base")
"""The tokenizers that `info` tries on a card, unless told otherwise."""

Command = TypeVar("Command", bound=Callable[..., None])


def card_options(command: Command) -> Command:
    """Add the options that say which card is used."""
    for name, text in reversed(PARAMETERS.items()):
        option = f"--{name.replace('_', '-')}"
        command = click.option(option, name, type=click.IntRange(0), metavar="N", help=text)(
            command
        )
    return click.option(
        "--config",
        default="default",
        show_default=True,
        metavar="NAME",
        help="Configuration: default, large or small; the options below change it.",
    )(command)


@click.group(
    cls=Group,
    epilog=examples(
        "zeton accel encode book.txt -t cl100k_base > book.ids", "zeton accel info -t tokenizer"
    ),
)
def accel() -> None:
    """Encode on the hardware accelerator, simulated or real."""


@accel.command(
    epilog=examples(
        "zeton accel encode book.txt -t cl100k_base > book.ids",
        "zeton accel encode book.txt -t gpt2 --card nodes:/dev/xdma0",
    )
)
@files_argument
@tokenizer_option
@special_option
@click.option(
    "--card",
    default="sim",
    show_default=True,
    metavar="NAME",
    help="Card: sim (simulated RTL), reference, nodes:PREFIX, pci:PATH, uart:PATH, tcp:HOST:PORT.",
)
@click.option(
    "--clock",
    type=click.FloatRange(0, min_open=True),
    default=100.0,
    show_default=True,
    metavar="MHZ",
    help="Clock at which the card's rate is reported.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array a file.")
@card_options
def encode(
    *,
    files: tuple[str, ...],
    name: str,
    specials: Specials,
    card: str,
    clock: float,
    as_json: bool,
    config: str,
    **parameters: int | None,
) -> None:
    """Encode each FILE (standard input by default) into a line of ids.

    Files are read as by `zeton encode`. The rate of the card at its clock, and of the simulation
    or the transport, is on stderr.
    """
    from zeton.accel import configuration
    from zeton.accel import open as open_card

    tokenizer = load(name)
    changed = {key: value for key, value in parameters.items() if value is not None}
    # What cannot work is refused before a card is built for it.
    for file in files:
        if file != STDIN:
            Path(file).stat()
    if card in ("sim", "reference"):
        check_fit(tokenizer, configuration(config, **changed))
    with open_card(card, config=config, **changed) as device:  # type: ignore[arg-type] # all are int.
        device.load(tokenizer)
        before, start = device.counters(), (time.perf_counter(), time.process_time())
        texts = (text.read() for file in files or (STDIN,) for text in texts_of(file))
        with shown(device, files):
            for (ids,) in device.encode_iter(([text] for text in texts), allowed_special=specials):
                click.echo(json.dumps(ids) if as_json else " ".join(map(str, ids)))
        wall, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
        after = device.counters()
        counted = {key: after[key] - before[key] for key in after}
        lines = rates(counted, cpu, clock) if card == "sim" else rates_of_way(counted, wall, clock)
        for line in lines:
            click.echo(line, err=True)
        if device.info.software_texts:
            done = f"{device.info.software_bytes:,} bytes, of texts too long for the card"
            click.echo(f"software   {done}", err=True)


def rates(counted: dict[str, int], seconds: float, clock: float) -> Iterator[str]:
    r"""Say in lines how fast the card was, and its simulation.

    >>> counted = {"bytes": 9000, "cycles": 10000, "raw_bytes": 90}
    >>> print(*rates(counted, 0.05, 250), sep="\n")
    card       0.900 bytes per cycle, 225.0 MB/s at 250 MHz (simulated)
    simulator  200,000 cycles per second of CPU, 0.180 MB/s
    raw        1.00 % of 9,000 bytes
    """
    size, cycles = counted["bytes"], counted["cycles"]
    if size and cycles:
        yield f"{rate_of_card(counted, clock)} (simulated)"
        seconds = max(seconds, 1e-9)
        yield (
            f"simulator  {cycles / seconds:,.0f} cycles per second of CPU, "
            f"{size / seconds / 1e6:.3f} MB/s"
        )
    yield raw_of_card(counted)


def rates_of_way(counted: dict[str, int], seconds: float, clock: float) -> Iterator[str]:
    r"""Say in lines how fast a card elsewhere was, and the way to it and back.

    >>> counted = {"bytes": 9000, "cycles": 10000, "raw_bytes": 90}
    >>> print(*rates_of_way(counted, 0.05, 250), sep="\n")
    card       0.900 bytes per cycle, 225.0 MB/s at 250 MHz
    all        0.180 MB/s by the clock on the wall
    raw        1.00 % of 9,000 bytes
    """
    if counted["bytes"] and counted["cycles"]:
        yield rate_of_card(counted, clock)
    rate = counted["bytes"] / max(seconds, 1e-9) / 1e6
    yield f"all        {rate:.3f} MB/s by the clock on the wall"
    yield raw_of_card(counted)


def rate_of_card(counted: dict[str, int], clock: float) -> str:
    """Say what its cycles make of a card."""
    rate = counted["bytes"] / counted["cycles"]
    return f"card       {rate:.3f} bytes per cycle, {rate * clock:.1f} MB/s at {clock:g} MHz"


def raw_of_card(counted: dict[str, int]) -> str:
    """Say how much left the card for the host to merge."""
    size = counted["bytes"]
    return f"raw        {100 * counted['raw_bytes'] / max(size, 1):.2f} % of {size:,} bytes"


@contextmanager
def shown(device: "Device", files: tuple[str, ...]) -> Iterator[None]:
    """Show on a terminal how many bytes the card has encoded, and how many a second."""
    if not sys.stderr.isatty():
        yield
        return
    from tqdm import tqdm

    is_known = bool(files) and STDIN not in files
    total = sum(Path(file).stat().st_size for file in files) if is_known else None
    with tqdm(desc="encode", total=total, unit="B", unit_scale=True, leave=False) as bar:
        device.listener = bar.update
        yield


@accel.command(epilog=examples("zeton accel info -t tokenizer", "zeton accel info --json"))
@click.option(
    "-t",
    "--tokenizer",
    "names",
    multiple=True,
    metavar="TOKENIZER",
    help=f"Tokenizer to check. Repeatable. By default {', '.join(SHOWN)}.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(*, names: tuple[str, ...], as_json: bool) -> None:
    """List the configurations of a card, and the tokenizers that fit on them."""
    from zeton.accel import CONFIGURATIONS
    from zeton.accel.routed import PART, ROUTED
    from zeton.accel.transports.build import find_missing_tool

    tried = {name: fits(load(name)) for name in names or SHOWN}
    if as_json:
        cards = {name: asdict(card) for name, card in CONFIGURATIONS.items()}
        click.echo(json.dumps({"cards": cards, "tokenizers": tried}))
        return
    for name, card in CONFIGURATIONS.items():
        click.echo(f"{name:<15} {described(card)}")
    for name, refusals in tried.items():
        found = [each for each, refusal in refusals.items() if refusal is None]
        click.echo(f"{visible(name):<15} fits {', '.join(found) or 'none'}")
        for other, refusal in refusals.items():
            if refusal is not None:
                click.echo(f"{'':<15} not {other}: {visible(refusal)}")
    ready = "builds itself on first use, in one to two minutes, with a C++ compiler"
    click.echo(f"{'sim':<15} {find_missing_tool() or ready}")
    for design in ROUTED:
        rate = f"{design.megabytes_per_second:.0f} MB/s of English at {design.megahertz:.1f} MHz"
        click.echo(f"{PART:<15} {design.name}: {rate}, routed, not run on a board")


def fits(tokenizer: zeton.Tokenizer) -> dict[str, str | None]:
    """Return for each card by name why a tokenizer does not fit on it; None if it does."""
    from zeton.accel import CONFIGURATIONS, FitError
    from zeton.accel.tables.image_cache import load_image

    found: dict[str, str | None] = {}
    for name, card in CONFIGURATIONS.items():
        try:
            load_image(tokenizer, card)
            found[name] = None
        except FitError as error:
            found[name] = str(error)
    return found


def check_fit(tokenizer: zeton.Tokenizer, card: "Configuration") -> None:
    """Refuse a tokenizer that does not fit on a card; name one on which it does."""
    from zeton.accel import FitError
    from zeton.accel.tables.image_cache import load_image

    try:
        load_image(tokenizer, card)
    except FitError as error:
        others = [name for name, refusal in fits(tokenizer).items() if refusal is None]
        if not others:
            raise
        raise FitError(f"{error}; --config {others[0]} holds it") from None


def described(card: "Configuration") -> str:
    """Say in one line what a card is built with."""
    units = (
        f"{card.units} merge units of {card.slots} bytes, {card.wide_units} of {card.wide_slots}"
    )
    return (
        f"{card.lanes} lane{'s' if card.lanes > 1 else ''}, {units}; ids of {card.id_bits} bits, "
        f"{card.pairs_max:,} pairs, {1 << card.bridge_bits:,} bridges"
    )
