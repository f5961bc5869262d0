"""A card in another machine: its server, its clients, and the connection between them."""

import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from accelerator.cards import SHAPE, TEXT
from accelerator.ways import (
    TOKEN,
    Ways,
    certificate,
    hasten,
    loaded,
    needs_openssl,
    refusal,
    right,
    wait_for,
)
from zeton.accel import registers
from zeton.accel.errors import AnswerError, BusyError, DeviceError, DeviceTimeoutError
from zeton.accel.reference import ReferenceTransport
from zeton.accel.transports import gate
from zeton.accel.transports.card_server import CardServer
from zeton.accel.transports.faults import (
    WIRE_FAULTS,
    FaultyWire,
)
from zeton.accel.transports.tcp import TcpTransport
from zeton.accel.wire.messages import Kind, Message


@pytest.fixture
def wire(ways: Ways) -> Iterator[FaultyWire]:
    with FaultyWire(ways.port("reference")) as wire:
        yield wire


@pytest.mark.parametrize("fault", WIRE_FAULTS)
def test_a_fault_of_the_connection_ends_in_a_typed_error_or_the_right_ids(
    wire: FaultyWire, fault: str
) -> None:
    device = loaded(TcpTransport("127.0.0.1", wire.port))
    try:
        for seed in range(5):
            hasten(device, 20 if fault == "single bytes" else 1)
            wire.spoil(fault, seed * 37 % 300, seed)
            said = refusal(device)
            assert wire.has_struck
            assert bool(said) is (fault != "single bytes"), said
            wire.heal()
            hasten(device, 20)
            if said:
                device.reset()
            assert right(device)
    finally:
        device.close()


def test_a_client_whose_connection_broke_takes_its_card_back(wire: FaultyWire, ways: Ways) -> None:
    device = loaded(TcpTransport("127.0.0.1", wire.port))
    hasten(device, 0.5)
    wire.spoil("a stalled connection", 0, 0)
    with pytest.raises(DeviceTimeoutError, match=r"was silent for 0\.5 s"):
        device.encode(TEXT)
    with pytest.raises(BusyError):  # Its server knows of no loss yet.
        ways.open("tcp to reference")
    # The first connection is still there, stalled.
    wire._fault = ""
    hasten(device, 20)
    device.reset()
    assert right(device)
    device.close()
    wait_for(lambda: not is_busy(ways))


