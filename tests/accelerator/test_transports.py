"""One suite for every way to a card: ids, registers, order, resets, faults, two clients."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from accelerator.cards import SHAPE, TEXT, TEXTS, expected, needs_tools, trained
from accelerator.ways import (
    TOKEN,
    WAYS,
    Ways,
    certificate,
    hasten,
    loaded,
    needs_fuse,
    needs_openssl,
    refusal,
    right,
    started,
    wait_for,
)
from zeton import accel
from zeton.accel import registers
from zeton.accel.configuration import Configuration
from zeton.accel.device import Device
from zeton.accel.errors import AnswerError, BusyError, DeviceError
from zeton.accel.reference import ReferenceTransport
from zeton.accel.tables.image import digest_image
from zeton.accel.tables.image_cache import load_image
from zeton.accel.transports.card_server import CardServer
from zeton.accel.transports.faults import (
    TRANSPORT_FAULTS,
    FaultyTransport,
)
from zeton.accel.transports.transport import Transport
from zeton.accel.wire.link import Link


@pytest.fixture(params=WAYS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def transport(ways: Ways, name: str) -> Iterator[Transport]:
    transport = ways.open(name)
    yield transport
    transport.close()


@pytest.fixture
def device(transport: Transport) -> Device:
    return loaded(transport)


# ---- common to every way ----


def test_says_what_the_card_is(device: Device) -> None:
    shape = SHAPE.with_parameters(bytes_log=Configuration().bytes_log)
    assert device.info.configuration == shape


def test_encodes_as_the_tokenizer_does(device: Device) -> None:
    assert device.encode_batch(TEXTS, allowed_special="all") == expected(
        TEXTS, allowed_special="all"
    )
    batches = [[f"{TEXT} {at}", ""] for at in range(12)]
    found = list(device.encode_iter(batches, in_flight=4))
    assert found == [expected(batch) for batch in batches]


def test_registers_keep_what_is_written(transport: Transport) -> None:
    for value in (0, 0xFFFFFFFF, 0x12345678):
        transport.write32(registers.IMAGE_0, value)
        transport.write32(registers.IMAGE_1, value ^ 1)
        assert transport.read32(registers.IMAGE_0) == value
        assert transport.read32(registers.IMAGE_1) == value ^ 1
    transport.write32(registers.IMAGE_0, 0)


def test_tables_can_be_read_back(device: Device) -> None:
    ids = Link(device.transport, 20).read_table(4, 256, lane=1)
    assert ids.tolist() == [trained().encode(bytes([byte]))[0] for byte in range(256)]


def test_words_come_in_order_in_any_portions(device: Device) -> None:
    transport = device.transport
    packet = header(6, last=True) + b"lo low" + bytes(2)
    found: list[list[int]] = []
    for words_max in (1, 3, 1000):
        transport.send(packet)
        words: list[int] = []
        while not words or words[-1] >> 24 & 7 != 7:
            portion = transport.receive(words_max, 20)
            assert portion.dtype == np.uint32
            assert 1 <= len(portion) <= words_max
            words += portion.tolist()
        found.append(words[:-1])
    assert found[0] == found[1] == found[2]
    assert [word & 0xFFFFFF for word in found[0]] == trained().encode("lo low")
    device.reset()
    assert right(device)


def header(size: int, *, last: bool) -> bytes:
    return (0xF7 << 56 | last << 16 | size).to_bytes(8, "little")


def test_no_words_come_when_none_are_owed(device: Device) -> None:
    for timeout in (0.0, 0.03):
        assert device.transport.receive(10, timeout).tolist() == []
    assert right(device)


def test_what_was_sent_before_a_reset_is_gone_after_it(device: Device) -> None:
    for at in range(3):
        device.transport.send(header(3, last=True) + b"abc" + bytes(5))
        if at:
            assert device.transport.receive(1, 20).size
        device.reset()
        assert right(device)


def test_large_packets_arrive_whole(device: Device) -> None:
    image = load_image(trained(), device.info.configuration)
    link = Link(device.transport, 60)
    link.load(image * (1 + (5 << 18) // len(image)), 5)
    assert link.read_digest() == 5
    device.load(trained())
    assert link.read_digest() == digest_image(image)
    assert right(device)


def test_a_card_is_open_until_it_is_closed(ways: Ways, name: str) -> None:
    for _ in range(3):
        device = loaded(ways.open(name))
        assert right(device)
        device.close()
        device.close()
        with pytest.raises(DeviceError, match="is closed; open it again"):
            device.reset()


def test_two_clients_are_never_mixed(ways: Ways, name: str, device: Device) -> None:
    """Where the card is in the process, a second client has a card of its own."""
    batches = device.encode_iter([[f"{TEXT} {at}"] for at in range(4)], in_flight=3)
    assert next(batches) == expected([f"{TEXT} 0"])
    if " to " in name:
        for _ in range(3):
            with pytest.raises(BusyError, match="belongs to another client"):
                ways.open(name)
    else:
        assert right(loaded(ways.open(name)))
    assert list(batches) == [expected([f"{TEXT} {at}"]) for at in range(1, 4)]


# ---- faults of the card ----


@pytest.mark.parametrize(
    "name",
    [
        "reference",
        "tcp to reference",
        pytest.param("nodes to reference", marks=[needs_fuse, pytest.mark.long]),
        pytest.param("pci to reference", marks=pytest.mark.long),
        pytest.param("sim", marks=[needs_tools, pytest.mark.long]),
        pytest.param("nodes to sim", marks=[needs_tools, needs_fuse, pytest.mark.long]),
    ],
)
@pytest.mark.parametrize("fault", TRANSPORT_FAULTS)
def test_a_fault_ends_in_a_typed_error_or_the_right_ids(
    transport: Transport, name: str, fault: str
) -> None:
    link = FaultyTransport(transport)
    device = loaded(link)
    for seed in range(3):
        hasten(device, 5 if "sim" in name else 0.5)
        link.spoil(fault, seed, seed)
        said = refusal(device)
        assert "\n" not in said
        link.heal()
        hasten(device, 20)
        refusal(device)  # Words of before the fault may come now, or later still.
        device.reset()
        assert right(device)


# ---- by name, and as commands ----


def test_a_name_tells_the_way(ways: Ways) -> None:
    with accel.open(f"tcp:127.0.0.1:{ways.port('reference')}") as device:
        device.load(trained())
        assert right(device)
    for name in ("tcp", "tcp:", "nodes:", "uart:", "sim:x", "reference:", "usb:1"):
        with pytest.raises(DeviceError, match=f"card '{name}'(; known are| has .*; give )"):
            accel.open(name)
    with pytest.raises(DeviceError, match="'nowhere' is not an address; give HOST:PORT"):
        accel.open("tcp:nowhere")


def test_what_is_no_card_is_let_go() -> None:
    card = ReferenceTransport(SHAPE)
    card._registers[registers.ID] = 5
    with CardServer(card) as server:
        for _ in range(2):
            with pytest.raises(AnswerError, match="not a zeton card: its ID is 0x5"):
                accel.open(f"tcp:127.0.0.1:{server.port}")


@needs_openssl
@pytest.mark.long
def test_a_card_is_served_by_a_command(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate_, key = certificate(ways.folder)
    token = ways.folder / "token"
    token.write_bytes(TOKEN)
    secrets = ("--token-file", token, "--certificate", certificate_, "--key", key)
    with started(
        "card-server", "--listen", "127.0.0.1:0", "--card", "reference", *secrets
    ) as server:
        try:
            assert server.stdout is not None
            name = server.stdout.readline().decode().strip()
            monkeypatch.setenv("ZETON_CARD_TOKEN_FILE", str(token))
            monkeypatch.setenv("ZETON_CARD_AUTHORITY", str(certificate_))
            with accel.open(name) as device:
                device.load(trained())
                assert right(device)
        finally:
            server.terminate()


@needs_fuse
def test_a_fake_card_goes_when_it_is_told_to(tmp_path: Path) -> None:
    with started("fake-card", tmp_path, "--card", "reference") as process:
        assert process.stdout is not None
        name = process.stdout.readline().decode().strip()
        wait_for(lambda: Path(f"{name.removeprefix('nodes:')}_user").exists())
        assert sorted(file.name for file in tmp_path.iterdir()) == [
            "card_c2h_0",
            "card_h2c_0",
            "card_user",
        ]
        process.terminate()
        assert process.wait() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_commands_refuse_in_one_line(tmp_path: Path) -> None:
    for arguments, said in (
        (("card-server", "--listen", "0.0.0.0:0"), b"give TLS and a token, or use 127.0.0.1"),
        (("card-server", "--card", "usb:1"), b"no card 'usb:1'"),
        (("fake-card", tmp_path / "nowhere", "--card", "reference"), b"a fake card needs"),
    ):
        command = [sys.executable, "-m", "zeton", "accel", *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, check=False)
        assert ended.returncode == 2
        (line,) = ended.stderr.splitlines()
        assert said in line
