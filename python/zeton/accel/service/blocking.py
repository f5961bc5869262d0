"""A client for programs without an event loop: one runs in a thread of its own."""

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
    """A service, as a `Device` is used; threads may share it."""

    def __init__(
        self,
        address: str,
        *,
        token: bytes | None = None,
        authority: Path | None = None,
        patience: float = 60.0,
        in_flight: int = 16,
    ) -> None:
        """Reach a service at `unix:PATH` or `tcp:HOST:PORT`; see `AsyncClient`."""
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
        """Encode a text into a list of ids, as `Tokenizer.encode` does."""
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
        """Ask how the service is."""
        return self._run(self._client.health())

    def metrics(self) -> str:
        """Ask for the metrics, as Prometheus reads them."""
        return self._run(self._client.metrics())

    def close(self) -> None:
        """Leave; to close again does nothing."""
        if not self._loop.is_closed():
            self._run(self._client.close())
            self._end()

    def __enter__(self) -> Self:
        """Return itself; it is closed at the end."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave."""
        self.close()

    def _run(self, asked: Coroutine[Any, Any, Result]) -> Result:
        if self._loop.is_closed():
            asked.close()
            raise ServiceError("the client is closed; open another")
        future = asyncio.run_coroutine_threadsafe(asked, self._loop)
        try:
            return future.result()
        except CancelledError:
            raise ServiceError("the client was closed meanwhile; open another") from None
        except BaseException:
            future.cancel()
            raise

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
