"""Fault injection: a transport, a connection and system calls that fail on demand.

For example, `FaultyTransport(card).spoil("a lost word", after=3, seed=1)` deletes one word of the
fourth receive. `bench/faults.py` and the tests use all of them.
"""

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

WordFault: TypeAlias = "Callable[[Words, random.Random], Words]"


def _flip_bit(words: "Words", draw: random.Random) -> "Words":
    words = words.copy()
    words[draw.randrange(len(words))] ^= np.uint32(1 << draw.randrange(32))
    return words


def _drop_word(words: "Words", draw: random.Random) -> "Words":
    return np.delete(words, draw.randrange(len(words)))


def _double_word(words: "Words", draw: random.Random) -> "Words":
    at = draw.randrange(len(words))
    return np.insert(words, at, words[at])


def _replace_word(words: "Words", draw: random.Random) -> "Words":
    words = words.copy()
    words[draw.randrange(len(words))] = draw.getrandbits(32)
    return words


def _swap_words(words: "Words", draw: random.Random) -> "Words":
    words = words.copy()
    at, other = draw.randrange(len(words)), draw.randrange(len(words))
    words[[at, other]] = words[[other, at]]
    return words


WORD_FAULTS: dict[str, WordFault] = {
    "a flipped bit": _flip_bit,
    "a lost word": _drop_word,
    "a doubled word": _double_word,
    "another word": _replace_word,
    "swapped words": _swap_words,
}

TRANSPORT_FAULTS = (
    *WORD_FAULTS,
    "single words",
    "a stalled card",
    "a card that is gone",
    "a flipped bit of a packet",
    "a lost packet",
    "a cut packet",
    "a doubled packet",
)
"""Faults of a `FaultyTransport`."""


PERMANENT_FAULTS = frozenset(
    (
        "single words",
        "a stalled card",
        "a card that is gone",
        "short writes",
        "short reads",
        "odd reads",
        "a node that is gone for good",
    )
)
"""Faults that strike at every call from their first one on; the others strike once."""


class _Injector:
    """One fault that strikes after a number of calls."""

    def __init__(self) -> None:
        self.heal()

    def heal(self) -> None:
        """Remove the fault."""
        self.spoil("", 0, 0)

    def spoil(self, fault: str, after: int, seed: int) -> None:
        """Inject a fault after `after` calls that it applies to."""
        self._fault, self._after = fault, after
        self._draw = random.Random(seed)  # noqa: S311 - repeatable, no secret.
        self.has_struck = False

    def _is_due(self, *faults: str) -> bool:
        """Return whether this call has one of these faults."""
        if self._fault not in faults:
            return False
        self._after -= 1
        now = self._after < 0 if self._fault in PERMANENT_FAULTS else self._after == -1
        self.has_struck |= now
        return now


