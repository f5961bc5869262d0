"""`nodes:PREFIX`: a card behind the character devices of XDMA's driver, like `nodes:/dev/xdma0`.

    PREFIX_user    registers, by `pread` and `pwrite` at their address
    PREFIX_h2c_0   packets, with headers (`zeton.accel.wire.packets`), because the driver ends an
                   AXI packet at every transfer
    PREFIX_c2h_0   words of 32 bits

Each node has a thread, so that a call that never returns becomes a `DeviceTimeoutError`.
"""

import errno
import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, wait
from concurrent.futures import TimeoutError as LateError
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from zeton.accel import registers
from zeton.accel.errors import BusyError, DeviceError, DeviceTimeoutError
from zeton.accel.wire.packets import packet_header

if TYPE_CHECKING:
    from zeton.accel.wire.packets import Packet, Words

__all__ = ["NAMES", "NodesTransport"]

NAMES = ("user", "h2c_0", "c2h_0")
"""Suffixes of the nodes: registers, host to card, card to host."""

PORTION_BYTES = 1 << 20
"""Largest read or write of a node."""

GRACE_SECONDS = 0.5
"""Time that a reset waits for a pending call to a node."""

PAUSE_SECONDS = 0.001
"""Pause between two calls to a non-blocking node."""

ONES = 0xFFFFFFFF
"""Value of every register on a bus without a card."""

LATER = "; wait until it is closed"

Result = TypeVar("Result")


class _Worker:
    """A thread that calls one node, because a call may never return."""

    def __init__(self, name: str) -> None:
        self._asked: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name=name, daemon=True).start()

    def start(self, ask: Callable[[], Result]) -> "Future[Result]":
        """Queue a call behind all earlier ones."""
        future: Future[Result] = Future()
        self._asked.put((future, ask))
        return future

    def call(self, ask: Callable[[], Result], timeout: float, node: str) -> Result:
        """Queue a call, and wait `timeout` seconds for its result."""
        future = self.start(ask)
        try:
            return future.result(timeout)
        except LateError:
            future.cancel()  # A call that has not started never starts.
            raise DeviceTimeoutError(
                f"{node} did not answer for {timeout:g} seconds; reset the device"
            ) from None

    def end(self) -> None:
        """End the thread after its last call."""
        self._asked.put(None)

    def _work(self) -> None:
        while (asked := self._asked.get()) is not None:
            future, ask = asked
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(ask())
            except Exception as error:  # noqa: BLE001 - `result()` raises it in the caller.
                future.set_exception(error)
            del future, ask, asked


