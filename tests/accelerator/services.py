"""Services that tests start, cards that fail as they are told to, and clients that say anything."""

import asyncio
import random
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import zeton
from accelerator.cards import expected, trained
from zeton.accel import DeviceError
from zeton.accel.service import (
    Address,
    Service,
    Settings,
)
from zeton.accel.service.protocol import (
    HEADER_BYTES,
    Header,
    Kind,
    Options,
    frame,
    pack_hello,
    pack_request,
    read_answer,
    read_header,
    read_refusal,
)
from zeton.accel.service.workers import Card, Software
from zeton.cli.options.samples import SAMPLES

TOKEN = b"0123456789abcdef"
SECONDS = 60.0
"""After which a test has failed."""


def run(test: Coroutine[Any, Any, None], seconds: float = SECONDS) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(seconds):
            await test

    asyncio.run(bounded())


class Moody(Software):
    """A card that encodes as software does, and fails as it is told to."""

    def __init__(self, tokenizer: zeton.Tokenizer) -> None:
        super().__init__(tokenizer)
        self.batches: list[list[bytes]] = []
        self.resets = 0
        self.is_dead = False
        self.poison = b""
        self.gate = threading.Event()
        self.gate.set()

    def encode_iter(
        self, texts: Iterable[list[bytes]], **options: Any
    ) -> Iterator[list[list[int]]]:
        return super().encode_iter(map(self.took, texts), **options)

    def took(self, batch: list[bytes]) -> list[bytes]:
        if batch:
            self.batches.append(batch)
        assert self.gate.wait(SECONDS)
        if self.is_dead or (self.poison and self.poison in batch):
            raise DeviceError("the card is gone")
        return batch

    def reset(self) -> None:
        self.resets += 1
        if self.is_dead:
            raise DeviceError("the card is still gone")

    @property
    def texts(self) -> list[bytes]:
        return [text for batch in self.batches for text in batch]


@asynccontextmanager
async def served(
    folder: Path,
    cards: dict[str, Card] | None = None,
    *,
    token: bytes | None = None,
    tokenizer: zeton.Tokenizer | None = None,
    **limits: Any,
) -> AsyncIterator[tuple[Service, Address]]:
    """Serve cards at a socket in a folder."""
    openers = {name: (lambda card=card: card) for name, card in (cards or {}).items()}
    chosen = Settings(**{"retry_seconds": 0.05, **limits})
    service = Service(tokenizer or trained(), openers, chosen, token=token)
    await service.start()
    try:
        yield service, await service.listen(Address(path=str(folder / "socket")))
    finally:
        for card in (cards or {}).values():
            if isinstance(card, Moody):
                card.gate.set()
        await service.drain(5)


class Raw:
    """A client that sends exactly the frames of a test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, address: Address, session: bytes = bytes(16), token: bytes = b"") -> "Raw":
        raw = cls(*await asyncio.open_unix_connection(address.path))
        raw.say(Kind.HELLO, 0, pack_hello(session, token))
        return raw

    def say(self, kind: Kind, number: int, body: bytes = b"") -> None:
        self.writer.write(frame(kind, number, body))

    def ask(self, number: int, *texts: bytes, done: int = 0, options: Options = Options()) -> None:  # noqa: B008
        self.say(Kind.ENCODE, number, pack_request(done, options, texts))

    async def hear(self, kind: Kind) -> tuple[Header, bytes]:
        header = read_header(await self.reader.readexactly(HEADER_BYTES))
        assert header.kind == kind, await self.reader.readexactly(header.size)
        return header, await self.reader.readexactly(header.size)

    async def answer(self, number: int, *texts: bytes) -> None:
        header, body = await self.hear(Kind.IDS)
        assert header.number == number
        assert read_answer(body, len(texts)) == expected(texts)

    async def refusal(self, number: int) -> str:
        header, body = await self.hear(Kind.REFUSED)
        assert header.number == number
        return read_refusal(body).code

    def cut(self) -> None:
        self.writer.transport.abort()


def file_of(address: Address) -> Path:
    return Path(str(address.path))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - no event tells the end of the wait.
        await asyncio.sleep(0.005)


def some_texts(seed: int, count: int) -> list[bytes]:
    chosen = random.Random(seed)
    words = b" ".join(SAMPLES.values()).split()
    return [b" ".join(chosen.choices(words, k=chosen.randrange(40))) for _ in range(count)]


def command(folder: Path, *options: str) -> list[str]:
    file = folder / "words.zeton"
    if not file.exists():
        trained().save(file)
    program = [sys.executable, "-m", "zeton", "accel", "serve"]
    return [*program, "-t", str(file), "--card", "software", *options]


@asynccontextmanager
async def process(folder: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Start a service as a process, and wait until clients may come."""
    started = await asyncio.create_subprocess_exec(
        *command(folder, *options), stderr=asyncio.subprocess.PIPE
    )
    try:
        assert started.stderr is not None
        assert b"listening" in await started.stderr.readline()
        yield started
    finally:
        if started.returncode is None:
            started.kill()
        await started.communicate()