class FaultyTransport(_Injector):
    """A transport (`Transport`) that injects one of `TRANSPORT_FAULTS`."""

    def __init__(self, inner: "Transport") -> None:
        """Wrap a transport, without a fault until `spoil`."""
        self.inner = inner
        super().__init__()

    def _reach(self) -> None:
        if self._is_due("a card that is gone"):
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
        """Send a packet, or the damaged packet."""
        self._reach()
        content = bytearray(packet)
        if self._is_due("a flipped bit of a packet"):
            content[self._draw.randrange(len(content))] ^= 1 << self._draw.randrange(8)
        elif self._is_due("a cut packet"):
            del content[self._draw.randrange(len(content) // 8) * 8 :]
        elif self._is_due("a lost packet"):
            return
        elif self._is_due("a doubled packet"):
            self.inner.send(bytes(content))
        if content:
            self.inner.send(bytes(content))

    def receive(self, words_max: int, timeout: float) -> "Words":
        """Receive words, or damaged words."""
        self._reach()
        if self._is_due("a stalled card"):
            time.sleep(min(timeout, 0.05))
            return np.empty(0, np.uint32)
        if self._is_due("single words"):
            words_max = 1
        words = self.inner.receive(words_max, timeout)
        if words.size and self._is_due(*WORD_FAULTS):
            words = WORD_FAULTS[self._fault](words, self._draw)
        return words

    def reset(self) -> None:
        """Reset the wrapped transport."""
        self._reach()
        self.inner.reset()

    def close(self) -> None:
        """Release the card."""
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
"""Faults of a `FaultySystem`."""


class FaultySystem(_Injector):
    """A stand-in for `os` in `nodes` that injects one of `NODE_FAULTS`."""

    def __init__(self) -> None:
        """Behave like `os` until `spoil`."""
        self._rest = b""
        super().__init__()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of `os`.
        """Return an attribute of `os`."""
        return getattr(os, name)

    def _reach(self) -> None:
        if self._is_due("a node that disappears", "a node that is gone for good"):
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))

    def pread(self, node: int, size: int, offset: int) -> bytes:
        """Read a register."""
        self._reach()
        content = os.pread(node, size, offset)
        if self._is_due("a short register"):
            return content[: self._draw.randrange(size)]
        if self._is_due("all ones"):
            return b"\xff" * size
        return content

    def pwrite(self, node: int, content: bytes, offset: int) -> int:
        """Write a register."""
        self._reach()
        if self._is_due("a register half written"):
            return 2
        return os.pwrite(node, content, offset)

    def read(self, node: int, size: int) -> bytes:
        """Read some words."""
        self._reach()
        if self._is_due("a node that is not ready"):
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if self._is_due("short reads"):
            size = min(size, 4 * self._draw.randrange(1, 9))
        content = self._rest or os.read(node, size)
        self._rest = b""
        if content and self._is_due("odd reads"):
            end = self._draw.randrange(1, len(content) + 1)
            content, self._rest = content[:end], content[end:]
        return content

    def write(self, node: int, content: "Packet") -> int:
        """Write some of a packet."""
        self._reach()
        if self._is_due("a node that is not ready"):
            raise InterruptedError(errno.EINTR, os.strerror(errno.EINTR))
        if self._is_due("short writes"):
            content = memoryview(content)[: self._draw.randrange(1, 2000)]
        return os.write(node, content)

    def open(self, path: str, flags: int) -> int:
        """Open a node."""
        self._rest = b""
        self._reach()
        return os.open(path, flags)


WIRE_FAULTS = ("a flipped bit", "a cut connection", "a stalled connection", "single bytes")
"""Faults of a `FaultyWire`."""


class FaultyWire:
    """A port that forwards to another one, and damages one direction."""

    def __init__(self, port: int) -> None:
        """Forward to a port of this machine."""
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._ends: set[socket.socket] = set()
        self._is_stopping = False
        self.heal()

    def heal(self) -> None:
        """Remove the fault; a stalled connection is cut."""
        self._fault, self._after, self._is_back = "", 0, False
        self.has_struck = False

    def spoil(self, fault: str, after: int, seed: int) -> None:
        """Inject one of `WIRE_FAULTS` after `after` bytes, in a random direction."""
        draw = random.Random(seed)  # noqa: S311
        self._bit, self._is_back = 1 << draw.randrange(8), draw.random() < 0.5
        self.has_struck = False
        self._fault, self._after = fault, after

    def __enter__(self) -> Self:
        """Forward until the end of the block."""
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
                threading.Thread(target=self._forward, args=ends, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, is_back: bool) -> None:  # noqa: FBT001
        """Forward the bytes of one direction."""
        with contextlib.suppress(OSError):
            while content := source.recv(1 << 16):
                if not self._fault or self._is_back != is_back:
                    target.sendall(content)
                elif not self._forward_damaged(bytearray(content), target):
                    break
        _cut(source)
        _cut(target)
        self._ends -= {source, target}

    def _forward_damaged(self, content: bytearray, target: socket.socket) -> bool:
        """Forward bytes, damaged if due; return whether the connection stays open."""
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
