"""A service as a process: it serves until a signal, then drains."""

import asyncio
import os
import signal
import socket
import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress

from zeton.accel.service.address import Address
from zeton.accel.service.scrape import listen_for_scrapes
from zeton.accel.service.server import Service

__all__ = ["default_address", "run"]

SIGNALS = (signal.SIGTERM, signal.SIGINT)


async def run(
    service: Service,
    addresses: Sequence[Address],
    *,
    tls: ssl.SSLContext | None = None,
    metrics: Address | None = None,
    drain_seconds: float = 30.0,
    say: Callable[[str], object] = lambda _: None,
) -> int:
    """Serve until SIGTERM or SIGINT, then drain; return the number of unanswered requests.

    A second signal ends the draining. Before the cards are open, a signal ends the process at once,
    because there are no clients yet.
    """
    ended, hurried = asyncio.Event(), asyncio.Event()

    def note_signal() -> None:
        if ended.is_set():
            hurried.set()
        ended.set()

    loop = asyncio.get_running_loop()
    left = 0
    try:
        await service.start()
        for number in SIGNALS:
            loop.add_signal_handler(number, note_signal)
        scrapes = await listen_for_scrapes(service, metrics) if metrics else None
        for address in addresses:
            tls_here = tls if address.path is None else None
            say(f"listening at {await service.listen(address, tls_here)}")
        if scrapes is not None:
            say(f"metrics at port {scrapes.sockets[0].getsockname()[1]}")
        notify("READY=1")
        await ended.wait()
        notify("STOPPING=1")
        say(f"draining {service.sessions.unanswered} requests")
    finally:
        draining = asyncio.create_task(service.drain(drain_seconds))
        hurrying = asyncio.create_task(hurried.wait())
        await asyncio.wait({draining, hurrying}, return_when=asyncio.FIRST_COMPLETED)
        if not draining.done():
            service.hurry()
        hurrying.cancel()
        left = await draining
        for number in SIGNALS:
            loop.remove_signal_handler(number)
    say(f"ended; {left} requests were not answered")
    return left


def notify(state: str) -> None:
    """Send a state to systemd, if NOTIFY_SOCKET is set."""
    path = os.environ.get("NOTIFY_SOCKET", "")
    if not path:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.sendto(state.encode(), "\0" + path[1:] if path.startswith("@") else path)


def default_address() -> Address | None:
    """Return the socket in systemd's runtime folder or the user's, or None without either."""
    for name in ("RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR"):
        folder = os.environ.get(name, "").split(":")[0]
        if folder:
            return Address(path=f"{folder}/zeton-accel.sock")
    return None
