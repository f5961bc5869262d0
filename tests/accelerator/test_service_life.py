"""A service ends, restarts, admits clients with access, and reports its state."""

import asyncio
import grp
import os
import shlex
import signal
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

import zeton
from accelerator.cards import TEXTS, expected, trained
from accelerator.services import (
    SECONDS,
    TOKEN,
    Moody,
    Raw,
    command,
    file_of,
    process,
    run,
    served,
    some_texts,
    until,
)
from accelerator.ways import certificate, needs_openssl
from support.paths import ROOT
from zeton.accel import DeviceError
from zeton.accel.service import (
    Address,
    AsyncClient,
    Code,
    RefusedError,
    Service,
    ServiceError,
    Settings,
)
from zeton.accel.service.protocol import (
    HEADER_BYTES,
    Kind,
    read_answer,
    read_header,
)
from zeton.accel.service.scrape import listen_for_scrapes
from zeton.accel.transports.gate import server_context
from zeton.cli import main
from zeton.cli.commands.accel_serve import serve

# ---- the service ends, and comes back ----


@pytest.mark.timeout(900)
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

    run(test(), SECONDS * (1 + kills))


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
            with pytest.raises(ServiceError, match="cannot reach"):
                await answer
            card.gate.set()
            assert await draining == 1

    run(test())


def test_a_service_with_another_tokenizer_is_refused(tmp_path: Path) -> None:
    async def test() -> None:
        other = zeton.Tokenizer({bytes([byte]): byte for byte in range(256)})
        assert other.digest != trained().digest
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
        with pytest.raises(ServiceError, match="is not a socket"):
            async with served(tmp_path):
                pass

    run(test())


# ---- access ----


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
        for token in (None, b""):
            with pytest.raises(ServiceError, match="needs a token"):
                AsyncClient("tcp:example.org:1", token=token)
        for token in (b"", b"short", bytes(1025)):
            with pytest.raises(DeviceError, match="give 16 to 1024"):
                Service(trained(), {}, token=token)

    run(test())


@needs_openssl
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
            with pytest.raises(ServiceError, match="cannot reach"):
                async with AsyncClient(address, token=TOKEN, patience=0.2):
                    pass  # Without TLS.

    run(test())


@pytest.mark.parametrize("text", ["", "unix:", "tcp:", "tcp:1", "tcp:h:x", "tcp:h:65536", "/a/b"])
def test_refuses_what_is_no_address(text: str) -> None:
    with pytest.raises(ServiceError, match="is not an address"):
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
            assert values["zeton_texts_total"] == "2"
            assert values['zeton_card_up{card="a \\"card\\""}'] == "1"
            assert values['zeton_request_seconds_bucket{le="+Inf"}'] == "1"
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
        (["--listen", "nowhere"], "is not an address"),
        (["--listen", "tcp:0.0.0.0:0"], "give a certificate"),
        (["--listen", "unix:/no/such/folder/socket"], "cannot listen at"),
        (["--certificate", "chain.pem"], "belong together"),
        (["--card", "no-card", "--listen", "unix:socket"], "no-card"),
    ],
)
def test_the_command_refuses_in_words(tmp_path: Path, options: list[str], reason: str) -> None:
    ended = CliRunner().invoke(main, command(tmp_path, *options)[3:])
    assert ended.exit_code == 2
    assert ended.output.count("\n") == 1
    assert reason in ended.output


def test_the_unit_of_systemd_gives_options_that_there_are() -> None:
    unit = (ROOT / "deploy" / "zeton-accel.service").read_text().replace("\\\n", "")
    (line,) = (line for line in unit.splitlines() if line.startswith("ExecStart="))
    words = shlex.split(line.partition("=")[2])
    assert words[:3] == ["/opt/zeton/bin/zeton", "accel", "serve"]
    known = {option for each in serve.params for option in each.opts}
    assert known.issuperset(word for word in words if word.startswith("--"))
    assert "Type=notify" in unit


def test_tells_systemd_when_it_is_ready_and_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(str(tmp_path / "notify"))
            told.settimeout(SECONDS)
            monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
            async with process(tmp_path, "--listen", f"unix:{tmp_path / 'socket'}") as started:
                assert await asyncio.to_thread(told.recv, 100) == b"READY=1"
                started.send_signal(signal.SIGTERM)
                assert await asyncio.to_thread(told.recv, 100) == b"STOPPING=1"
                assert await started.wait() == 0

    run(test())


def test_a_signal_while_cards_are_opened_ends_the_service_at_once(tmp_path: Path) -> None:
    """A card behind a socket that answers nothing takes ten seconds to be given up."""

    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            card = ("--card", f"tcp:127.0.0.1:{silent.getsockname()[1]}")
            started = await asyncio.create_subprocess_exec(
                *command(tmp_path, *card, "--listen", f"unix:{tmp_path / 'socket'}")
            )
            connection, _ = await asyncio.to_thread(silent.accept)
            with connection:
                started.send_signal(signal.SIGTERM)
                assert await started.wait() == -signal.SIGTERM

    run(test())
