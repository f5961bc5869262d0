"""How much memory there is, and how people write it."""

import os
import re
from pathlib import Path

from jeton.errors import TrainError

__all__ = ["free", "parse", "resident"]

UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    UNITS |= {_letter: 1000**_power, f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}

FREE_UNKNOWN = 1 << 31
"""What is taken for free where the system does not say."""


def parse(amount: int | str) -> int:
    """Return a number of bytes, given as one or with a unit.

    >>> parse("256MB"), parse("1.5 GiB"), parse(1000)
    (256000000, 1610612736, 1000)
    """
    if isinstance(amount, int) and not isinstance(amount, bool):
        count = amount
    elif not isinstance(amount, str):
        raise TypeError(f"memory is bytes or a text such as '2GB', not {type(amount).__name__}")
    else:
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", amount.lower())
        if not found or found[2] not in UNITS:
            raise TrainError(f"memory is {amount!r}; write it as 2GB, 512MiB or a number of bytes")
        count = int(float(found[1]) * UNITS[found[2]])
    if not 1 <= count < 2**63:
        raise TrainError(f"memory is {amount}; it must be at least 1 byte and fit 63 bits")
    return count


def free() -> int:
    """Return the bytes that this process may still take, as far as the system says."""
    found = []
    meminfo = _content("/proc/meminfo")
    if line := re.search(r"^MemAvailable:\s+(\d+) kB", meminfo, re.MULTILINE):
        found.append(int(line[1]) * 1024)
    most, used = _content("/sys/fs/cgroup/memory.max"), _content("/sys/fs/cgroup/memory.current")
    if most.strip().isdigit() and used.strip().isdigit():
        found.append(max(int(most) - int(used), 0))
    return min(found, default=FREE_UNKNOWN)


def resident() -> int:
    """Return the bytes of memory that this process has, or 0 where the system does not say."""
    pages = _content("/proc/self/statm").split()
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if pages else 0


def _content(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
