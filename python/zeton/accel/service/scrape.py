"""Health and metrics over HTTP for monitors: `GET /health`, `GET /metrics`."""

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
    """Answer monitors at an address of the loopback."""
    if not address.is_local or address.path is not None:
        raise ServiceError(
            f"metrics need an address on the loopback, not {address}; give tcp:127.0.0.1:PORT"
        )
    slots = asyncio.Semaphore(CONNECTIONS_MAX)

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, EOFError, asyncio.LimitOverrunError):
                async with asyncio.timeout(SECONDS_MAX), slots:
                    head = await reader.readuntil(b"\r\n\r\n")
                    writer.write(respond(service, head))
                    await writer.drain()
        finally:
            writer.close()

    try:
        return await asyncio.start_server(accept, address.host, address.port, limit=HEAD_BYTES_MAX)
    except OSError as error:
        raise ServiceError(
            f"cannot listen at {address}: {error.strerror or error}; give another address"
        ) from None


def respond(service: "Service", head: bytes) -> bytes:
    """Return the response to an HTTP request."""
    words = head.split(b"\r\n")[0].split(b" ")
    if len(words) != 3 or words[0] not in {b"GET", b"HEAD"}:
        return http_response("405 Method Not Allowed", "text/plain", "GET /health or /metrics\n")
    if words[1] == b"/metrics":
        return http_response("200 OK", "text/plain; version=0.0.4", service.metrics_text())
    if words[1] == b"/health":
        health = service.health()
        status = "200 OK" if health["status"] in {"ok", "degraded"} else "503 Service Unavailable"
        return http_response(status, "application/json", json.dumps(health) + "\n")
    return http_response(
        "404 Not Found", "text/plain", "not found; known are /health and /metrics\n"
    )


def http_response(status: str, kind: str, text: str) -> bytes:
    """Return an HTTP response as bytes."""
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
