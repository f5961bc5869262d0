"""Ways to a card, each served once: in the process, over TCP, TLS, nodes and shared memory."""

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from accelerator.cards import SHAPE, TEXT, expected, needs_tools, simulated, trained
from support.paths import ROOT
from zeton.accel.device import Device
from zeton.accel.errors import DeviceError
from zeton.accel.reference import ReferenceTransport
from zeton.accel.transports import gate
from zeton.accel.transports.card_server import CardServer
from zeton.accel.transports.nodes import NodesTransport
from zeton.accel.transports.pci import BarServer, BarTransport
from zeton.accel.transports.tcp import TcpTransport
from zeton.accel.transports.transport import Transport

SHORT = [TEXT, "", "two"]
TOKEN = b"a token of some length"

CARD = [
    part
    for name, value in dataclasses.asdict(SHAPE).items()
    for part in (f"--{name.replace('_', '-')}", str(value))
]


def started(*arguments: object) -> "subprocess.Popen[bytes]":
    """Start a command of `zeton accel` with the same card."""
    command = [sys.executable, "-m", "zeton", "accel", *map(str, arguments), *CARD]
    environment = os.environ | {"ZETON_CACHE": str(ROOT / "target" / "models")}
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


def refusal(device: Device) -> str:
    """Encode some times; ids are right, or the card's error is returned, and nothing else."""
    try:
        for _ in range(4):
            assert right(device)
            device.counters()
    except DeviceError as error:
        return str(error) or "without a word"
    return ""
