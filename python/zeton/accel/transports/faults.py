"""Faults on purpose: a transport, a connection and a system that spoil what they are told to."""

import contextlib
import errno
import os
import random
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from zeton.accel.transports.transport import Transport
    from zeton.accel.wire.packets import Packet, Words

__all__ = [
    "NODE_FAULTS",
    "TRANSPORT_FAULTS",
    "WIRE_FAULTS",
    "FaultySystem",
    "FaultyTransport",
    "FaultyWire",
]

Spoil: TypeAlias = "Callable[[Words, random.Random], Words]"


def _flipped(words: "Words", draw: random.Random) -> "Words":
    words = words.copy()
    words[draw.randrange(len(words))] ^= np.uint32(1 << draw.randrange(32))
    return words


def _lost(words: "Words", draw: random.Random) -> "Words":
    return np.delete(words, draw.randrange(len(words)))


def _doubled(words: "Words", draw: random.Random) -> "Words":
    at = draw.randrange(len(words))
    return np.insert(words, at, words[at])


def _replaced(words: "Words", draw: random.Random) -> "Words":
    words = words.copy()
    words[draw.randrange(len(words))] = draw.getrandbits(32)
    return words


def _swapped(words: "Words", draw: random.Random) -> "Words":
    words = words.copy()
    at, other = draw.randrange(len(words)), draw.randrange(len(words))
    words[[at, other]] = words[[other, at]]
    return words


OF_WORDS: dict[str, Spoil] = {
    "a flipped bit": _flipped,
    "a lost word": _lost,
    "a doubled word": _doubled,
    "another word": _replaced,
    "swapped words": _swapped,
}

TRANSPORT_FAULTS = (
    *OF_WORDS,
    "single words",
    "a stalled card",
    "a card that is gone",
    "a flipped bit of a packet",
    "a lost packet",
    "a cut packet",
    "a doubled packet",
)
"""What a `FaultyTransport` does when it is told."""


