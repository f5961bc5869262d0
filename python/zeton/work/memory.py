"""How much memory there is, and how people write it."""

import os
import re
from pathlib import Path

from zeton.errors import TrainError
from zeton.plural import counted

__all__ = ["free", "given_or_free", "parse", "resident"]

UNITS = {"": 1, "b": 1}
for _power, _letter in enumerate("kmgt", 1):
    UNITS |= {_letter: 1000**_power, f"{_letter}b": 1000**_power, f"{_letter}ib": 1024**_power}

CGROUP = "/sys/fs/cgroup"

LEAST = 64 * 10**6
"""The default is never less."""

GIVEN_LEAST = 10**6
"""A smaller amount is a typing error."""

FREE_UNKNOWN = 1 << 31
"""The free memory where the system reports none."""


def parse(amount: int | str, name: str = "memory") -> int:
    """Return a number of bytes, given as an integer or with a unit; `name` is for messages.

    >>> parse("256MB"), parse("1.5 GiB"), parse(1000)
    (256000000, 1610612736, 1000)
    """
    if isinstance(amount, int) and not isinstance(amount, bool):
        count = amount
    elif not isinstance(amount, str):
        raise TypeError(f"{name} is bytes or a text such as '2GB', not {type(amount).__name__}")
    else:
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)\s*", amount.lower())
        if not found or found[2] not in UNITS:
            raise TrainError(
                f"{name} is {amount!r:.40}; write it as 2GB, 512MiB or a number of bytes"
            )
        count = int(min(float(found[1]) * UNITS[found[2]], 2.0**63))
    if not 1 <= count < 2**63:
        raise TrainError(f"{name} is {amount!s:.40}; it must be at least 1 byte and fit 63 bits")
    return count


def given_or_free(amount: int | str | None) -> int:
    """Return the bytes to use: a given amount, or half of the free memory."""
    if amount is None:
        return max(free() // 2, LEAST)
    count = parse(amount)
    if count < GIVEN_LEAST:
        # A number of a few digits is nearly always meant in gigabytes.
        likely = count if count < 1000 else 2
        raise TrainError(
            f"memory is {counted(count, 'byte')}; give at least 1 MB, such as '{likely}GB'"
        )
    return count


def free() -> int:
    """Return the bytes that this process may still take, as far as the system says."""
    found = []
    meminfo = _content("/proc/meminfo")
    if line := re.search(r"^MemAvailable:\s+(\d+) kB", meminfo, re.MULTILINE):
        found.append(int(line[1]) * 1024)
    most, used = _content(f"{CGROUP}/memory.max"), _content(f"{CGROUP}/memory.current")
    if most.strip().isdigit() and used.strip().isdigit():
        # The file cache counts as used, and is freed on demand.
        files = re.search(r"^inactive_file (\d+)", _content(f"{CGROUP}/memory.stat"), re.MULTILINE)
        found.append(max(int(most) - int(used) + int(files[1] if files else 0), 0))
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
