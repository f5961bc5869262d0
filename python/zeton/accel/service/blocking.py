"""A client for programs without an event loop; the loop runs in a thread of its own."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any, Self, TypeVar

from zeton.accel.service.client import AsyncClient
from zeton.accel.service.errors import ServiceError
from zeton.accel.wire.texts import Specials, Text

__all__ = ["Client"]

Result = TypeVar("Result")


class Client:
    """A connection to a service, used like a `Device`; threads may share it."""

    def __init__(
        self,
        address: str,
        *,
        token: bytes | None = None,
        authority: Path | None = None,
        patience: float = 60.0,
        in_flight: int = 16,
    ) -> None:
        """Connect to `unix:PATH` or `tcp:HOST:PORT`, with the options of `AsyncClient`."""
        self._client = AsyncClient(
            address, token=token, authority=authority, patience=patience, in_flight=in_flight
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=self._loop.run_forever, name="zeton client", daemon=True
        )
        self._thread.start()
        try:
            self._run(self._client.__aenter__())
        except BaseException:
            self._end()
            raise

    def encode(
        self,
        text: Text,
        *,
        allowed_special: Specials = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
    ) -> list[int]:
        """Encode a text into a list of ids, as `AsyncClient.encode` does."""
        return self._run(
            self._client.encode(
                text, allowed_special=allowed_special, prepend=prepend, append=append
            )
        )

    def encode_batch(
        self,
        texts: Iterable[Text],
        *,
        allowed_special: Specials = None,
        prepend: int | str | None = None,
        append: int | str | None = None,
    ) -> list[list[int]]:
        """Encode many texts into lists of ids, as `Tokenizer.encode_batch` does."""
        return self._run(
            self._client.encode_batch(
                texts, allowed_special=allowed_special, prepend=prepend, append=append
            )
        )

    def health(self) -> dict[str, Any]:
        """Return the state of the service."""
        return self._run(self._client.health())

    def metrics(self) -> str:
        """Return the metrics in Prometheus' text format."""
        return self._run(self._client.metrics())

    def close(self) -> None:
        """Disconnect; closing again does nothing."""
        if not self._loop.is_closed():
            self._run(self._client.close())
            self._end()

    def __enter__(self) -> Self:
        """Return the client, which is closed at the end of the block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        self.close()

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        if self._loop.is_closed():
            coroutine.close()
            raise ServiceError("the client is closed; make a new one")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ServiceError("the client was closed during the call; make a new one") from None
        except BaseException:
            future.cancel()
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
