"""`zeton accel fake-card` and `card-server`: a card for programs elsewhere."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from zeton.cli.commands.accel import card_options

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

card_option = click.option(
    "--card",
    default="sim",
    show_default=True,
    metavar="NAME",
    help="The card that is served: sim, reference, nodes:PREFIX, pci:PATH, uart:PATH, "
    "tcp:HOST:PORT.",
)


@click.command("fake-card")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--name", default="card", show_default=True, help="What the nodes' names begin with.")
@card_option
@card_options
def fake_card(*, folder: Path, name: str, card: str, config: str, **parameters: int | None) -> None:
    """Serve nodes like XDMA's in FOLDER by FUSE, until the process is told to end.

    The card is then `nodes:FOLDER/card` for programs of this machine, one at a time.
    """
    from zeton.accel.transports.fake_card import serve_nodes

    transport = _opened(card, config, parameters)
    click.echo(f"nodes:{folder}/{name}")
    serve_nodes(transport, folder, name)


@click.command("card-server")
@click.option(
    "--listen",
    default="127.0.0.1:4004",
    show_default=True,
    metavar="HOST:PORT",
    help="Where clients come to; port 0 is any that is free.",
)
@click.option("--token-file", type=Path, metavar="FILE", help="Holds what clients have to know.")
@click.option("--certificate", type=Path, metavar="FILE", help="TLS: the server's certificate.")
@click.option("--key", type=Path, metavar="FILE", help="TLS: the key of the certificate.")
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
    """Serve a card to one client at a time, which opens `tcp:HOST:PORT`.

    Beyond the loopback, a token and TLS are a must.
    """
    from zeton.accel.transports import gate
    from zeton.accel.transports.card_server import CardServer

    if (certificate is None) != (key is None):
        raise click.UsageError("--certificate and --key belong together")
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
