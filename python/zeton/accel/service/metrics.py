"""The metrics of a service, in Prometheus' text format."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate
from pathlib import Path
from resource import getpagesize

__all__ = ["HELP", "Histogram", "Metrics", "line", "resident_bytes"]

BOUNDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60)
"""Upper bounds of the histogram's buckets in seconds."""

HELP = {
    "zeton_requests_total": ("counter", "Requests accepted."),
    "zeton_answers_total": ("counter", "Requests answered, by outcome."),
    "zeton_repeated_total": ("counter", "Requests that repeat an id."),
    "zeton_withdrawn_total": ("counter", "Requests whose client left before a card had them."),
    "zeton_refused_total": ("counter", "Requests and clients refused, by code."),
    "zeton_texts_total": ("counter", "Texts of the requests answered."),
    "zeton_text_bytes_total": ("counter", "Bytes of the requests answered."),
    "zeton_slow_readers_total": ("counter", "Connections ended because answers were not read."),
    "zeton_connections": ("gauge", "Connections that are open."),
    "zeton_sessions": ("gauge", "Clients that are here or may come back."),
    "zeton_waiting_bytes": ("gauge", "Bytes of requests that are not answered."),
    "zeton_answer_bytes": ("gauge", "Bytes of answers in memory."),
    "zeton_draining": ("gauge", "1 while the service ends."),
    "zeton_card_up": ("gauge", "1 for a card that encodes."),
    "zeton_card_batches_total": ("counter", "Batches encoded, by card."),
    "zeton_card_texts_total": ("counter", "Texts encoded, by card."),
    "zeton_card_text_bytes_total": ("counter", "Bytes encoded, by card."),
    "zeton_card_busy_seconds_total": ("counter", "Seconds in which a card had a batch."),
    "zeton_card_failures_total": ("counter", "Failures, by card."),
    "zeton_request_seconds": ("histogram", "From a request's acceptance to its answer."),
    "process_cpu_seconds_total": ("counter", "CPU time of the service."),
    "process_resident_memory_bytes": ("gauge", "Memory of the service."),
}


class Histogram:
    """A histogram of durations."""

    def __init__(self) -> None:
        """Begin empty."""
        self._counts = [0] * (len(BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        """Count a duration."""
        self._counts[bisect_left(BOUNDS, seconds)] += 1
        self._sum += seconds

    def lines(self, name: str) -> Iterator[str]:
        """Yield the lines of the histogram."""
        for bound, count in zip((*BOUNDS, "+Inf"), accumulate(self._counts), strict=True):
            yield line(f"{name}_bucket", count, {"le": str(bound)})
        yield line(f"{name}_sum", self._sum)
        yield line(f"{name}_count", sum(self._counts))


class Metrics:
    """Counters by name and labels, and a histogram of the requests' durations."""

    def __init__(self) -> None:
        """Begin at zero."""
        self._counts: Counter[tuple[str, str]] = Counter()
        self._labels: dict[tuple[str, str], dict[str, str]] = {}
        self.seconds = Histogram()

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """Add to a counter."""
        key = (name, repr(labels))
        self._counts[key] += amount
        self._labels[key] = labels

    def total(self, name: str) -> int:
        """Return the sum of a counter over its labels."""
        return sum(count for (each, _), count in self._counts.items() if each == name)

    def text(self, gauges: Iterable[tuple[str, float, dict[str, str]]]) -> str:
        """Return all metrics as text, with the current values of `gauges`."""
        found: dict[str, list[str]] = {name: [] for name in HELP}
        for key, count in self._counts.items():
            found[key[0]].append(line(key[0], count, self._labels[key]))
        for name, value, labels in gauges:
            found[name].append(line(name, value, labels))
        found["zeton_request_seconds"] = list(self.seconds.lines("zeton_request_seconds"))
        lines: list[str] = []
        for name, (kind, text) in HELP.items():
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", *(found[name] or ())]
        return "\n".join(lines) + "\n"


def line(name: str, value: float, labels: dict[str, str] | None = None) -> str:
    r"""Return the line of one value.

    >>> line("zeton_card_up", 1, {"card": 'a "b"'})
    'zeton_card_up{card="a \\"b\\""} 1'
    """
    spelled = ",".join(f'{key}="{escape_label(text)}"' for key, text in (labels or {}).items())
    return f"{name}{{{spelled}}} {value:.12g}" if spelled else f"{name} {value:.12g}"


def escape_label(text: str) -> str:
    """Escape the characters that end a label."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def resident_bytes() -> int:
    """Return this process's resident memory in bytes, or 0 if the system does not report it."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * getpagesize()
    except OSError:
        return 0
