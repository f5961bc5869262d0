"""A card behind memory that both sides map."""

from pathlib import Path

import numpy as np
import pytest

from accelerator.cards import SHAPE, TEXT
from accelerator.ways import hasten, loaded, right, wait_for
from zeton.accel.device import Device
from zeton.accel.errors import AnswerError, DeviceError, DeviceTimeoutError
from zeton.accel.reference import ReferenceTransport
from zeton.accel.transports.pci import BarServer, BarTransport
from zeton.accel.wire.bar import BAR_BYTES


def test_refuses_memory_that_has_no_card(tmp_path: Path) -> None:
    file = tmp_path / "bar"
    with pytest.raises(DeviceError, match=r"cannot open .*bar: No such file"):
        BarTransport(file)
    file.write_bytes(b"short")
    with pytest.raises(DeviceError, match="cannot map 1,048,576 bytes of"):
        BarTransport(file)
    file.write_bytes(bytes(BAR_BYTES))
    with pytest.raises(DeviceError, match=r"no card behind .*bar: its first word is 0x0"):
        BarTransport(file)


def test_memory_that_nobody_serves_any_more_is_an_error(tmp_path: Path) -> None:
    with BarServer(ReferenceTransport(SHAPE), tmp_path / "bar"):
        device = loaded(BarTransport(tmp_path / "bar"))
    hasten(device, 0.3)
    with pytest.raises(DeviceTimeoutError, match="the card sent no more words"):
        device.encode(TEXT)
    with pytest.raises(DeviceTimeoutError, match=r"did not answer for 0\.3 s"):
        device.reset()
    device.close()


def test_a_ring_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    bar = np.zeros(BAR_BYTES // 4, "<u4")
    bar[0], bar[48] = 0x5241425A, 1 << 20
    (tmp_path / "bar").write_bytes(bar.tobytes())
    transport = BarTransport(tmp_path / "bar", timeout=9)
    with pytest.raises(AnswerError, match="a ring counts 1,048,576 bytes, more than its 262,144"):
        transport.receive(10, 1)
    transport.close()


@pytest.mark.parametrize("word", [16, 48, 64])
def test_a_driver_that_spoils_a_ring_does_not_end_the_card(tmp_path: Path, word: int) -> None:
    with BarServer(ReferenceTransport(SHAPE), tmp_path / "bar"):
        device = loaded(BarTransport(tmp_path / "bar"))
        device.transport._memory().words[word] += np.uint32(1 << 20)  # type: ignore[attr-defined]
        wait_for(lambda: is_usable(device))
        assert right(device)
        device.close()


def is_usable(device: Device) -> bool:
    try:
        device.reset()
    except AnswerError:
        return False
    return True


def test_a_card_that_comes_back_leaves_its_clients_alive(tmp_path: Path) -> None:
    with BarServer(ReferenceTransport(SHAPE), tmp_path / "bar"):
        device = loaded(BarTransport(tmp_path / "bar"))
    assert (tmp_path / "bar").stat().st_mode & 0o777 == 0o600
    with BarServer(ReferenceTransport(SHAPE), tmp_path / "bar"):
        device.reset()  # Its memory is that of the new one.
        assert right(device)
        device.close()
