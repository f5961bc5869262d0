"""`zeton accel fake-card` and `card-server`: a card for programs elsewhere."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeton.cli.commands.accel import accel, card_options
from zeton.cli.render.examples import examples

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

card_option = click.option(
    "--card",
    default="sim",
    show_default=True,
    metavar="NAME",
    help="Card to serve: sim, reference, nodes:PREFIX, pci:PATH, uart:PATH, tcp:HOST:PORT.",
)


@accel.command("fake-card", epilog=examples("zeton accel fake-card folder"))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", default="card", show_default=True, help="Prefix of the nodes' names.")
@card_option
@card_options
def fake_card(*, folder: Path, name: str, card: str, config: str, **parameters: int | None) -> None:
    """Serve device nodes like those of the XDMA driver in FOLDER, by FUSE, until SIGTERM.

    Programs of this machine open the card as `nodes:FOLDER/card`, one at a time.
    """
    from zeton.accel.transports.fake_card import serve_nodes

    transport = _opened(card, config, parameters)
    click.echo(f"nodes:{folder}/{name}")
    serve_nodes(transport, folder, name)


@accel.command(
    "card-server", epilog=examples("zeton accel card-server --listen 127.0.0.1:4004 --card sim")
)
@click.option(
    "--listen",
    default="127.0.0.1:4004",
    show_default=True,
    metavar="HOST:PORT",
    help="Address to listen on; port 0 takes a free one.",
)
@click.option(
    "--token-file", type=Path, metavar="FILE", help="File with the token that clients must send."
)
@click.option("--certificate", type=Path, metavar="FILE", help="TLS certificate, in PEM.")
@click.option("--key", type=Path, metavar="FILE", help="TLS key, in PEM.")
@card_option
@card_options
def card_server(
    *,
    listen: str,
    token_file: Path | None,
    certificate: Path | None,
    key: Path | None,
    card: str,
    config: str,
    **parameters: int | None,
) -> None:
    """Serve a card to one client at a time, as `tcp:HOST:PORT`.

    Addresses beyond the loopback need TLS and a token.
    """
    from zeton.accel.transports import gate
    from zeton.accel.transports.card_server import CardServer

    if (certificate is None) != (key is None):
        raise click.UsageError("--certificate and --key belong together; give both")
    context = gate.server_context(certificate, key) if certificate and key else None
    token = gate.read_token(token_file) if token_file else b""
    host, port = gate.split_address(listen)
    gate.check_gate(host, token, context)
    server = CardServer(_opened(card, config, parameters), host, port, token=token, context=context)
    click.echo(f"tcp:[{host}]:{server.port}" if ":" in host else f"tcp:{host}:{server.port}")
    server.serve()


def _opened(card: str, config: str, parameters: dict[str, int | None]) -> "Transport":
    from zeton.accel import configuration
    from zeton.accel.transports.names import open_transport

    changed = {key: value for key, value in parameters.items() if value is not None}
    return open_transport(card, configuration(config, **changed))
