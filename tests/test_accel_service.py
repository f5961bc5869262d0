"""The service answers every accepted text exactly once, exactly right, whatever fails around it."""

import asyncio
import grp
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.accel import DeviceError
from jeton.accel.device import Device
from jeton.accel.gate import server_context
from jeton.accel.reference import ReferenceTransport
from jeton.accel.service import (
    Address,
    AsyncClient,
    Client,
    Code,
    ProtocolError,
    RefusedError,
    Service,
    ServiceError,
    Settings,
)
from jeton.accel.service.fairness import FairQueue, Share
from jeton.accel.service.protocol import (
    HEADER_BYTES,
    Header,
    Kind,
    Options,
    frame,
    grouped,
    join_answer,
    pack_hello,
    pack_ids,
    pack_request,
    read_answer,
    read_header,
    read_refusal,
    read_request,
)
from jeton.accel.service.requests import Request
from jeton.accel.service.scrape import listen_for_scrapes
from jeton.accel.service.server import identity
from jeton.accel.service.workers import Card, Software
from jeton.accel.transport import Transport, Words
from jeton.cli import main
from jeton.cli.samples import SAMPLES
from test_accel_device import SHAPE, TEXTS, Faulty, needs_tools, simulated, trained

TOKEN = b"0123456789abcdef"
SECONDS = 60.0
"""After which a test has failed."""


