"""A card behind a serial port: a pseudo-terminal, and behind it the board's link in Python."""

from __future__ import annotations

import os
import threading
import tty
from typing import TYPE_CHECKING

import pytest

import zeton
from zeton import accel
from zeton.accel import registers
from zeton.accel.configuration import configuration
from zeton.accel.errors import BusyError, DeviceError, DeviceTimeoutError
from zeton.accel.reference import ReferenceTransport
from zeton.accel.transports.uart import QUEUE_WORDS, SIZES, SerialLine, UartTransport
from zeton.cli.options.samples import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMEOUT = 30.0


class Board(threading.Thread):
    """The link of `fpga/ulx3s/link.sv` in Python, with the reference as its card."""

    def __init__(self, file: int) -> None:
        super().__init__(daemon=True)
        self.file = file
        self.card = ReferenceTransport(configuration("small"))
        self.packet = bytearray()
        self.silent = False

    def run(self) -> None:
        while True:
            try:
                kind = self.take(1)[0]
                if kind in (1, 2):
                    self.register(kind, self.take(1)[0])
                elif kind in (3, 4):
                    self.words(self.take(8 * (self.take(1)[0] + 1)), ends=kind == 4)
            except OSError:
                return

    def take(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            found += os.read(self.file, count - len(found))
        return found

    def tell(self, kind: int, value: int = 0) -> None:
        if not self.silent:
            content = bytes([kind]) + value.to_bytes(SIZES[kind] - 1, "little")
            while content:
                content = content[os.write(self.file, content) :]

    def register(self, kind: int, address: int) -> None:
        if kind == 1:
            self.tell(1, self.card.read32(address))
        else:
            self.card.write32(address, int.from_bytes(self.take(4), "little"))
            self.tell(2)

    def words(self, content: bytes, *, ends: bool) -> None:
        self.packet += content
        for count in (len(content) // 8 - 1, 1):  # Told of in two parts, one of which may be none.
            if count:
                self.tell(3, count)
        if ends:
            self.card.send(bytes(self.packet))
            self.packet.clear()
            while len(words := self.card.receive(1000, 0.0)):
                for word in words.tolist():
                    self.tell(5, word)


@pytest.fixture
def board() -> Iterator[tuple[Board, str]]:
    ours, theirs = os.openpty()
    tty.setraw(ours)
    board = Board(ours)
    board.start()
    yield board, os.ttyname(theirs)
    os.close(theirs)
    os.close(ours)
    board.join(TIMEOUT)


def test_a_board_gives_the_ids_of_the_tokenizer(board: tuple[Board, str]) -> None:
    tok = zeton.train([text.decode() for text in SAMPLES.values()], vocab_size=600)
    assert isinstance(tok, zeton.Tokenizer)
    texts = [text[:400] for text in SAMPLES.values()] + [b"", b"\xff" * 40]
    with accel.open(f"uart:{board[1]}", timeout=TIMEOUT) as device:
        assert device.info.configuration == configuration("small")
        device.load(tok)
        assert device.encode_batch(texts) == tok.encode_batch(texts)
        device.reset()
        assert device.encode_batch(texts) == tok.encode_batch(texts)


def test_no_more_is_sent_than_there_is_room_for(board: tuple[Board, str]) -> None:
    sent: list[int] = []

    class Counting(SerialLine):
        def write(self, data: bytes) -> None:
            sent.append(len(data))

    transport = UartTransport(Counting(board[1]))
    transport.send(bytes(8 * 5 * QUEUE_WORDS))
    assert sum(size - 2 for size in sent) == 8 * QUEUE_WORDS
    transport.close()


def test_a_board_that_is_silent_is_an_error(board: tuple[Board, str]) -> None:
    board[0].silent = True
    transport = UartTransport(SerialLine(board[1]), timeout=0.1)
    calls: list[Callable[[], object]] = [
        lambda: transport.read32(registers.ID),
        lambda: transport.write32(registers.CONTROL, 1),
    ]
    for call in calls:
        with pytest.raises(DeviceTimeoutError, match="got no answer"):
            call()
    assert not len(transport.receive(10, 0.05))
    transport.close()
    with pytest.raises(DeviceError, match="closed"):
        transport.read32(registers.ID)


def test_a_byte_that_begins_no_message_is_an_error(board: tuple[Board, str]) -> None:
    transport = UartTransport(SerialLine(board[1]))
    os.write(board[0].file, b"\x77")
    with pytest.raises(DeviceError, match="0x77"):
        transport.receive(1, TIMEOUT)
    transport.reset()
    assert transport.read32(registers.ID) == 0x4E54455A
    transport.close()


def test_refuses_what_is_no_serial_port(tmp_path: os.PathLike[str]) -> None:
    with pytest.raises(DeviceError, match="cannot open"):
        SerialLine(os.path.join(tmp_path, "none"))  # noqa: PTH118
    with pytest.raises(DeviceError, match="is not a serial port"):
        SerialLine(os.devnull)
    with pytest.raises(DeviceError, match="baud"):
        SerialLine(os.devnull, baud=123)


def test_a_port_belongs_to_one_client(board: tuple[Board, str]) -> None:
    with (
        accel.open(f"uart:{board[1]}", timeout=TIMEOUT),
        pytest.raises(BusyError, match="belongs to another client"),
    ):
        accel.open(f"uart:{board[1]}")
    accel.open(f"uart:{board[1]}", timeout=TIMEOUT).close()


def test_a_board_that_babbles_is_an_error(board: tuple[Board, str]) -> None:
    class Babbling(SerialLine):
        def read(self, timeout: float) -> bytes:  # noqa: ARG002
            return b"\0"

    with pytest.raises(DeviceError, match="keeps sending after a break"):
        UartTransport(Babbling(board[1]), timeout=0.05)
    SerialLine(board[1]).close()  # It was let go.


def test_a_port_that_is_gone_is_an_error() -> None:
    ours, theirs = os.openpty()
    line = SerialLine(os.ttyname(theirs))
    os.close(theirs)
    os.close(ours)
    for ask in (line.send_break, lambda: line.read(1.0), lambda: line.write(b"x")):
        with pytest.raises(DeviceError, match="the serial port is gone"):
            ask()
    line.close()
