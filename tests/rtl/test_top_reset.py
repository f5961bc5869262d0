"""The card with its own lanes returns from a reset at any moment and from packets that are none."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

import zeton
from support.paths import ROOT
from zeton.accel import registers
from zeton.accel.configuration import configuration
from zeton.accel.device import Device
from zeton.accel.transports.sim import SimTransport
from zeton.accel.wire.words import deal
from zeton.cli.options.samples import SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

# The shape of tests/accelerator/cards.py: one model serves both.
SHAPE = configuration("small", lanes=2, units=2, slots=8, wide_units=1, wide_slots=16, bytes_log=8)
pytestmark = pytest.mark.long
REGIMES = [(0, 0), (60, 0), (0, 60), (40, 40)]
LETTERS = b" \n'sta1,\xe4\xb8\xad\xf0\x9f\x98\x80\xff"


@pytest.fixture(scope="module")
def transport() -> Iterator[SimTransport]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZETON_CACHE", str(ROOT / "target" / "models"))
        transport = SimTransport(SHAPE)
    yield transport
    transport.close()


@pytest.fixture(scope="module")
def tokenizer() -> zeton.Tokenizer:
    return zeton.train([text.decode() for text in SAMPLES.values()], vocab_size=1200)


@pytest.fixture
def device(transport: SimTransport, tokenizer: zeton.Tokenizer) -> Device:
    transport.regime()
    device = Device(transport)
    device.reset()
    device.load(tokenizer)
    return device


def drawn(rng: random.Random, count: int) -> list[bytes]:
    """Draw texts, some of them longer than a unit and than the queue of bytes."""
    lengths = [0, 1, 5, 20, 100, 400]
    texts = [bytes(rng.choices(LETTERS, k=rng.choice(lengths))) for _ in range(count)]
    return [b" " * 600 if rng.random() < 0.1 else text for text in texts]


def test_reset_at_any_moment(
    device: Device, transport: SimTransport, tokenizer: zeton.Tokenizer
) -> None:
    rng = random.Random(5)
    for at in range(60):
        transport.regime(*rng.choice(REGIMES), seed=at + 1)
        for _ in range(3):
            transport.send(deal(drawn(rng, 8), SHAPE.lanes).packet)
        transport.run(rng.randrange(3000))
        device.reset()
        texts = drawn(rng, 4)
        assert device.encode_batch(texts) == [tokenizer.encode(text) for text in texts]


def test_a_packet_that_is_none_ends_its_texts_and_no_more(
    device: Device, transport: SimTransport, tokenizer: zeton.Tokenizer
) -> None:
    rng = random.Random(6)
    for at in range(40):
        transport.regime(*rng.choice(REGIMES), seed=at + 1)
        packet = bytes(deal(drawn(rng, 8), SHAPE.lanes).packet)
        whole = 8 * rng.randrange(1, len(packet) // 8)
        transport.send(packet[:whole] + (rng.randbytes(80) if at % 2 else b""))
        while not len(words := transport.receive(1 << 16, 10.0)) or words[-1] >> 24 != 7:
            assert len(words), "the batch has no end"
        if at % 2:
            assert registers.STATUS_FRAME.of(transport.read32(registers.STATUS))
        device.reset()
        texts = drawn(rng, 4)
        assert device.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