def test_a_connection_that_stalls_does_not_hold_who_closes_it(
    wire: FaultyWire, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeton.accel.transports.tcp.CLOSE_SECONDS", 0.1)
    transport = TcpTransport("127.0.0.1", wire.port, timeout=100_000)
    wire.spoil("a stalled connection", 0, 0)
    transport.close()
    wire.heal()


def is_busy(ways: Ways) -> bool:
    try:
        ways.open("tcp to reference").close()
    except BusyError:
        return True
    return False


def test_a_killed_client_lets_its_card_go(ways: Ways) -> None:
    code = """
import sys
from zeton.accel.transports.tcp import TcpTransport
card = TcpTransport("127.0.0.1", int(sys.argv[1]))
card.send((0xF7 << 56 | 8).to_bytes(8, "little") + bytes(8))
print("has it", flush=True)
sys.stdin.read()
"""
    command = [sys.executable, "-c", code, str(ways.port("reference"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as client:  # type: ignore[call-overload]
        assert client.stdout.readline() == b"has it\n"
        assert is_busy(ways)
        client.kill()
    wait_for(lambda: not is_busy(ways))
    device = loaded(ways.open("tcp to reference"))
    assert right(device)
    device.close()


NONSENSE = {
    "nothing": b"",
    "some of a header": b"ZTN1\x01",
    "HTTP": b"GET / HTTP/1.1\r\nHost: card\r\n\r\n",
    "zeros": bytes(4096),
    "a large hello": b"ZTN1\x01\0\0\0\1\0\0\0\xff\xff\xff\xff\0\0\0\0",
    "an unknown kind": b"ZTN1\x63\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0",
    "a wrong check": Message(Kind.HELLO, 1, bytes(16)).to_bytes()[:-1] + b"\1",
    "no hello": Message(Kind.RESET, 1).to_bytes(),
    "a short hello": Message(Kind.HELLO, 1, b"me").to_bytes(),
}


@pytest.mark.parametrize("content", NONSENSE.values(), ids=NONSENSE)
def test_the_server_is_not_disturbed_by_nonsense(ways: Ways, content: bytes) -> None:
    device = loaded(ways.open("tcp to reference"))
    answer = b""
    with (
        socket.create_connection(("127.0.0.1", ways.port("reference")), 10) as stranger,
        suppress(OSError),
    ):
        stranger.sendall(content)
        stranger.shutdown(socket.SHUT_WR)
        while portion := stranger.recv(4096):
            answer += portion
    assert len(answer) < 200
    assert right(device)
    device.close()


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Message(Kind.READ, 9, b"123"), "READ with a payload of 3 bytes"),
        (Message(Kind.READ, 9, b"\1\0\0\0"), "no register 0x1"),
        (Message(Kind.WRITE, 9, b"\0\0\1\0\0\0\0\0"), "no register 0x10000"),
        (Message(Kind.SEND, 9), "SEND with a payload of 0 bytes"),
        (Message(Kind.SEND, 9, bytes(12)), "SEND with a payload of 12 bytes"),
        (Message(Kind.HELLO, 9, bytes(16)), "HELLO with a payload of 16 bytes"),
        (Message(Kind.DONE, 9), "DONE with a payload of 0 bytes"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_requests_that_make_no_sense_are_refused(ways: Ways, request_: Message, said: str) -> None:
    transport: Any = ways.open("tcp to reference")
    with pytest.raises(DeviceError, match=said):
        transport._request(request_.kind, request_.payload)
    assert transport.read32(registers.ID) == registers.ID_MAGIC.reset
    transport.close()


def test_what_the_card_refuses_is_told_with_its_type() -> None:
    class Odd(ReferenceTransport):
        error: OSError = OSError("")

        def read32(self, address: int) -> int:  # noqa: ARG002
            raise self.error

    card = Odd(SHAPE)
    with CardServer(card) as server:
        transport = TcpTransport("127.0.0.1", server.port)
        for kind in (DeviceError, DeviceTimeoutError, AnswerError, BusyError):
            card.error = kind("so it is")
            with pytest.raises(kind, match=r"^so it is$"):
                transport.read32(0)
        card.error = OSError("no such device")
        with pytest.raises(DeviceError, match=r"^the card cannot be reached: no such device$"):
            transport.read32(0)
        transport.close()


def test_a_server_that_stops_is_an_error_and_another_one_helps() -> None:
    card = ReferenceTransport(SHAPE)
    with CardServer(card) as server:
        device = loaded(TcpTransport("127.0.0.1", server.port, timeout=2))
        port = server.port
    with pytest.raises(DeviceError, match=r"the connection|the other side ended"):
        device.encode(TEXT)
    with pytest.raises(DeviceError, match="cannot connect to 127"):
        device.reset()
    with CardServer(card, port=port):
        device.reset()
        assert right(device)
        device.close()


def test_refuses_to_listen_or_speak_beyond_the_loopback_in_the_clear() -> None:
    with pytest.raises(DeviceError, match=r"0\.0\.0\.0 is beyond the loopback; give TLS and a tok"):
        CardServer(ReferenceTransport(SHAPE), "0.0.0.0")  # noqa: S104 - the test refuses it.
    with pytest.raises(DeviceError, match=r"card\.example is beyond the loopback; give TLS, or"):
        TcpTransport("card.example", 4004, token=TOKEN)
    with pytest.raises(DeviceError, match="cannot connect to no"):
        TcpTransport("no..host", 4004, token=TOKEN, context=ssl.create_default_context())
    with pytest.raises(DeviceError, match="the token has 5 bytes; give 16 to 1024"):
        CardServer(ReferenceTransport(SHAPE), token=b"short")
    with pytest.raises(
        DeviceError, match=r"card\.example is beyond the loopback; give a token, or"
    ):
        TcpTransport("card.example", 4004, context=ssl.create_default_context())


@needs_openssl
def test_refuses_another_token_and_another_authority(ways: Ways, tmp_path: Path) -> None:
    port = ways.port("reference", tls=True)
    context = gate.authority_context(certificate(ways.folder)[0])
    for token in (b"", TOKEN[:-1], TOKEN + b"x"):
        with pytest.raises(DeviceError, match="the token is not the card's"):
            TcpTransport("127.0.0.1", port, token=token, context=context)
    other = gate.authority_context(certificate(tmp_path)[0])
    with pytest.raises(
        DeviceError, match=r"TLS with 127.0.0.1:[0-9]+ failed: .*CERTIFICATE_VERIFY"
    ):
        TcpTransport("127.0.0.1", port, token=TOKEN, context=other)
    with pytest.raises(DeviceError, match="connection"):
        TcpTransport("127.0.0.1", port, token=TOKEN, timeout=2)


def test_a_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_bytes(TOKEN + b"\n")
    assert gate.read_token(file) == TOKEN
    file.write_bytes(b"short\n")
    with pytest.raises(DeviceError, match="has 5 bytes; give 16 to 1024"):
        gate.read_token(file)
    with pytest.raises(OSError, match="cannot be read: No such file"):
        gate.read_token(tmp_path / "nowhere")


@pytest.mark.parametrize("address", ["", "host", ":4004", "host:", "host:x", "host:65536", "h:-1"])
def test_refuses_what_is_no_address(address: str) -> None:
    with pytest.raises(DeviceError, match="is not an address; give HOST:PORT"):
        gate.split_address(address)