def run(test: Coroutine[Any, Any, None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(SECONDS):
            await test

    asyncio.run(bounded())


class Moody(Software):
    """A card that encodes as software does, and fails as it is told to."""

    def __init__(self, tokenizer: jeton.Tokenizer) -> None:
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
    tokenizer: jeton.Tokenizer | None = None,
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
    """A client that says just what it is told to say."""

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


def expected(texts: Iterable[str | bytes], **options: Any) -> list[list[int]]:
    return [trained().encode(text, **options) for text in texts]


def file_of(address: Address) -> Path:
    return Path(str(address.path))


async def until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - what is waited for tells nobody.
        await asyncio.sleep(0.005)


def some_texts(seed: int, count: int) -> list[bytes]:
    chosen = random.Random(seed)
    words = b" ".join(SAMPLES.values()).split()
    return [b" ".join(chosen.choices(words, k=chosen.randrange(40))) for _ in range(count)]


# ---- right answers ----


SIM = pytest.param(simulated, marks=[needs_tools, pytest.mark.long])


@pytest.mark.parametrize("transport", [lambda: ReferenceTransport(SHAPE), SIM])
def test_answers_what_the_tokenizer_answers(
    tmp_path: Path, transport: Callable[[], Transport]
) -> None:
    async def test() -> None:
        device = Device(transport())
        device.load(trained())
        options: dict[str, Any] = {"specials": "all", "prepend": "<|x|>", "append": 7}
        async with (
            served(tmp_path, {"card": device}) as (_, address),
            AsyncClient(address) as client,
        ):
            assert await client.encode("hello") == trained().encode("hello")
            assert await client.encode_batch([]) == []
            assert await client.encode_batch(TEXTS) == expected(TEXTS)
            assert await client.encode_batch(TEXTS, **options) == expected(TEXTS, **options)
            named = await client.encode("<|end|>a<|x|>", specials=["<|x|>"])
            assert named == trained().encode("<|end|>a<|x|>", ["<|x|>"])
        assert device.info.texts > len(TEXTS)

    run(test())


def test_answers_many_clients_on_several_cards(tmp_path: Path) -> None:
    async def ask(address: Address, seed: int) -> None:
        options = [{}, {"specials": "all"}, {"append": "<|end|>"}][seed % 3]
        async with AsyncClient(address, in_flight=4) as client:
            for at in range(5):
                texts = some_texts(10 * seed + at, 20)
                assert await client.encode_batch(texts, **options) == expected(texts, **options)

    async def test() -> None:
        cards: dict[str, Card] = {name: Moody(trained()) for name in "abc"}
        async with served(tmp_path, cards, batch_bytes=2000) as (service, address):
            await asyncio.gather(*(ask(address, seed) for seed in range(60)))
            health = service.health()
            assert health["status"] == "ok"
            assert sum(card["texts"] for card in health["cards"]) == 60 * 5 * 20
            assert all(card["texts"] for card in health["cards"] if card["name"] != "software")
            assert service.sessions.waiting.used == service.sessions.unanswered == 0
            await until(lambda: service.sessions.answers.size == 0)

    run(test())


def test_serves_programs_without_a_loop(tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as (_, address):
            await asyncio.to_thread(use, str(address))

    def use(address: str) -> None:
        with Client(address) as client:
            assert client.encode("hello", None, "<|x|>") == trained().encode("hello", None, "<|x|>")
            assert client.encode_batch(TEXTS) == expected(TEXTS)
            assert client.health()["status"] == "ok"
            assert "jeton_requests_total 2" in client.metrics()
            with pytest.raises(RefusedError, match="special"):
                client.encode("a", ["<|unknown|>"])
            with pytest.raises(TypeError, match="not one text"):
                client.encode_batch("text")
        with pytest.raises(ServiceError, match="closed"):
            client.encode("hello")

    run(test())


# ---- turns ----


def waiting(*texts: bytes, options: Options = Options()) -> Request:  # noqa: B008
    return Request(1, b"", options, list(texts), sum(map(len, texts)))


def test_every_client_has_its_turn() -> None:
    queue = FairQueue()
    large = [waiting(b"a" * 10_000) for _ in range(200)]
    for request in large:
        queue.put("greedy", request)
    small = waiting(b"b")
    queue.put("modest", small)
    taken = queue.take(60_000)
    assert small in [share.request for share in taken]


def test_turns_are_of_bytes_not_of_requests() -> None:
    queue = FairQueue()
    for _ in range(400):
        queue.put("large", waiting(b"a" * 10_000))
    for _ in range(40_000):
        queue.put("small", waiting(b"b" * 84))
    got = {b"a": 0, b"b": 0}
    for _ in range(10):
        for share in queue.take(200_000):
            for text in share.texts:
                got[text[:1]] += len(text) + 16
    assert abs(got[b"a"] - got[b"b"]) < 50_000


def test_a_batch_has_one_set_of_options_and_others_come_next() -> None:
    queue = FairQueue()
    other = Options(specials="all")
    for name in "abc":
        queue.put(name, waiting(b"x", options=other if name == "b" else Options()))
        queue.put(name, waiting(b"y"))
    first = [share.request.options for share in queue.take(1 << 20)]
    assert first == [Options()] * 4
    assert not queue.take(1 << 20, waits=False, options=Options())  # It is the turn of b.
    assert [share.request.options for share in queue.take(1 << 20)] == [other]
    assert [share.texts for share in queue.take(1 << 20)] == [[b"y"]]


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 40_000), min_size=1, max_size=5), max_size=12), st.data())
def test_every_text_is_taken_once(sizes: list[list[int]], data: st.DataObject) -> None:
    queue = FairQueue()
    requests = [waiting(*(bytes(size) for size in each)) for each in sizes]
    for at, request in enumerate(requests):
        queue.put(at % 3, request)
    places: dict[Request, list[int]] = {request: [] for request in requests}
    while shares := queue.take(data.draw(st.integers(1, 60_000)), waits=False):
        for share in shares:
            assert share.texts == share.request.texts[share.first : share.first + len(share.texts)]
            places[share.request] += range(share.first, share.first + len(share.texts))
    assert all(places[request] == list(range(len(request.texts))) for request in requests)


def test_software_takes_what_cards_failed_with_twice_and_no_more() -> None:
    queue = FairQueue()
    queue.card_is(up=True)
    queue.put("client", waiting(b"poison"))
    for _ in range(2):
        assert not queue.take(1000, is_card=False, waits=False)
        queue.give_back(queue.take(1000))
    assert not queue.take(1000, waits=False)
    (share,) = queue.take(1000, is_card=False, waits=False)
    assert share.texts == [b"poison"]
    queue.put("client", waiting(b"more"))
    assert not queue.take(1000, is_card=False, waits=False)
    queue.card_is(up=False)
    assert queue.take(1000, is_card=False, waits=False)


def test_the_first_answer_stays() -> None:
    request = waiting(b"one", b"two")
    first, second = Share(request, 0, [b"one"]), Share(request, 1, [b"two"])
    assert not request.fill(first, pack_ids([[1]]))
    assert not request.fill(first, pack_ids([[9]]))
    assert request.fill(second, pack_ids([[2]]))
    assert not request.fill(second, pack_ids([[9]]))
    assert not request.refuse(RefusedError("late", Code.CARD))
    assert request.answer is not None
    assert read_answer(request.answer[HEADER_BYTES:], 2) == [[1], [2]]


