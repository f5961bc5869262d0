"""A card behind nodes, which come short, disappear, stall and come back."""

import signal
from pathlib import Path

import pytest

from accelerator.cards import TEXT
from accelerator.ways import Fake, Ways, hasten, loaded, needs_fuse, refusal, right
from zeton.accel.errors import DeviceError, DeviceTimeoutError
from zeton.accel.transports import nodes
from zeton.accel.transports.faults import (
    NODE_FAULTS,
    FaultySystem,
)
from zeton.accel.transports.nodes import NodesTransport
from zeton.accel.wire.packets import PacketReader, packet_header


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> FaultySystem:
    system = FaultySystem()
    monkeypatch.setattr(nodes, "os", system)
    return system


HARMLESS = ("short writes", "short reads", "odd reads", "a node that is not ready", "all ones")


@needs_fuse
@pytest.mark.parametrize("fault", NODE_FAULTS)
def test_a_fault_of_a_node_ends_in_a_typed_error_or_the_right_ids(
    ways: Ways, system: FaultySystem, fault: str
) -> None:
    device = loaded(ways.open("nodes to reference"))
    for seed in range(4):
        system.spoil(fault, seed, seed)
        said = refusal(device)
        assert system.has_struck
        assert bool(said) is (fault not in HARMLESS), said
        system.heal()
        if said:
            device.reset()
        assert right(device)
    device.close()


@needs_fuse
@pytest.mark.long
def test_a_card_whose_process_dies_is_an_error_and_a_new_one_helps(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "reference")
    try:
        device = loaded(NodesTransport(fake.prefix, timeout=5), timeout=1)
        fake.process.kill()
        fake.process.wait()
        with pytest.raises(DeviceError, match=r"failed: .*; reset the device"):
            device.encode(TEXT)
        with pytest.raises(DeviceError, match="failed"):
            device.reset()
        fake.stop()
        with pytest.raises(DeviceError, match="failed: No such file"):
            device.reset()
        fake.start()
        device.reset()
        assert right(device)
        device.close()
    finally:
        fake.stop()


@needs_fuse
@pytest.mark.long
def test_a_card_that_stalls_is_an_error_and_goes_on_later(tmp_path: Path) -> None:
    fake = Fake(tmp_path, "reference")
    try:
        device = loaded(NodesTransport(fake.prefix))
        hasten(device, 0.5)
        fake.process.send_signal(signal.SIGSTOP)
        with pytest.raises(DeviceTimeoutError, match=r"did not answer for 0\.5 s|owes words"):
            device.encode(TEXT)
        with pytest.raises(DeviceTimeoutError, match=r"did not answer for 0\.5 s"):
            device.reset()
        fake.process.send_signal(signal.SIGCONT)
        hasten(device, 20)
        device.reset()
        assert right(device)
        device.close()
    finally:
        fake.stop()


def test_refuses_nodes_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match=r"nothing_user failed: .*; check PREFIX"):
        NodesTransport(f"{tmp_path}/nothing")


def test_a_packet_is_found_in_any_portions() -> None:
    packets = [bytes([at]) * 8 * at for at in range(1, 6)]
    stream = b"".join(packet_header(len(packet)) + packet for packet in packets)
    for size in (1, 3, 8, 50, 1000):
        reader = PacketReader()
        portions = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert [packet for part in portions for packet in reader.read(part)] == packets
    reader = PacketReader()
    assert list(reader.read(b"no header" + bytes(7) + stream)) == packets
    assert list(reader.read(packet_header(800) + bytes(8))) == []
    reader.reset()
    assert list(reader.read(stream)) == packets
    for size in (0, 7, 1 << 30):
        with pytest.raises(DeviceError, match="a packet has"):
            packet_header(size)
