"""Clients that fail, come back, say nonsense, or do not read: nobody else notices."""

import asyncio
import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from accelerator.cards import expected, trained
from accelerator.services import Moody, Raw, run, served, some_texts, until
from zeton.accel.service import (
    Address,
    AsyncClient,
    Code,
    ProtocolError,
    RefusedError,
    ServiceError,
)
from zeton.accel.service.protocol import (
    HEADER_BYTES,
    Kind,
    frame,
    pack_hello,
    read_header,
)

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
            assert (
                len(card.texts) < 40 + 50
            )  # Most requests without a waiting client were withdrawn.

    run(test())


@pytest.mark.parametrize(
    "content",
    [
        b"GET / HTTP/1.1\r\nHost: here\r\n\r\n",
        frame(Kind.DONE, 1),
        frame(Kind.HELLO, 0, b"ZETN"),
        frame(Kind.HELLO, 0, b"ZETM" + bytes(20)),
        frame(Kind.HELLO, 0, b"ZETN\x09\x00" + bytes(18)),
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
                b'{"allowed_special":"some"}',
                b'{"allowed_special":[1]}',
                b'{"prepend":true}',
                b'{"append":1.5}',
                b'{"append":99999999999999999999}',
                b'{"append":-1}',
                b'{"allowed_special":["<|no|>"]}',
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
                with pytest.raises(RefusedError, match="more than 1,000"):
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
            assert service.metrics.total("zeton_repeated_total") == 2
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
            await until(lambda: service.metrics.total("zeton_answers_total") >= 6)
            await asyncio.sleep(0.2)
            accepted = service.metrics.total("zeton_requests_total")
            assert accepted <= 12  # Eight, and the content of the system's buffers.
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
            await until(lambda: service.metrics.total("zeton_slow_readers_total") == 1)
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


# ---- services that say nonsense ----


@pytest.mark.parametrize(
    "answer",
    [
        frame(Kind.IDS, 1, b"no answer"),
        frame(Kind.IDS, 1, bytes(8)),
        frame(Kind.HEALTH, 1, b"{}"),
        frame(Kind.REFUSED, 1, b"no reason"),
        frame(Kind.REFUSED, 0, b"no reason"),
        bytes(64),
    ],
)
def test_an_answer_that_makes_no_sense_is_an_error(tmp_path: Path, answer: bytes) -> None:
    async def odd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        said = {"version": 1, "tokenizer": "x", "texts_max": 9, "body_bytes_max": 1 << 20}
        await reader.readexactly(HEADER_BYTES + len(pack_hello(bytes(16), b"")))
        welcome = {**said, "in_flight_max": 9}
        writer.write(frame(Kind.WELCOME, 0, json.dumps(welcome).encode()))
        await reader.readexactly(HEADER_BYTES)
        writer.write(answer)
        await reader.read()
        writer.close()

    async def test() -> None:
        path = str(tmp_path / "socket")
        server = await asyncio.start_unix_server(odd, path)
        async with AsyncClient(Address(path=path)) as client:
            with pytest.raises(ProtocolError):
                await client.encode("text")
        server.close()

    run(test())


def test_a_name_that_is_none_is_an_error() -> None:
    async def test() -> None:
        with pytest.raises(ServiceError, match="cannot reach"):
            async with AsyncClient("tcp:no..host:1", token=bytes(16)):
                pass

    run(test())