class FaultyTransport:
    """A transport that does one thing wrong, after so many calls that it could be done in."""

    def __init__(self, inner: "Transport") -> None:
        """Wrap a transport; it is well until `spoil`."""
        self.inner = inner
        self.heal()

    def heal(self) -> None:
        """Do nothing wrong any more."""
        self._fault, self._after, self._draw = "", 0, random.Random(0)  # noqa: S311 - to try things.
        self.has_struck = False

    def spoil(self, fault: str, after: int, seed: int) -> None:
        """Do one of `TRANSPORT_FAULTS` after so many calls."""
        self._fault, self._after, self._draw = fault, after, random.Random(seed)  # noqa: S311
        self.has_struck = False

    def _strikes(self, *faults: str) -> bool:
        """Tell whether it is now that one of these is done; what lasts goes on."""
        if self._fault not in faults:
            return False
        self._after -= 1
        lasts = self._fault in ("single words", "a stalled card", "a card that is gone")
        now = self._after < 0 if lasts else self._after == -1
        self.has_struck |= now
        return now

    def _reach(self) -> None:
        if self._strikes("a card that is gone"):
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    def read32(self, address: int) -> int:
        """Read a register."""
        self._reach()
        return self.inner.read32(address)

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        self._reach()
        self.inner.write32(address, value)

    def send(self, packet: "Packet") -> None:
        """Send a packet, or what is left of it."""
        self._reach()
        content = bytearray(packet)
        if self._strikes("a flipped bit of a packet"):
            content[self._draw.randrange(len(content))] ^= 1 << self._draw.randrange(8)
        elif self._strikes("a cut packet"):
            del content[self._draw.randrange(len(content) // 8) * 8 :]
        elif self._strikes("a lost packet"):
            return
        elif self._strikes("a doubled packet"):
            self.inner.send(bytes(content))
        if content:
            self.inner.send(bytes(content))

    def receive(self, words_max: int, timeout: float) -> "Words":
        """Receive words, right ones or not."""
        self._reach()
        if self._strikes("a stalled card"):
            time.sleep(min(timeout, 0.05))
            return np.empty(0, np.uint32)
        if self._strikes("single words"):
            words_max = 1
        words = self.inner.receive(words_max, timeout)
        if words.size and self._strikes(*OF_WORDS):
            words = OF_WORDS[self._fault](words, self._draw)
        return words

    def reset(self) -> None:
        """Bring the link back."""
        self._reach()
        self.inner.reset()

    def close(self) -> None:
        """Let the card go."""
        self.inner.close()


NODE_FAULTS = (
    "short writes",
    "short reads",
    "odd reads",
    "a short register",
    "a register half written",
    "a node that disappears",
    "a node that is gone for good",
    "a node that is not ready",
    "all ones",
)
"""What a `FaultySystem` does when it is told."""

NODE_LASTS = ("short writes", "short reads", "odd reads", "a node that is gone for good")


class FaultySystem:
    """The calls of `os` that nodes are used by, one of which goes wrong."""

    def __init__(self) -> None:
        """Do what `os` does until `spoil`."""
        self._rest = b""
        self.heal()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as the module's.
        """Return what `os` has."""
        return getattr(os, name)

    def heal(self) -> None:
        """Do nothing wrong any more."""
        self._fault, self._after = "", 0
        self.has_struck = False

    def spoil(self, fault: str, after: int, seed: int) -> None:
        """Do one of `NODE_FAULTS` after so many calls."""
        self._fault, self._after, self._draw = fault, after, random.Random(seed)  # noqa: S311
        self.has_struck = False

    def _strikes(self, *faults: str) -> bool:
        if self._fault not in faults:
            return False
        self._after -= 1
        now = self._after < 0 if self._fault in NODE_LASTS else self._after == -1
        self.has_struck |= now
        return now

    def _reach(self) -> None:
        if self._strikes("a node that disappears", "a node that is gone for good"):
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    def pread(self, node: int, size: int, offset: int) -> bytes:
        """Read a register."""
        self._reach()
        content = os.pread(node, size, offset)
        if self._strikes("a short register"):
            return content[: self._draw.randrange(size)]
        if self._strikes("all ones"):
            return b"\xff" * size
        return content

    def pwrite(self, node: int, content: bytes, offset: int) -> int:
        """Write a register."""
        self._reach()
        if self._strikes("a register half written"):
            return 2
        return os.pwrite(node, content, offset)

    def read(self, node: int, size: int) -> bytes:
        """Read some words."""
        self._reach()
        if self._strikes("a node that is not ready"):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if self._strikes("short reads"):
            size = min(size, 4 * self._draw.randrange(1, 9))
        content = self._rest or os.read(node, size)
        self._rest = b""
        if content and self._strikes("odd reads"):
            end = self._draw.randrange(1, len(content) + 1)
            content, self._rest = content[:end], content[end:]
        return content

    def write(self, node: int, content: "Packet") -> int:
        """Write some of a packet."""
        self._reach()
        if self._strikes("a node that is not ready"):
            raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
        if self._strikes("short writes"):
            content = memoryview(content)[: self._draw.randrange(1, 2000)]
        return os.write(node, content)

    def open(self, path: str, flags: int) -> int:
        """Open a node."""
        self._rest = b""
        self._reach()
        return os.open(path, flags)


WIRE_FAULTS = ("a flipped bit", "a cut connection", "a stalled connection", "single bytes")
"""What a `FaultyWire` does when it is told."""


class FaultyWire:
    """A port that leads to another one, and spoils one of the directions."""

    def __init__(self, port: int) -> None:
        """Lead to a port of this machine."""
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._ends: set[socket.socket] = set()
        self._is_stopping = False
        self.heal()

    def heal(self) -> None:
        """Do nothing wrong any more; what is stalled is cut."""
        self._fault, self._after, self._is_back = "", 0, False
        self.has_struck = False

    def spoil(self, fault: str, after: int, seed: int) -> None:
        """Do one of `WIRE_FAULTS` after so many bytes, on the way there or back."""
        draw = random.Random(seed)  # noqa: S311
        self._bit, self._is_back = 1 << draw.randrange(8), draw.random() < 0.5
        self.has_struck = False
        self._fault, self._after = fault, after

    def __enter__(self) -> Self:
        """Lead until the end of the block."""
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Cut all connections."""
        self._is_stopping = True
        self._listener.close()
        for end in list(self._ends):
            _cut(end)

    def _serve(self) -> None:
        while not self._is_stopping:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._ends |= {near, far}
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for ends in ((near, far, False), (far, near, True)):
                threading.Thread(target=self._lead, args=ends, daemon=True).start()

    def _lead(self, source: socket.socket, target: socket.socket, is_back: bool) -> None:  # noqa: FBT001
        """Hand on what comes."""
        with contextlib.suppress(OSError):
            while content := source.recv(1 << 16):
                if not self._fault or self._is_back != is_back:
                    target.sendall(content)
                elif not self._spoiled(bytearray(content), target):
                    break
        _cut(source)
        _cut(target)
        self._ends -= {source, target}

    def _spoiled(self, content: bytearray, target: socket.socket) -> bool:
        """Hand on some bytes, spoiled when it is time; tell whether the connection goes on."""
        at, self._after = self._after, self._after - len(content)
        if at >= len(content) or (at < 0 and self._fault == "a flipped bit"):
            target.sendall(content)
            return True
        self.has_struck, at = True, max(at, 0)
        if self._fault == "a flipped bit":
            content[at] ^= self._bit
            target.sendall(content)
        elif self._fault == "single bytes":
            for byte in content[:100]:
                target.sendall(bytes([byte]))
            target.sendall(content[100:])
        else:
            target.sendall(content[:at])
            while self._fault == "a stalled connection" and not self._is_stopping:
                time.sleep(0.01)
            return False
        return True


def _cut(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
