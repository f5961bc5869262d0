"""Networks of their own for processes of tests: nothing that these open is seen from elsewhere."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ALONE = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


@cache
def why_not() -> str:
    """Say why no network can be made here, if so."""
    if not all(map(shutil.which, ("unshare", "nsenter", "ip", "ss"))):
        return "networks of their own need Linux, unshare, nsenter, ip and ss"
    trial = subprocess.run([*ALONE, "true"], capture_output=True, check=False)
    return "networks of their own need the rights of root" if trial.returncode else ""


class Network:
    """A network with a loopback of its own; it and its processes go at the end."""

    def __init__(self) -> None:
        self._holder = subprocess.Popen([*ALONE, "sleep", "600"])
        self.pid = self._holder.pid
        here = self._name("self")
        end = time.monotonic() + 10
        while (name := self._name(self.pid)) in (here, "") or not self._is_up():
            assert time.monotonic() < end, "there is no network"
            time.sleep(0.01)
        self.name = name

    def _is_up(self) -> bool:
        return (
            b"LOWER_UP"
            in subprocess.run(self.inside("ip", "link"), capture_output=True, check=False).stdout
        )

    @staticmethod
    def _name(pid: int | str) -> str:
        try:
            return str(Path(f"/proc/{pid}/ns/net").readlink())
        except OSError:
            return ""

    def inside(self, *command: str) -> list[str]:
        """Return a command that runs in the network."""
        return ["nsenter", "-t", str(self.pid), "-n", *command]

    def processes(self) -> dict[int, str]:
        """Return the ids of all processes in the network but the one that holds it, with titles."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            if self._name(folder.name) == self.name and int(folder.name) != self.pid:
                try:
                    title = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                except OSError:
                    continue
                if state != "Z":
                    found[int(folder.name)] = title
        return found

    def is_empty(self, within: float) -> bool:
        """Tell whether all processes end by themselves within some seconds."""
        end = time.monotonic() + within
        while self.processes():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def kill(self) -> None:
        """End all processes but the holder, as a power cut would."""
        end = time.monotonic() + 10
        while (found := self.processes()) and time.monotonic() < end:
            for pid in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            time.sleep(0.02)

    def close(self) -> None:
        self.kill()
        self._holder.kill()
        self._holder.wait()


@contextmanager
def network() -> Iterator[Network]:
    """Make a network for a while."""
    made = Network()
    try:
        yield made
    finally:
        made.close()
