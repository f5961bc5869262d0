"""Health and metrics over HTTP, as monitors ask for them: `GET /health`, `GET /metrics`."""

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from zeton.accel.service.address import Address
from zeton.accel.service.errors import ServiceError

if TYPE_CHECKING:
    from zeton.accel.service.server import Service

__all__ = ["listen_for_scrapes"]

HEAD_BYTES_MAX = 1 << 13
SECONDS_MAX = 5.0
CONNECTIONS_MAX = 16


async def listen_for_scrapes(service: "Service", address: Address) -> asyncio.Server:
    """Answer monitors at an address of this machine."""
    if not address.is_local or address.path is not None:
        raise ServiceError(f"metrics are given on the loopback, not at {address}")
    slots = asyncio.Semaphore(CONNECTIONS_MAX)

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError, asyncio.LimitOverrunError):
                async with asyncio.timeout(SECONDS_MAX), slots:
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(answered(service, head))
                    await writer.drain()
        finally:
            writer.close()

    try:
        return await asyncio.start_server(
            connected, address.host, address.port, limit=HEAD_BYTES_MAX
        )
    except OSError as error:
        raise ServiceError(f"{address} cannot be listened at: {error.strerror or error}") from None


def answered(service: "Service", head: bytes) -> bytes:
    """Return the answer to a request of HTTP."""
    words = head.split(b"\r\n")[0].split(b" ")
    if len(words) != 3 or words[0] not in {b"GET", b"HEAD"}:
        return spelled("405 Method Not Allowed", "text/plain", "GET /health or /metrics\n")
    if words[1] == b"/metrics":
        return spelled("200 OK", "text/plain; version=0.0.4", service.metrics_text())
    if words[1] == b"/health":
        health = service.health()
        status = "200 OK" if health["status"] in {"ok", "degraded"} else "503 Service Unavailable"
        return spelled(status, "application/json", json.dumps(health) + "\n")
    return spelled("404 Not Found", "text/plain", "there are /health and /metrics\n")


def spelled(status: str, kind: str, text: str) -> bytes:
    """Spell an answer of HTTP."""
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
