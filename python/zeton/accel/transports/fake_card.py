"""A fake card: character devices like XDMA's, served by FUSE from any transport.

It tests `nodes:PREFIX` without hardware. For example, a folder `nodes` then has `card_user`,
`card_h2c_0` and `card_c2h_0`, and `nodes:nodes/card` opens them.
"""

import errno
import os
import stat
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from zeton.accel import registers
from zeton.accel.errors import BuildError, DeviceError
from zeton.accel.transports.nodes import NAMES
from zeton.accel.wire.packets import PacketReader

if TYPE_CHECKING:
    from zeton.accel.transports.transport import Transport

__all__ = ["FakeCard", "serve_nodes"]

WAIT_SECONDS = 0.02
"""Time that a read of words waits for the card; register accesses wait behind it."""

ENDED = 8
"""Exit code of FUSE after a signal."""

Result = TypeVar("Result")


class FakeCard:
    """The operations of the nodes, for one client at a time; method names are given by FUSE."""

    use_ns = True

    def __init__(self, transport: "Transport", name: str) -> None:
        """Serve a transport as `NAME_user`, `NAME_h2c_0` and `NAME_c2h_0`."""
        self._transport = transport
        self._kinds = {f"/{name}_{kind}": kind for kind in NAMES}
        self._opened: set[str] = set()
        self._packets = PacketReader()

    def getattr(self, path: str, fh: int | None = None) -> dict[str, int]:  # noqa: ARG002
        """Return the attributes of a node."""
        owner = {"st_uid": os.getuid(), "st_gid": os.getgid()}
        if path == "/":
            return owner | {"st_mode": stat.S_IFDIR | 0o700, "st_nlink": 2}
        self._kind(path)
        return owner | {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": 0}

    def readdir(self, path: str, fh: int) -> list[str]:  # noqa: ARG002
        """List the nodes."""
        return [".", "..", *(node[1:] for node in self._kinds)]

    def open(self, path: str, flags: int) -> int:  # noqa: ARG002
        """Open a node, unless another client has it open."""
        kind = self._kind(path)
        if kind in self._opened:
            raise OSError(errno.EBUSY, "another client has it open")
        self._opened.add(kind)
        return NAMES.index(kind)

    def release(self, path: str, fh: int) -> int:  # noqa: ARG002
        """Close a node, and drop pending packets and words."""
        self._opened.discard(self._kind(path))
        self._forget()
        return 0

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:  # noqa: ARG002
        """Read a register, or the words that are there."""
        if (kind := self._kind(path)) == "user":
            if size != 4 or offset % 4:
                raise OSError(errno.EINVAL, "a register access has 4 bytes at a multiple of 4")
            return self._call_card(lambda: self._transport.read32(offset)).to_bytes(4, "little")
        if kind != "c2h_0":
            raise OSError(errno.EPERM, "this node is write-only")
        words = self._call_card(lambda: self._transport.receive(max(size // 4, 1), WAIT_SECONDS))
        return words.astype("<u4").tobytes()

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:  # noqa: ARG002
        """Write a register, or a portion of a packet."""
        if (kind := self._kind(path)) == "user":
            if len(data) != 4 or offset % 4:
                raise OSError(errno.EINVAL, "a register access has 4 bytes at a multiple of 4")
            value = int.from_bytes(data, "little")
            is_reset = offset == registers.CONTROL and registers.CONTROL_RESET.of(value)
            if is_reset:
                self._forget()  # Otherwise the card would take old packets after its reset.
            self._call_card(lambda: self._transport.write32(offset, value))
            if is_reset:
                self._forget()
        elif kind == "h2c_0":
            for packet in self._packets.read(data):
                self._call_card(partial(self._transport.send, packet))
        else:
            raise OSError(errno.EPERM, "this node is read-only")
        return len(data)

    def truncate(self, path: str, length: int, fh: int | None = None) -> int:  # noqa: ARG002
        """Do nothing; a shell truncates a file before it writes."""
        return 0

    def _forget(self) -> None:
        """Drop pending packets and words."""
        self._packets.reset()
        self._call_card(self._transport.reset)

    def _kind(self, path: str) -> str:
        if path not in self._kinds:
            raise OSError(errno.ENOENT, "no such node")
        return self._kinds[path]

    def _call_card(self, ask: Callable[[], Result]) -> Result:
        """Call the card; turn a `DeviceError` into an I/O error of the node."""
        try:
            return ask()
        except DeviceError as error:
            raise OSError(errno.EIO, str(error)) from error


def serve_nodes(transport: "Transport", folder: str | Path, name: str = "card") -> None:
    """Serve nodes in an empty folder until it is unmounted or a signal ends the process."""
    if not (Path(folder).is_dir() and os.access("/dev/fuse", os.R_OK | os.W_OK)):
        missing = "/dev/fuse" if Path(folder).is_dir() else folder
        raise DeviceError(f"a fake card needs {missing}, which is missing or not accessible")
    try:
        mfusepy = import_module("mfusepy")
    except (ImportError, OSError) as error:
        raise BuildError(
            f"cannot use FUSE ({error}); install mfusepy and Debian's fuse3"
        ) from error
    operations: Any = type("Card", (FakeCard, mfusepy.Operations), {})(transport, name)
    try:
        mfusepy.FUSE(
            operations, str(folder), foreground=True, nothreads=True, direct_io=True, fsname=name
        )
    except RuntimeError as error:
        if error.args == (ENDED,):
            return
        raise DeviceError(
            f"cannot mount {folder}: FUSE reports {error}; give an empty folder"
        ) from error
