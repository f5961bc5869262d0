"""`zeton accel serve`: cards for many clients, until SIGTERM."""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

import zeton
from zeton.cli.commands.accel import accel, card_options
from zeton.cli.options.learning import MEMORY_LEAST
from zeton.cli.options.sizes import Size
from zeton.cli.options.tokenizer import load, tokenizer_option
from zeton.cli.render.examples import examples
from zeton.text.escape import visible

if TYPE_CHECKING:
    from zeton.accel import Device
    from zeton.accel.service import Address

SOFTWARE = "software"


@accel.command(
    epilog=examples(
        "zeton accel serve -t cl100k_base",
        "zeton accel serve -t gpt2 --card nodes:/dev/xdma0 --listen unix:/run/zeton.sock",
    )
)
@tokenizer_option
@click.option(
    "--card",
    "cards",
    multiple=True,
    default=("sim",),
    show_default=True,
    metavar="NAME",
    help="Card: sim, nodes:PREFIX, tcp:HOST:PORT, …, or software. Repeatable.",
)
@click.option(
    "--listen",
    "addresses",
    multiple=True,
    metavar="unix:PATH|tcp:HOST:PORT",
    help="Address to listen on. Repeatable. By default a socket in the user's runtime folder.",
)
@click.option("--group", metavar="NAME", help="Group that may use the Unix sockets, too.")
@click.option("--metrics", metavar="tcp:HOST:PORT", help="Address of the metrics, on the loopback.")
@click.option(
    "--certificate", type=click.Path(path_type=Path), help="TLS certificate chain, in PEM."
)
@click.option("--key", type=click.Path(path_type=Path), help="TLS key, in PEM.")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    help="File with the token that clients must send.",
)
@click.option(
    "--clients",
    type=click.IntRange(1),
    default=1024,
    show_default=True,
    help="Maximum concurrent clients.",
)
@click.option(
    "--request-bytes",
    type=Size(least=1024, most=1 << 28, of_bytes=True),
    default="8MiB",
    show_default=True,
    metavar="SIZE",
    help="Maximum size of a request.",
)
@click.option(
    "--memory",
    type=Size(least=1, of_bytes=True, typo_below=MEMORY_LEAST),
    default="256MiB",
    show_default=True,
    metavar="SIZE",
    help="Memory of queued requests; answers may have as much.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds after which a silent card has failed.",
)
@click.option(
    "--drain",
    type=click.FloatRange(0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Seconds to finish pending requests after SIGTERM.",
)
@click.option(
    "--no-fallback",
    is_flag=True,
    help="Queue texts while no card works; do not encode in software.",
)
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
    """Serve cards to many clients, behind one queue.

    On SIGTERM the service stops accepting, finishes pending requests and exits. Addresses beyond
    the loopback need TLS and a token.
    """
    from zeton.accel.service import Address, Service, Settings, run
    from zeton.accel.transports.gate import read_token, server_context

    if (certificate is None) != (key is None):
        raise zeton.Error("--certificate and --key belong together; give both")
    tokenizer = load(name)
    changed = {each: value for each, value in parameters.items() if value is not None}
    settings = Settings(
        connections_max=clients,
        body_bytes_max=request_bytes,
        in_flight_bytes_max=2 * request_bytes,
        waiting_bytes_max=memory,
        answers_bytes_max=memory,
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
