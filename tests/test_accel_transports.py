"""One suite for every way to a card: ids, registers, order, resets, faults, two clients."""

import dataclasses
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import ROOT
from jeton import accel
from jeton.accel import gate, nodes, registers
from jeton.accel.bar import BAR_BYTES, BarServer, BarTransport
from jeton.accel.card_server import CardServer
from jeton.accel.configuration import Configuration
from jeton.accel.device import Device
from jeton.accel.errors import AnswerError, BusyError, DeviceError, DeviceTimeoutError
from jeton.accel.faults import (
    NODE_FAULTS,
    TRANSPORT_FAULTS,
    WIRE_FAULTS,
    FaultySystem,
    FaultyTransport,
    FaultyWire,
)
from jeton.accel.images import digest_of, kept_image
from jeton.accel.link import Link
from jeton.accel.messages import Kind, Message
from jeton.accel.nodes import NodesTransport, PacketReader, packet_header
from jeton.accel.reference import ReferenceTransport
from jeton.accel.tcp import TcpTransport
from jeton.accel.transport import Transport
from test_accel_device import SHAPE, TEXTS, expected, needs_tools, simulated, trained

TEXT = "one two three, four 中文 <|x|> five " + "z" * 40
SHORT = [TEXT, "", "two"]
TOKEN = b"a token of some length"

CARD = [
    part
    for name, value in dataclasses.asdict(SHAPE).items()
    for part in (f"--{name.replace('_', '-')}", str(value))
]


def started(*arguments: object) -> "subprocess.Popen[bytes]":
    """Start a command of `jeton accel` with the same card."""
    command = [sys.executable, "-m", "jeton", "accel", *map(str, arguments), *CARD]
    environment = os.environ | {"JETON_CACHE": str(ROOT / "target" / "models")}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)


@cache
def fuse_reason() -> str | None:
    """Say why nodes cannot be faked here, if so."""
    if not os.access("/dev/fuse", os.R_OK | os.W_OK) or shutil.which("fusermount3") is None:
        return "/dev/fuse or fusermount3 is not here"
    try:
        __import__("mfusepy")
    except (ImportError, OSError) as error:
        return f"mfusepy is not here: {error}"
    return None


needs_fuse = pytest.mark.skipif(fuse_reason() is not None, reason=str(fuse_reason()))
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not here")


class Fake:
    """A fake card in another process."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.folder, self.kind = folder, kind
        self.prefix = f"{folder}/card"
        self.start()

    def start(self) -> None:
        self.process = started("fake-card", self.folder, "--card", self.kind)
        wait_for(lambda: Path(f"{self.prefix}_user").exists() or self.process.poll() is not None)
        assert self.process.poll() is None

    def stop(self) -> None:
        with self.process:
            self.process.kill()
        unmount = shutil.which("fusermount3") or ""
        subprocess.run([unmount, "-u", "-z", str(self.folder)], check=True)


def wait_for(is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


class Ways:
    """Everything that is served for the tests of a module, once."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self.stack, self.folder = stack, folder
        self.ports: dict[str, int] = {}
        self.fakes: dict[str, Fake] = {}

    def open(self, name: str, timeout: float = 20) -> Transport:
        """Open a card of one of `WAYS`."""
        way, _, card = name.partition(" to ")
        if way == "tcp":
            return TcpTransport("127.0.0.1", self.port(card), timeout=timeout)
        if way == "tls":
            context = gate.authority_context(certificate(self.folder)[0])
            where = ("127.0.0.1", self.port(card, tls=True))
            return TcpTransport(*where, timeout=timeout, token=TOKEN, context=context)
        if way == "pci":
            return BarTransport(self.bar(card), timeout=timeout)
        if way == "nodes":
            return NodesTransport(self.fake(card).prefix, timeout=timeout)
        return made(name)

    def port(self, card: str, *, tls: bool = False) -> int:
        name = f"{card} {tls}"
        if name not in self.ports:
            options: dict[str, Any] = {}
            if tls:
                context = gate.server_context(*certificate(self.folder))
                options = {"token": TOKEN, "context": context}
            server = self.stack.enter_context(CardServer(made(card), **options))
            self.ports[name] = server.port
        return self.ports[name]

    def bar(self, card: str) -> Path:
        file = self.folder / f"bar-{card}"
        if not file.exists():
            self.stack.enter_context(BarServer(made(card), file))
        return file

    def fake(self, card: str) -> Fake:
        if card not in self.fakes:
            folder = self.folder / f"fake-{card}"
            folder.mkdir()
            self.fakes[card] = Fake(folder, card)
            self.stack.callback(self.fakes[card].stop)
        return self.fakes[card]


