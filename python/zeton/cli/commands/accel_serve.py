"""`zeton accel serve`: cards for many clients, until it is told to end."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

import zeton
from zeton.cli.commands.accel import card_options
from zeton.cli.options.tokenizer import load, tokenizer_option
from zeton.text.escape import visible

if TYPE_CHECKING:
    from zeton.accel import Device
    from zeton.accel.service import Address

SOFTWARE = "software"


@click.command()
@tokenizer_option
@click.option(
    "--card",
    "cards",
    multiple=True,
    default=("sim",),
    show_default=True,
    metavar="NAME",
    help="A card, as `open` names it, or `software`. May be repeated.",
)
@click.option(
    "--listen",
    "addresses",
    multiple=True,
    metavar="unix:PATH|tcp:HOST:PORT",
    help="Where clients come. May be repeated. By default a socket in the user's runtime folder.",
)
@click.option("--group", metavar="NAME", help="Whose members may use the Unix sockets, too.")
@click.option("--metrics", metavar="tcp:HOST:PORT", help="Where monitors come, on the loopback.")
@click.option("--certificate", type=click.Path(path_type=Path), help="TLS: the chain, in PEM.")
@click.option("--key", type=click.Path(path_type=Path), help="TLS: its key, in PEM.")
@click.option(
    "--token-file", type=click.Path(path_type=Path), help="The token that every client must have."
)
@click.option("--clients", type=click.IntRange(1), default=1024, show_default=True, help="At once.")
@click.option(
    "--request-bytes",
    type=click.IntRange(1024, 1 << 28),
    default=8 << 20,
    show_default=True,
    help="The largest request.",
)
@click.option(
    "--memory",
    type=click.IntRange(1),
    default=256,
    show_default=True,
    metavar="MIB",
    help="Of requests that wait; answers may have as much.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="After which a silent card has failed.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="To answer what was accepted, when told to end.",
)
@click.option("--no-fallback", is_flag=True, help="Let texts wait when no card can encode them.")
@card_options
def serve(
    *,
    name: str,
    cards: tuple[str, ...],
    addresses: tuple[str, ...],
    group: str | None,
    metrics: str | None,
    certificate: Path | None,
    key: Path | None,
    token_file: Path | None,
    clients: int,
    request_bytes: int,
    memory: int,
    timeout: float,
    drain: float,
    no_fallback: bool,
    config: str,
    **parameters: int | None,
) -> None:
    """Put cards behind one queue for many clients.

    SIGTERM lets no one in, answers what was accepted, and ends. Beyond the loopback, clients come
    by TLS and with a token.
    """
    from zeton.accel.service import Address, Service, Settings, run
    from zeton.accel.transports.gate import read_token, server_context

    if (certificate is None) != (key is None):
        raise zeton.Error("a certificate and its key belong together; give both")
    tokenizer = load(name)
    changed = {each: value for each, value in parameters.items() if value is not None}
    settings = Settings(
        connections_max=clients,
        body_bytes_max=request_bytes,
        in_flight_bytes_max=2 * request_bytes,
        waiting_bytes_max=memory << 20,
        answers_bytes_max=memory << 20,
        hang_seconds=5 * timeout,
        fallback=not no_fallback,
    )
    service = Service(
        tokenizer,
        openers(cards, tokenizer, config, timeout, changed),
        settings,
        group=group,
        token=None if token_file is None else read_token(token_file),
    )
    left = asyncio.run(
        run(
            service,
            [Address.parse(text) for text in addresses] or [own_address()],
            tls=server_context(certificate, key) if certificate and key else None,
            metrics=Address.parse(metrics) if metrics else None,
            drain_seconds=drain,
            say=lambda line: click.echo(f"zeton: {visible(line)}", err=True),
        )
    )
    sys.exit(1 if left else 0)


def openers(
    cards: tuple[str, ...],
    tokenizer: zeton.Tokenizer,
    config: str,
    timeout: float,
    parameters: dict[str, int],
) -> dict[str, Callable[[], "Device"]]:
    """Return what opens and loads each card, by a name of its own."""
    from zeton.accel import open as open_card
    from zeton.accel.transports.names import check_name

    def opener(card: str) -> Callable[[], "Device"]:
        def opened() -> "Device":
            # `open` refuses other parameters.
            device = open_card(card, config=config, timeout=timeout, **parameters)  # type: ignore[arg-type]
            try:
                device.load(tokenizer)
            except BaseException:
                device.close()
                raise
            return device

        return opened

    found: dict[str, Callable[[], Device]] = {}
    for at, card in enumerate(cards, 1):
        if card != SOFTWARE:
            found[card if cards.count(card) == 1 else f"{card} ({at})"] = opener(check_name(card))
    return found


def own_address() -> "Address":
    """Return where to listen when nothing is said."""
    from zeton.accel.service import default_address

    address = default_address()
    if address is None:
        raise zeton.Error("there is no runtime folder for a socket; give --listen unix:PATH")
    return address
