"""A card, the way to it and devices; all ways that are served."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from accelerator.cards import SHAPE, Faulty, needs_tools, simulated, trained
from accelerator.ways import Ways
from zeton.accel.device import Device
from zeton.accel.reference import ReferenceTransport
from zeton.accel.transports.transport import Transport

CARDS = ["reference", pytest.param("sim", marks=needs_tools)]


@pytest.fixture(scope="module")
def cards() -> Iterator[Callable[[str], Transport]]:
    """Open each card once; a device resets it."""
    opened: dict[str, Transport] = {}

    def card(name: str) -> Transport:
        if name not in opened:
            opened[name] = simulated() if name == "sim" else ReferenceTransport(SHAPE)
        return opened[name]

    yield card
    for transport in opened.values():
        transport.close()


@pytest.fixture(params=CARDS)
def link(request: pytest.FixtureRequest, cards: Callable[[str], Transport]) -> Faulty:
    return Faulty(cards(request.param))


@pytest.fixture
def device(link: Faulty) -> Device:
    device = Device(link, timeout=60)
    device.load(trained())
    return device


@pytest.fixture
def safe(link: Faulty) -> Device:
    """Make a device that falls back to software."""
    device = Device(link, timeout=60, fallback="software")
    device.load(trained())
    return device


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    with ExitStack() as stack:
        yield Ways(stack, tmp_path_factory.mktemp("ways"))