class NodesTransport:
    """A card behind nodes (`Transport`), locked for this client until it is closed.

    After an error of a node, `reset` opens all nodes again, because the driver may have been
    reloaded.
    """

    def __init__(self, prefix: str, *, timeout: float = 60.0) -> None:
        """Open and lock the nodes; a call longer than `timeout` seconds is an error."""
        self._prefix, self._timeout = prefix, timeout
        self._workers = {name: _Worker(f"{prefix}_{name}") for name in NAMES}
        self._nodes: dict[str, int] = {}
        self._writes: deque[Future[None]] = deque()
        self._read: Future[bytes] | None = None
        self._kept = b""
        self._stop = threading.Event()
        """Set by a reset: the packets sent before it are not written any further."""
        self._is_broken = self._is_closed = False
        try:
            self._open()
        except DeviceError:
            self.close()
            raise

    # ---- registers ----

    def read32(self, address: int) -> int:
        """Read a register."""
        value = self._register(address)
        if value == ONES and self._register(registers.ID) == ONES:
            self._is_broken = True
            raise DeviceError(
                f"{self._prefix}: all registers read as ones, so the card is gone; reset the device"
            )
        return value

    def _register(self, address: int) -> int:
        node = self._node("user")
        content = self._call("user", lambda: os.pread(node, 4, address))
        if len(content) != 4:
            raise DeviceError(
                f"{self._prefix}_user returned {len(content)} of 4 bytes of register "
                f"{address:#04x}; reset the device"
            )
        return int.from_bytes(content, "little")

    def write32(self, address: int, value: int) -> None:
        """Write a register."""
        node, content = self._node("user"), value.to_bytes(4, "little")
        written = self._call("user", lambda: os.pwrite(node, content, address))
        if written != 4:
            raise DeviceError(
                f"{self._prefix}_user accepted {written} of 4 bytes of register "
                f"{address:#04x}; reset the device"
            )

    # ---- streams ----

    def send(self, packet: "Packet") -> None:
        """Write whole words of 64 bits, in the background."""
        self._check_writes()
        node, stop = self._node("h2c_0"), self._stop
        content = packet_header(len(packet)) + packet
        self._writes.append(
            self._workers["h2c_0"].start(lambda: self._write(node, content, stop)),
        )

    def receive(self, words_max: int, timeout: float) -> "Words":
        """Return at least one word of the card, in order; none after `timeout` seconds."""
        end = time.monotonic() + timeout
        while len(self._kept) < 4:
            self._check_writes()
            self._read = self._read or self._start_read(min(4 * words_max, PORTION_BYTES))
            try:
                # Short waits, so that a failed write is noticed.
                found = self._read.result(min(max(end - time.monotonic(), 0.0), 0.1))
            except LateError:
                found = None
            except OSError as error:
                self._read = None
                raise self._fail("c2h_0", error) from error
            if found is not None:
                self._read = None
                self._kept += found
            if len(self._kept) < 4 and time.monotonic() >= end:
                return np.empty(0, np.uint32)
        size = min(len(self._kept) // 4, words_max) * 4
        words, self._kept = np.frombuffer(self._kept[:size], "<u4"), self._kept[size:]
        return words.astype(np.uint32)

    def _write(self, node: int, content: bytes, stop: threading.Event) -> None:
        """Write a whole packet in as many portions as the node needs."""
        at, end = 0, time.monotonic() + self._timeout
        while at < len(content) and not stop.is_set():
            try:
                taken = os.write(node, memoryview(content)[at : at + PORTION_BYTES])
            except (BlockingIOError, InterruptedError):
                taken = 0
            if taken:
                at, end = at + taken, time.monotonic() + self._timeout
            elif time.monotonic() > end:
                raise DeviceTimeoutError(
                    f"{self._prefix}_h2c_0 accepted no bytes for {self._timeout:g} seconds; "
                    "reset the device"
                )
            else:
                time.sleep(PAUSE_SECONDS)

    def _check_writes(self) -> None:
        """Raise the error of a packet whose background write failed."""
        while self._writes and self._writes[0].done():
            try:
                self._writes.popleft().result()
            except OSError as error:
                raise self._fail("h2c_0", error) from error

    # ---- its life ----

    def reset(self) -> None:
        """Drop packets not taken and words not received; reopen broken nodes."""
        self._settle()
        if self._is_broken:
            self._close()
            self._open()
        self._drain()

    def _settle(self) -> None:
        """Wait `GRACE_SECONDS` for pending calls, and drop their results."""
        self._stop.set()
        self._stop = threading.Event()
        under_way: list[Future[Any]] = [*self._writes, *([self._read] if self._read else [])]
        for future in wait(under_way, GRACE_SECONDS).done:
            self._is_broken |= isinstance(future.exception(), OSError)
        self._writes = deque(write for write in self._writes if not write.done())
        # A read that still waits returns words sent after the reset.
        self._read = None if self._read and self._read.done() else self._read
        self._kept = b""

    def _drain(self) -> None:
        """Read and drop the words in the node; a read of an empty node may block."""
        end, found = time.monotonic() + GRACE_SECONDS, b"?"
        while found and time.monotonic() < end:
            self._read = self._read or self._start_read(PORTION_BYTES)
            try:
                found = self._read.result(max(end - time.monotonic(), 0.0))
            except LateError:
                return
            except OSError as error:
                self._read = None
                raise self._fail("c2h_0", error) from error
            self._read = None

    def _start_read(self, size: int) -> "Future[bytes]":
        return self._workers["c2h_0"].start(partial(_read, self._node("c2h_0"), size))

    def close(self) -> None:
        """Release the card; closing again does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self._settle()
            self._close()
            for worker in self._workers.values():
                worker.end()

    def _open(self) -> None:
        if self._is_closed:
            raise DeviceError("the card was closed; open it again")
        modes = (os.O_RDWR, os.O_WRONLY, os.O_RDONLY)
        try:
            for name, mode in zip(NAMES, modes, strict=True):
                self._nodes[name] = self._open_node(name, mode | os.O_CLOEXEC)
                if name == "user":
                    # XDMA itself allows several processes.
                    fcntl.flock(self._nodes[name], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._close()
            raise BusyError(f"{self._prefix} belongs to another client{LATER}") from None
        except DeviceError:
            self._close()
            raise
        self._is_broken = False
        self._writes.clear()
        self._read = None

    def _open_node(self, name: str, flags: int) -> int:
        """Open a node; close it again if it opens only after the timeout."""
        is_late = threading.Event()

        def ask() -> int:
            node = os.open(f"{self._prefix}_{name}", flags)
            if is_late.is_set():
                _close(node)
            return node

        try:
            return self._call(name, ask)
        except DeviceTimeoutError:
            is_late.set()
            raise

    def _close(self) -> None:
        """Close all nodes in a thread, because closing a stuck node blocks."""
        nodes = list(self._nodes.values())
        self._nodes.clear()
        closing = threading.Thread(target=lambda: deque(map(_close, nodes)), daemon=True)
        closing.start()
        closing.join(GRACE_SECONDS)

    def _node(self, name: str) -> int:
        if name not in self._nodes:
            said = "was closed; open it again" if self._is_closed else "is gone; reset the device"
            raise DeviceError(f"the card {self._prefix} {said}")
        return self._nodes[name]

    def _call(self, name: str, ask: Callable[[], Result]) -> Result:
        """Call a node in its thread."""
        try:
            return self._workers[name].call(ask, self._timeout, f"{self._prefix}_{name}")
        except OSError as error:
            raise self._fail(name, error) from error

    def _fail(self, name: str, error: OSError) -> DeviceError:
        """Mark the nodes as broken, and return the error."""
        if isinstance(error, DeviceError):
            return error
        self._is_broken = True
        if error.errno == errno.EBUSY:
            return BusyError(f"{self._prefix} belongs to another client{LATER}")
        reason = error.strerror or error
        advice = "reset the device" if self._nodes else "check PREFIX and the driver"
        return DeviceError(f"{self._prefix}_{name} failed: {reason}; {advice}")


def _read(node: int, size: int) -> bytes:
    """Read the available bytes; none if there are none yet."""
    try:
        content = os.read(node, size)
    except (BlockingIOError, InterruptedError, TimeoutError):
        content = b""
    if not content:
        time.sleep(PAUSE_SECONDS)
    return content


def _close(node: int) -> None:
    try:
        os.close(node)
    except OSError:
        return  # A failed close releases the descriptor too.