def made(card: str) -> Transport:
    return simulated() if card == "sim" else ReferenceTransport(SHAPE)


@cache
def certificate(folder: Path) -> tuple[Path, Path]:
    """Make a certificate of this machine, and its key."""
    files = (folder / "certificate.pem", folder / "key.pem")
    options = [
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=card",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command = ["openssl", "req", "-x509", *key, *options]
    command += ["-out", str(files[0]), "-keyout", str(files[1])]
    subprocess.run(command, check=True, capture_output=True)
    return files


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    with ExitStack() as stack:
        yield Ways(stack, tmp_path_factory.mktemp("ways"))


WAYS = [
    "reference",
    pytest.param("sim", marks=needs_tools),
    "tcp to reference",
    pytest.param("tls to reference", marks=[needs_openssl, pytest.mark.long]),
    pytest.param("nodes to reference", marks=needs_fuse),
    "pci to reference",
    pytest.param("pci to sim", marks=[needs_tools, pytest.mark.long]),
    pytest.param("tcp to sim", marks=[needs_tools, pytest.mark.long]),
    pytest.param("nodes to sim", marks=[needs_tools, needs_fuse, pytest.mark.long]),
]


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


def loaded(transport: Transport, timeout: float = 20) -> Device:
    device = Device(transport, timeout=timeout)
    device.load(trained())
    return device


def hasten(device: Device, seconds: float) -> None:
    """Let a device, and the way to its card, wait so long; a machine that is busy needs long."""
    device._link.timeout = seconds
    if hasattr(device.transport, "_timeout"):
        device.transport._timeout = seconds


def right(device: Device) -> bool:
    return device.encode_batch(SHORT) == expected(SHORT)


# ---- what every way does ----


def test_says_what_the_card_is(device: Device) -> None:
    shape = SHAPE.with_parameters(bytes_log=Configuration().bytes_log)
    assert device.info.configuration == shape


def test_encodes_as_the_tokenizer_does(device: Device) -> None:
    assert device.encode_batch(TEXTS, specials="all") == expected(TEXTS, specials="all")
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
    ids = Link(device.transport, 20).table(4, 256, lane=1)
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
    image = kept_image(trained(), device.info.configuration)
    link = Link(device.transport, 60)
    link.load(image * (1 + (5 << 18) // len(image)), 5)
    assert link.image() == 5
    device.load(trained())
    assert link.image() == digest_of(image)
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
        if said or refusal(device):  # What a fault left behind may come later.
            device.reset()
        assert right(device)


def refusal(device: Device) -> str:
    """Encode some times; ids are right, or the card's error is returned, and nothing else."""
    try:
        for _ in range(4):
            assert right(device)
            device.counters()
    except DeviceError as error:
        return str(error) or "without a word"
    return ""


# ---- over TCP ----


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
            hasten(device, 20 if fault == "single bytes" else 0.4)
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


def is_busy(ways: Ways) -> bool:
    try:
        ways.open("tcp to reference").close()
    except BusyError:
        return True
    return False


def test_a_killed_client_lets_its_card_go(ways: Ways) -> None:
    code = """
import sys
from jeton.accel.tcp import TcpTransport
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
    "some of a header": b"JTN1\x01",
    "HTTP": b"GET / HTTP/1.1\r\nHost: card\r\n\r\n",
    "zeros": bytes(4096),
    "a large hello": b"JTN1\x01\0\0\0\1\0\0\0\xff\xff\xff\xff\0\0\0\0",
    "an unknown kind": b"JTN1\x63\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0",
    "a wrong check": Message(Kind.HELLO, 1, bytes(16)).packed()[:-1] + b"\1",
    "no hello": Message(Kind.RESET, 1).packed(),
    "a short hello": Message(Kind.HELLO, 1, b"me").packed(),
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
        (Message(Kind.READ, 9, b"123"), "READ with 3 bytes is no request"),
        (Message(Kind.READ, 9, b"\1\0\0\0"), "there is no register 0x1"),
        (Message(Kind.WRITE, 9, b"\0\0\1\0\0\0\0\0"), "there is no register 0x10000"),
        (Message(Kind.SEND, 9), "SEND with 0 bytes is no request"),
        (Message(Kind.SEND, 9, bytes(12)), "SEND with 12 bytes is no request"),
        (Message(Kind.HELLO, 9, bytes(16)), "HELLO with 16 bytes is no request"),
        (Message(Kind.DONE, 9), "DONE with 0 bytes is no request"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_requests_that_make_no_sense_are_refused(ways: Ways, request_: Message, said: str) -> None:
    transport: Any = ways.open("tcp to reference")
    with pytest.raises(DeviceError, match=said):
        transport._ask(request_.kind, request_.payload)
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
    with pytest.raises(DeviceError, match="there is no card at 127"):
        device.reset()
    with CardServer(card, port=port):
        device.reset()
        assert right(device)
        device.close()


def test_refuses_to_listen_or_speak_beyond_the_loopback_in_the_clear() -> None:
    with pytest.raises(DeviceError, match=r"0\.0\.0\.0 is beyond the loopback; give TLS and a tok"):
        CardServer(ReferenceTransport(SHAPE), "0.0.0.0")  # noqa: S104 - that is what is refused.
    with pytest.raises(DeviceError, match=r"card\.example is beyond the loopback; give TLS, or"):
        TcpTransport("card.example", 4004, token=TOKEN)
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
        DeviceError, match=r"is not trusted, or speaks no TLS: .*CERTIFICATE_VERIFY"
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
    with pytest.raises(DeviceError, match="is no address; give HOST:PORT"):
        gate.split_address(address)


# ---- over nodes ----


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> FaultySystem:
    system = FaultySystem()
    monkeypatch.setattr(nodes, "os", system)
    return system


HARMLESS = ("short writes", "short reads", "odd reads", "a node that is not ready", "all ones")


@needs_fuse
@pytest.mark.parametrize("fault", NODE_FAULTS)
def test_a_fault_of_a_node_ends_in_a_typed_error_or_the_right_ids(
    ways: Ways, system: FaultySystem, fault: str
) -> None:
    device = loaded(ways.open("nodes to reference"))
    for seed in range(4):
        system.spoil(fault, seed, seed)
        said = refusal(device)
        assert system.has_struck
        assert bool(said) is (fault not in HARMLESS), said
        system.heal()
        if said:
            device.reset()
        assert right(device)
    device.close()


@needs_fuse
@pytest.mark.long
def test_a_card_whose_process_dies_is_an_error_and_a_new_one_helps(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "reference")
    try:
        device = loaded(NodesTransport(fake.prefix, timeout=5), timeout=1)
        fake.process.kill()
        fake.process.wait()
        with pytest.raises(DeviceError, match=r"does not work: .*; reset the card"):
            device.encode(TEXT)
        with pytest.raises(DeviceError, match="does not work"):
            device.reset()
        fake.stop()
        with pytest.raises(DeviceError, match="does not work: No such file"):
            device.reset()
        fake.start()
        device.reset()
        assert right(device)
        device.close()
    finally:
        fake.stop()


@needs_fuse
@pytest.mark.long
def test_a_card_that_stalls_is_an_error_and_goes_on_later(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "reference")
    try:
        device = loaded(NodesTransport(fake.prefix))
        hasten(device, 0.5)
        fake.process.send_signal(signal.SIGSTOP)
        with pytest.raises(DeviceTimeoutError, match=r"did not answer for 0\.5 s|owes words"):
            device.encode(TEXT)
        with pytest.raises(DeviceTimeoutError, match=r"did not answer for 0\.5 s"):
            device.reset()
        fake.process.send_signal(signal.SIGCONT)
        hasten(device, 20)
        device.reset()
        assert right(device)
        device.close()
    finally:
        fake.stop()


def test_refuses_nodes_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="nothing_user does not work: No such file"):
        NodesTransport(f"{tmp_path}/nothing")


def test_a_packet_is_found_in_any_portions() -> None:
    packets = [bytes([at]) * 8 * at for at in range(1, 6)]
    stream = b"".join(packet_header(len(packet)) + packet for packet in packets)
    for size in (1, 3, 8, 50, 1000):
        reader = PacketReader()
        portions = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert [packet for part in portions for packet in reader.read(part)] == packets
    reader = PacketReader()
    assert list(reader.read(b"no header" + bytes(7) + stream)) == packets
    assert list(reader.read(packet_header(800) + bytes(8))) == []
    reader.reset()
    assert list(reader.read(stream)) == packets
    for size in (0, 7, 1 << 30):
        with pytest.raises(DeviceError, match="a packet has"):
            packet_header(size)


# ---- over memory ----


def test_refuses_memory_that_has_no_card(tmp_path: Path) -> None:
    file = tmp_path / "bar"
    with pytest.raises(DeviceError, match="bar cannot be opened: No such file"):
        BarTransport(file)
    file.write_bytes(b"short")
    with pytest.raises(DeviceError, match="bar is no BAR of 1,048,576 bytes"):
        BarTransport(file)
    file.write_bytes(bytes(BAR_BYTES))
    with pytest.raises(DeviceError, match=r"there is no card behind .*bar: it begins with 0x0"):
        BarTransport(file)


def test_memory_that_nobody_serves_any_more_is_an_error(tmp_path: Path) -> None:
    with BarServer(ReferenceTransport(SHAPE), tmp_path / "bar"):
        device = loaded(BarTransport(tmp_path / "bar"))
    hasten(device, 0.3)
    with pytest.raises(DeviceTimeoutError, match="the card owes words"):
        device.encode(TEXT)
    with pytest.raises(DeviceTimeoutError, match=r"did not answer for 0\.3 s"):
        device.reset()
    device.close()


def test_a_ring_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    with BarServer(ReferenceTransport(SHAPE), tmp_path / "bar"):
        transport = BarTransport(tmp_path / "bar", timeout=9)
        transport._memory().words[48] += np.uint32(1 << 20)
        with pytest.raises(AnswerError, match="a ring of 262,144 bytes says that it holds 1,048"):
            transport.receive(10, 1)
        transport._memory().words[48] -= np.uint32(1 << 20)
        transport.close()


# ---- by name, and as commands ----


def test_a_name_tells_the_way(ways: Ways) -> None:
    with accel.open(f"tcp:127.0.0.1:{ways.port('reference')}") as device:
        device.load(trained())
        assert right(device)
    for name in ("tcp", "tcp:", "nodes:", "uart:", "sim:x", "reference:", "usb:1"):
        with pytest.raises(DeviceError, match=f"there is no card '{name}'; there are"):
            accel.open(name)
    with pytest.raises(DeviceError, match="'nowhere' is no address; give HOST:PORT"):
        accel.open("tcp:nowhere")


def test_what_is_no_card_is_let_go() -> None:
    card = ReferenceTransport(SHAPE)
    card._registers[registers.ID] = 5
    with CardServer(card) as server:
        for _ in range(2):
            with pytest.raises(AnswerError, match="this is no accelerator: its ID is 0x5"):
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
            monkeypatch.setenv("JETON_CARD_TOKEN_FILE", str(token))
            monkeypatch.setenv("JETON_CARD_AUTHORITY", str(certificate_))
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
        (("card-server", "--card", "usb:1"), b"there is no card 'usb:1'"),
        (("fake-card", tmp_path / "nowhere", "--card", "reference"), b"is not there, or not ours"),
    ):
        command = [sys.executable, "-m", "jeton", "accel", *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, check=False)
        assert ended.returncode == 2
        (line,) = ended.stderr.splitlines()
        assert said in line
