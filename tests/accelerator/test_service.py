"""The service answers every accepted text exactly once, exactly right, after any failure."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import zeton
from accelerator.cards import SHAPE, TEXTS, Faulty, expected, needs_tools, simulated, trained
from accelerator.services import Moody, run, served, some_texts, until
from zeton.accel.device import Device
from zeton.accel.reference import ReferenceTransport
from zeton.accel.service import (
    Address,
    AsyncClient,
    Client,
    Code,
    RefusedError,
    ServiceError,
)
from zeton.accel.service.workers import Card, Software
from zeton.accel.transports.transport import Transport
from zeton.accel.wire.packets import Words

# ---- right answers ----


SIM = pytest.param(simulated, marks=[needs_tools, pytest.mark.long])


@pytest.mark.parametrize("transport", [lambda: ReferenceTransport(SHAPE), SIM])
def test_answers_what_the_tokenizer_answers(
    tmp_path: Path, transport: Callable[[], Transport]
) -> None:
    async def test() -> None:
        device = Device(transport())
        device.load(trained())
        options: dict[str, Any] = {"allowed_special": "all", "prepend": "<|x|>", "append": 7}
        async with (
            served(tmp_path, {"card": device}) as (_, address),
            AsyncClient(address) as client,
        ):
            assert await client.encode("hello") == trained().encode("hello")
            assert await client.encode_batch([]) == []
            assert await client.encode_batch(TEXTS) == expected(TEXTS)
            assert await client.encode_batch(TEXTS, **options) == expected(TEXTS, **options)
            named = await client.encode("<|end|>a<|x|>", allowed_special=["<|x|>"])
            assert named == trained().encode("<|end|>a<|x|>", allowed_special=["<|x|>"])
        assert device.info.texts > len(TEXTS)

    run(test())


def test_answers_many_clients_on_several_cards(tmp_path: Path) -> None:
    async def ask(address: Address, seed: int) -> None:
        options = [{}, {"allowed_special": "all"}, {"append": "<|end|>"}][seed % 3]
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
            assert client.encode(
                "hello", allowed_special=None, prepend="<|x|>"
            ) == trained().encode("hello", allowed_special=None, prepend="<|x|>")
            assert client.encode_batch(TEXTS) == expected(TEXTS)
            assert client.health()["status"] == "ok"
            assert "zeton_requests_total 2" in client.metrics()
            with pytest.raises(RefusedError, match="special"):
                client.encode("a", allowed_special=["<|unknown|>"])
            with pytest.raises(TypeError, match="not one text"):
                client.encode_batch("text")
        with pytest.raises(ServiceError, match="closed"):
            client.encode("hello")

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
                card.gate.set()  # Its answer is late now, and dropped.
                await until(lambda: service.health()["status"] == "ok")
                assert await client.encode("more") == trained().encode("more")
            assert service.metrics.total("zeton_answers_total") == 2

    run(test())


def test_what_no_one_can_encode_is_refused_alone(tmp_path: Path) -> None:
    class Picky(Software):
        def encode_iter(
            self, texts: Iterable[list[bytes]], **options: Any
        ) -> Iterator[list[list[int]]]:
            def checked(batch: list[bytes]) -> list[bytes]:
                if b"bad" in batch:
                    raise zeton.Error("this text is bad")
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


def test_a_card_that_gives_too_few_answers_loses_nothing(tmp_path: Path) -> None:
    class Forgetful(Software):
        def encode_iter(
            self, texts: Iterable[list[bytes]], **options: Any
        ) -> Iterator[list[list[int]]]:
            for answers in super().encode_iter(texts, **options):
                yield answers[1:]

    async def test() -> None:
        async with (
            served(tmp_path, {"card": Forgetful(trained())}) as (service, address),
            AsyncClient(address) as client,
        ):
            assert await client.encode_batch(TEXTS) == expected(TEXTS)
            card, software = service.health()["cards"]
            assert (card["texts"], software["texts"]) == (0, len(TEXTS))
            assert card["failures"]

    run(test())