# ---- clients that fail ----


def test_clients_that_are_killed_leave_nothing_behind(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        async with served(tmp_path, {"card": card}, session_seconds=0.1) as (service, address):
            card.gate.clear()
            for at in range(20):
                raw = await Raw.open(address, os.urandom(16))
                await raw.hear(Kind.WELCOME)
                raw.ask(1, b"a")
                raw.ask(2, b"b")
                raw.writer.write(frame(Kind.ENCODE, 3, bytes(5000))[: 40 * at])
                await raw.writer.drain()
                if at % 2:
                    await until(lambda: service.sessions.unanswered > 0)
                raw.cut()
            async with AsyncClient(address) as client:
                texts = some_texts(1, 50)
                answer = asyncio.create_task(client.encode_batch(texts))
                await asyncio.sleep(0.1)
                card.gate.set()
                assert await answer == expected(texts)
            await until(lambda: len(service.sessions) == 0)
            assert service.sessions.waiting.used == 0
            assert service.sessions.answers.size == service.sessions.unanswered == 0
            assert len(card.texts) < 40 + 50  # Most of what nobody waits for was withdrawn.

    run(test())


@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        frame(Kind.DONE, 1),
        frame(Kind.HELLO, 0, b"JETN"),
        frame(Kind.HELLO, 0, b"JETM" + bytes(20)),
        frame(Kind.HELLO, 0, b"JETN\x09\x00" + bytes(18)),
        struct.pack("<IB3sQ", 1 << 31, Kind.HELLO, bytes(3), 0),
        bytes(64),
    ],
)
def test_refuses_who_speaks_another_protocol(tmp_path: Path, content: bytes) -> None:
    async def test() -> None:
        async with served(tmp_path) as (_, address):
            reader, writer = await asyncio.open_unix_connection(address.path)
            writer.write(content)
            answer = read_header(await reader.readexactly(HEADER_BYTES))
            assert answer.kind == Kind.REFUSED
            await reader.readexactly(answer.size)
            assert await reader.read() == b""
            writer.close()

    run(test())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        bytes(15),
        struct.pack("<QII", 0, 0, 9),
        struct.pack("<QIII", 0, 0, 1, 5) + b"four",
        struct.pack("<QIII", 0, 0, 1, 5) + b"sixsix",
        struct.pack("<QII", 0, 1 << 31, 0),
        struct.pack("<QII", 0, 2, 0) + b"[]",
        struct.pack("<QII", 0, 3, 0) + b"\xff{}",
        *(
            struct.pack("<QII", 0, len(text), 0) + text
            for text in (
                b'{"what":1}',
                b'{"specials":"some"}',
                b'{"specials":[1]}',
                b'{"prepend":true}',
                b'{"append":1.5}',
                b'{"append":99999999999999999999}',
                b'{"append":-1}',
                b'{"specials":["<|no|>"]}',
                b"[" * 100_000,
            )
        ),
    ],
)
def test_refuses_a_malformed_request_and_goes_on(tmp_path: Path, body: bytes) -> None:
    async def test() -> None:
        async with served(tmp_path) as (service, address):
            raw = await Raw.open(address)
            await raw.hear(Kind.WELCOME)
            raw.say(Kind.ENCODE, 5, body)
            assert await raw.refusal(5) == Code.REQUEST
            raw.ask(6, b"right")
            await raw.answer(6, b"right")
            assert service.sessions.waiting.used == 0
            raw.cut()

    run(test())


@given(st.binary(max_size=80))
def test_no_bytes_break_the_reading_of_a_request(body: bytes) -> None:
    try:
        wanted = read_request(body)
    except RefusedError as error:
        assert error.code == Code.REQUEST  # noqa: PT017
    else:
        assert read_request(pack_request(wanted.done, wanted.options, wanted.texts)) == wanted


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=9), max_size=9), st.integers(1, 5))
def test_what_is_packed_is_read(texts: list[bytes], texts_max: int) -> None:
    options = Options(("<|x|>",), "<|end|>", 7)
    assert read_request(pack_request(3, options, texts)).texts == texts
    assert read_request(pack_request(3, options, texts)).options == options
    ids = [list(text) for text in texts]
    assert read_answer(join_answer([pack_ids(ids[:2]), pack_ids(ids[2:])]), len(ids)) == ids
    groups = list(grouped(texts, texts_max))
    assert [text for group in groups for text in group] == texts
    assert all(1 <= len(group) <= texts_max for group in groups)


@given(st.binary(max_size=40), st.integers(0, 4))
def test_an_answer_that_is_none_is_refused(body: bytes, texts: int) -> None:
    with suppress(ProtocolError):
        assert len(read_answer(body, texts)) == texts


def test_refuses_what_is_too_large_and_goes_on(tmp_path: Path) -> None:
    async def test() -> None:
        limits: dict[str, Any] = {"body_bytes_max": 1000, "texts_max": 3}
        async with served(tmp_path, **limits) as (service, address):
            raw = await Raw.open(address)
            await raw.hear(Kind.WELCOME)
            raw.ask(1, bytes(100_000))
            assert await raw.refusal(1) == Code.SIZE
            raw.ask(2, *[b"a"] * 4)
            assert await raw.refusal(2) == Code.SIZE
            raw.ask(3, b"a", b"b", b"c")
            await raw.answer(3, b"a", b"b", b"c")
            raw.writer.write(struct.pack("<IB3sQ", (1 << 32) - 1, Kind.ENCODE, bytes(3), 4))
            assert await raw.refusal(0) == Code.REQUEST
            assert await raw.reader.read() == b""
            raw.cut()
            async with AsyncClient(address) as client:
                with pytest.raises(RefusedError, match="at most 1000"):
                    await client.encode(bytes(1000))
                texts = [b"a"] * 50
                assert await client.encode_batch(texts) == expected(texts)
            assert service.sessions.waiting.used == 0

    run(test())


def test_lets_in_only_so_many_clients(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            served(tmp_path, connections_max=2) as (_, address),
            AsyncClient(address),
            AsyncClient(address) as second,
        ):
            raw = await Raw.open(address)
            assert await raw.refusal(0) == Code.BUSY
            raw.cut()
            third = asyncio.create_task(AsyncClient(address).__aenter__())
            await asyncio.sleep(0.1)
            assert not third.done()
            await second.close()
            await (await third).close()

    run(test())


# ---- ids ----


def test_a_repeated_id_is_answered_from_what_there_is(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        async with served(tmp_path, {"card": card}) as (service, address):
            raw = await Raw.open(address)
            await raw.hear(Kind.WELCOME)
            raw.ask(1, b"one", b"two")
            await raw.answer(1, b"one", b"two")
            raw.ask(1, b"one", b"two")
            await raw.answer(1, b"one", b"two")
            raw.ask(1, b"another")
            assert await raw.refusal(1) == Code.REPEATED
            raw.cut()
            raw = await Raw.open(address)
            await raw.hear(Kind.WELCOME)
            raw.ask(1, b"one", b"two")
            await raw.answer(1, b"one", b"two")
            assert card.texts == [b"one", b"two"]
            raw.say(Kind.DONE, 2)
            raw.ask(1, b"one", b"two")
            assert await raw.refusal(1) == Code.REPEATED
            assert service.sessions.answers.size == 0
            assert service.metrics.total("jeton_repeated_total") == 2
            raw.cut()

    run(test())


def test_a_client_that_comes_back_is_answered_once(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        async with served(tmp_path, {"card": card}) as (_, address):
            card.gate.clear()
            first = await Raw.open(address)
            await first.hear(Kind.WELCOME)
            first.ask(1, b"one")
            await until(lambda: card.texts == [b"one"])
            second = await Raw.open(address)  # The first is cut off.
            await second.hear(Kind.WELCOME)
            second.ask(1, b"one")
            second.ask(2, b"two")
            second.ask(1, b"one")
            await asyncio.sleep(0.05)
            card.gate.set()
            await second.answer(1, b"one")
            await second.answer(2, b"two")
            assert await first.reader.read() == b""
            first.cut()
            assert card.texts == [b"one", b"two"]
            second.cut()

    run(test())


def test_answers_that_are_forgotten_are_made_again(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        async with served(tmp_path, {"card": card}, answers_bytes_max=100) as (service, address):
            raw = await Raw.open(address)
            await raw.hear(Kind.WELCOME)
            for number in (1, 2, 3, 1):
                raw.ask(number, b"abcdefgh" * 3)
                await raw.answer(number, b"abcdefgh" * 3)
            await until(lambda: service.sessions.answers.size <= 100)
            assert len(card.texts) == 4
            raw.cut()

    run(test())


# ---- slow readers ----


@pytest.mark.parametrize(
    "limits", [{"in_flight_max": 8}, {"in_flight_bytes_max": 400_000, "body_bytes_max": 100_000}]
)
def test_who_does_not_read_is_not_read(tmp_path: Path, limits: dict[str, Any]) -> None:
    async def test() -> None:
        async with served(tmp_path, **limits) as (service, address):
            text = b"x y z " * 10_000
            raw = await Raw.open(address)
            for number in range(1, 41):
                raw.ask(number, text)
            await until(lambda: service.metrics.total("jeton_answers_total") >= 6)
            await asyncio.sleep(0.2)
            accepted = service.metrics.total("jeton_requests_total")
            assert accepted <= 12  # Eight, and what the system's buffers took.
            async with AsyncClient(address) as client:
                assert await client.encode(text) == trained().encode(text)
            await raw.hear(Kind.WELCOME)
            for number in range(1, 41):
                await raw.answer(number, text)
            raw.cut()

    run(test())


@pytest.mark.parametrize("limits", [{"stall_seconds": 0.2}, {"answers_bytes_max": 300_000}])
def test_who_never_reads_is_cut_off_and_may_come_back(
    tmp_path: Path, limits: dict[str, Any]
) -> None:
    async def test() -> None:
        async with served(tmp_path, in_flight_max=8, **limits) as (service, address):
            text = b"x y z " * 10_000
            raw = await Raw.open(address)
            for number in range(1, 9):
                raw.ask(number, text)
            await until(lambda: service.metrics.total("jeton_slow_readers_total") == 1)
            await until(lambda: service.health()["connections"] == 0)
            raw.cut()
            assert service.sessions.answers.size <= service.settings.answers_bytes_max
            raw = await Raw.open(address)
            await raw.hear(Kind.WELCOME)
            for number in range(1, 9):
                raw.ask(number, text)
                await raw.answer(number, text)
            raw.cut()

    run(test())


def test_all_that_waits_is_bounded(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        limits: dict[str, Any] = {
            "waiting_bytes_max": 50_000,
            "body_bytes_max": 20_000,
            "in_flight_bytes_max": 20_000,
        }
        async with served(tmp_path, {"card": card}, **limits) as (service, address):
            card.gate.clear()
            async with asyncio.TaskGroup() as group:
                for seed in range(10):
                    group.create_task(ask(address, seed))
                await until(lambda: service.sessions.unanswered >= 2)
                for _ in range(20):
                    assert service.sessions.waiting.used <= 50_000
                    await asyncio.sleep(0.01)
                card.gate.set()
            assert service.sessions.waiting.used == 0

    async def ask(address: Address, seed: int) -> None:
        async with AsyncClient(address) as client:
            text = b"%d " % seed * 6000
            for found in await asyncio.gather(*(client.encode(text) for _ in range(5))):
                assert found == trained().encode(text)

    run(test())


# ---- cards that fail ----


def test_a_killed_card_loses_nothing_and_comes_back(tmp_path: Path) -> None:
    async def test() -> None:
        link = Faulty(ReferenceTransport(SHAPE))
        device = Device(link)
        device.load(trained())
        texts = some_texts(3, 12)
        async with (
            served(tmp_path, {"card": device}) as (service, address),
            AsyncClient(address) as client,
        ):
            assert await client.encode_batch(texts) == expected(texts)

            def die(*_: Words) -> Any:
                raise OSError("the bus is gone")

            link.spoil = die
            link.on_read = lambda _: 0xFFFFFFFF
            link.on_send = die
            assert await client.encode_batch(texts) == expected(texts)
            health = await client.health()
            assert health["status"] == "degraded"
            assert health["cards"][0]["failures"]
            link.heal()
            await until(lambda: service.health()["status"] == "ok")
            before = service.health()["cards"][0]["texts"]
            assert await client.encode_batch(texts) == expected(texts)
            assert service.health()["cards"][0]["texts"] == before + len(texts)

    run(test())


def test_what_a_card_fails_with_goes_to_the_others(tmp_path: Path) -> None:
    async def test() -> None:
        dead, alive = Moody(trained()), Moody(trained())
        dead.is_dead = True
        cards: dict[str, Card] = {"dead": dead, "alive": alive}
        async with served(tmp_path, cards, batch_bytes=500) as (service, address):
            async with AsyncClient(address) as client:
                texts = some_texts(5, 200)
                alive.gate.clear()
                answer = asyncio.create_task(client.encode_batch(texts))
                await until(lambda: bool(dead.batches))
                alive.gate.set()
                assert await answer == expected(texts)
            done = {card["name"]: card["texts"] for card in service.health()["cards"]}
            assert done["dead"] == 0
            assert done["alive"] >= 100
            assert sum(done.values()) == 200

    run(test())


def test_a_text_that_kills_cards_is_encoded_in_software(tmp_path: Path) -> None:
    async def test() -> None:
        cards = {name: Moody(trained()) for name in "ab"}
        for card in cards.values():
            card.poison = b"poison"
        async with served(tmp_path, dict(cards)) as (service, address):
            async with AsyncClient(address) as client:
                for text in ["good", "poison", "better"]:
                    assert await client.encode(text) == trained().encode(text)
            await until(lambda: service.health()["status"] == "ok")
            assert sum(card["failures"] for card in service.health()["cards"]) == 2

    run(test())


def test_without_software_it_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        card.poison = b"poison"
        async with (
            served(tmp_path, {"a": card}, fallback=False) as (service, address),
            AsyncClient(address) as client,
        ):
            with pytest.raises(RefusedError, match="the card is gone") as refused:
                await client.encode("poison")
            assert refused.value.code == Code.CARD
            assert await client.encode("good") == trained().encode("good")
            card.is_dead = True
            answer = asyncio.create_task(client.encode("late"))
            await until(lambda: service.health()["status"] == "down")
            assert not answer.done()
            card.is_dead = False
            assert await answer == trained().encode("late")

    run(test())


def test_a_card_that_hangs_is_given_up(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        async with served(tmp_path, {"card": card}, hang_seconds=0.2) as (service, address):
            async with AsyncClient(address) as client:
                card.gate.clear()
                assert await client.encode("text") == trained().encode("text")
                assert service.health()["cards"][0]["failures"] == 1
                card.gate.set()  # What it gives back now is late, and dropped.
                await until(lambda: service.health()["status"] == "ok")
                assert await client.encode("more") == trained().encode("more")
            assert service.metrics.total("jeton_answers_total") == 2

    run(test())


def test_what_no_one_can_encode_is_refused_alone(tmp_path: Path) -> None:
    class Picky(Software):
        def encode_iter(
            self, texts: Iterable[list[bytes]], **options: Any
        ) -> Iterator[list[list[int]]]:
            def checked(batch: list[bytes]) -> list[bytes]:
                if b"bad" in batch:
                    raise jeton.Error("this text is bad")
                return batch

            return super().encode_iter(map(checked, texts), **options)

    async def test() -> None:
        card = Moody(trained())
        async with served(tmp_path, {"card": card}) as (service, address):
            service._workers[-1]._opener = lambda: Picky(trained())
            service._workers[-1]._card = Picky(trained())
            card.is_dead = True
            async with AsyncClient(address) as client:
                asked = [client.encode(text) for text in ("one", "bad", "two")]
                one, bad, two = await asyncio.gather(*asked, return_exceptions=True)
                assert [one, two] == expected(["one", "two"])
                assert isinstance(bad, RefusedError)
                assert str(bad) == "this text is bad"

    run(test())


# ---- the service ends, and comes back ----


def command(folder: Path, *options: str) -> list[str]:
    file = folder / "words.jeton"
    if not file.exists():
        trained().save(file)
    program = [sys.executable, "-m", "jeton", "accel", "serve"]
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


@pytest.mark.parametrize("kills", [1, pytest.param(8, marks=pytest.mark.long)])
def test_a_killed_service_loses_nothing(tmp_path: Path, kills: int) -> None:
    async def ask(address: str, seed: int, ended: asyncio.Event) -> int:
        asked = 0
        async with AsyncClient(address, in_flight=4) as client:
            while not ended.is_set():
                texts = some_texts(1000 * seed + asked, 30)
                assert await client.encode_batch(texts) == expected(texts)
                asked += 1
            return client.connections

    async def test() -> None:
        address = f"unix:{tmp_path / 'socket'}"
        ended = asyncio.Event()
        clients = []
        for kill in range(kills):
            async with process(tmp_path, "--listen", address) as started:
                if not kill:
                    clients = [asyncio.create_task(ask(address, at, ended)) for at in range(10)]
                await asyncio.sleep(0.3)
                started.kill()
        async with process(tmp_path, "--listen", address):
            await asyncio.sleep(0.2)
            ended.set()
            assert max(await asyncio.gather(*clients)) >= 2

    run(test())


def test_sigterm_answers_what_was_accepted(tmp_path: Path) -> None:
    async def test() -> None:
        address = Address(path=str(tmp_path / "socket"))
        async with process(tmp_path, "--listen", str(address)) as started:
            raw = await Raw.open(address)
            await raw.hear(Kind.WELCOME)
            texts = [b"some words " * 5000] * 10
            for number in range(1, 31):
                raw.ask(number, *texts)
            await raw.answer(1, *texts)
            started.send_signal(signal.SIGTERM)
            answered = 1
            while True:
                header = read_header(await raw.reader.readexactly(HEADER_BYTES))
                body = await raw.reader.readexactly(header.size)
                if header.kind == Kind.GOODBYE:
                    break
                answered += 1
                assert header[1:] == (Kind.IDS, answered)
                assert read_answer(body, 10) == expected(texts)
            assert await raw.reader.read() == b""
            raw.cut()
            assert await started.wait() == 0
            assert started.stderr is not None
            assert b"; 0 requests were not answered" in await started.stderr.read()
        assert not file_of(address).exists()

    run(test())


def test_draining_has_an_end(tmp_path: Path) -> None:
    async def test() -> None:
        card = Moody(trained())
        service = Service(trained(), {"card": lambda: card}, Settings(fallback=False))
        await service.start()
        address = await service.listen(Address(path=str(tmp_path / "socket")))
        card.gate.clear()
        client = AsyncClient(address, patience=0.2)
        async with client:
            answer = asyncio.create_task(client.encode("text"))
            await until(lambda: bool(card.batches))
            draining = asyncio.create_task(service.drain(0.1))
            with pytest.raises(ServiceError, match="cannot be reached"):
                await answer
            card.gate.set()
            assert await draining == 1

    run(test())


def test_a_service_with_another_tokenizer_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        other = jeton.Tokenizer({bytes([byte]): byte for byte in range(256)})
        assert identity(other) != identity(trained())
        async with (
            served(tmp_path) as (service, address),
            AsyncClient(address) as client,
        ):
            await client.encode("text")
            await service.drain(5)
            async with served(tmp_path, tokenizer=other):
                with pytest.raises(ServiceError, match="another tokenizer"):
                    await client.encode("text")

    run(test())


def test_a_stale_socket_is_replaced_and_one_in_use_is_not(tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path) as (service, address):
            assert file_of(address).stat().st_mode & 0o777 == 0o600
            with pytest.raises(ServiceError, match=r"listens at .* already"):
                await service.listen(address)
        async with process(tmp_path, "--listen", str(address)) as started:
            started.kill()
        assert file_of(address).is_socket()
        async with served(tmp_path) as (_, address), AsyncClient(address) as client:
            assert await client.encode("text") == trained().encode("text")
        file_of(address).write_text("precious")
        with pytest.raises(ServiceError, match="no socket"):
            async with served(tmp_path):
                pass

    run(test())


# ---- who may come ----


def test_a_group_may_use_the_socket(tmp_path: Path) -> None:
    async def test() -> None:
        group = grp.getgrgid(os.getgid()).gr_name
        service = Service(trained(), {}, group=group)
        address = await service.listen(Address(path=str(tmp_path / "socket")))
        assert file_of(address).stat().st_mode & 0o777 == 0o660
        assert file_of(address).group() == group
        await service.drain(1)
        with pytest.raises(ServiceError, match="no group"):
            await Service(trained(), {}, group="no such group").listen(address)

    run(test())


def test_a_token_lets_in(tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path, token=TOKEN) as (service, address):
            for wrong in (None, b"", TOKEN[:-1], TOKEN + b"0", TOKEN.upper()):
                with pytest.raises(RefusedError, match="token") as refused:
                    async with AsyncClient(address, token=wrong):
                        pass
                assert refused.value.code == Code.TOKEN
            async with AsyncClient(address, token=TOKEN) as client:
                assert await client.encode("text") == trained().encode("text")
            await until(lambda: len(service.sessions) == 0)

    run(test())


def test_beyond_the_loopback_it_takes_tls_and_a_token(tmp_path: Path) -> None:
    async def test() -> None:
        async with served(tmp_path, token=TOKEN) as (service, _):
            for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):  # noqa: S104
                with pytest.raises(ServiceError, match="certificate"):
                    await service.listen(Address(host=host))
        with pytest.raises(ServiceError, match="give its token"):
            AsyncClient("tcp:example.org:1")

    run(test())


@cache
def certificate(folder: Path) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not here to make a certificate")
    chain, key = folder / "chain.pem", folder / "key.pem"
    request = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here"
    )
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(chain)]
    subprocess.run([openssl, *request.split(), *names], check=True, capture_output=True)
    return chain, key


def test_tls_is_verified(tmp_path: Path) -> None:
    async def test() -> None:
        chain, key = certificate(tmp_path)
        async with served(tmp_path, token=TOKEN) as (service, _):
            address = await service.listen(Address(host="127.0.0.1"), server_context(chain, key))
            async with AsyncClient(address, token=TOKEN, authority=chain) as client:
                assert await client.encode_batch(TEXTS) == expected(TEXTS)
            elsewhere = Address(host="localhost", port=address.port)  # Not in the certificate.
            with pytest.raises(ServiceError, match="certificate"):
                async with AsyncClient(elsewhere, token=TOKEN, authority=chain):
                    pass
            with pytest.raises(ServiceError, match="cannot be reached"):
                async with AsyncClient(address, token=TOKEN, patience=0.2):
                    pass  # Without TLS.

    run(test())


@pytest.mark.parametrize("text", ["", "unix:", "tcp:", "tcp:1", "tcp:h:x", "tcp:h:65536", "/a/b"])
def test_refuses_what_is_no_address(text: str) -> None:
    with pytest.raises(ServiceError, match="is no address"):
        Address.parse(text)


@pytest.mark.parametrize("text", ["unix:/a/b", "tcp:localhost:1", "tcp:[::1]:80", "tcp:1.2.3.4:5"])
def test_spells_addresses_as_they_are_read(text: str) -> None:
    assert str(Address.parse(text)) == text


# ---- monitors ----


def test_monitors_read_health_and_metrics(tmp_path: Path) -> None:
    async def get(port: int, line: str) -> tuple[str, str]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"{line}\r\nHost: here\r\n\r\n".encode())
        head, _, body = (await reader.read()).decode().partition("\r\n\r\n")
        writer.close()
        return head.splitlines()[0], body

    async def test() -> None:
        card = Moody(trained())
        async with served(tmp_path, {'a "card"': card}, fallback=False) as (service, address):
            monitors = await listen_for_scrapes(service, Address(host="127.0.0.1"))
            port = monitors.sockets[0].getsockname()[1]
            async with AsyncClient(address) as client:
                await client.encode_batch(["one", "two"])
            status, body = await get(port, "GET /metrics HTTP/1.1")
            assert status == "HTTP/1.1 200 OK"
            values = dict(
                line.rsplit(" ", 1) for line in body.splitlines() if not line.startswith("#")
            )
            assert values["jeton_texts_total"] == "2"
            assert values['jeton_card_up{card="a \\"card\\""}'] == "1"
            assert values['jeton_request_seconds_bucket{le="+Inf"}'] == "1"
            assert (await get(port, "GET /health HTTP/1.1"))[0] == "HTTP/1.1 200 OK"
            card.is_dead = True
            async with AsyncClient(address) as client:
                late = asyncio.create_task(client.encode("late"))
                await until(lambda: service.health()["status"] == "down")
                status, body = await get(port, "GET /health HTTP/1.1")
                assert status.startswith("HTTP/1.1 503")
                assert "the card is gone" in body
                card.is_dead = False
                await late
            assert (await get(port, "GET / HTTP/1.1"))[0].startswith("HTTP/1.1 404")
            assert (await get(port, "POST /metrics HTTP/1.1"))[0].startswith("HTTP/1.1 405")
            monitors.close()
            with pytest.raises(ServiceError, match="loopback"):
                await listen_for_scrapes(service, Address(host="0.0.0.0"))  # noqa: S104

    run(test())


# ---- the command ----


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--listen", "nowhere"], "is no address"),
        (["--listen", "tcp:0.0.0.0:0"], "give a certificate"),
        (["--listen", "unix:/no/such/folder/socket"], "cannot be listened at"),
        (["--certificate", "chain.pem"], "belong together"),
        (["--card", "no-card", "--listen", "unix:socket"], "no-card"),
    ],
)
def test_the_command_refuses_in_words(tmp_path: Path, options: list[str], reason: str) -> None:
    ended = CliRunner().invoke(main, command(tmp_path, *options)[3:])
    assert ended.exit_code == 2
    assert ended.output.count("\n") == 1
    assert reason in ended.output
