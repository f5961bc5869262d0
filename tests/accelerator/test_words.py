"""Texts become frames that hold all of them, dealt to lanes that have the same to do."""

import random
from collections.abc import Iterator

import pytest

from accelerator.cards import Faulty
from zeton.accel.device import Device
from zeton.accel.wire import words as wire
from zeton.accel.wire.words import FRAME_BYTES, deal


def unpacked(packet: bytes) -> Iterator[tuple[int, bytes, bool]]:
    at = 0
    while at < len(packet):
        head = int.from_bytes(packet[at : at + 8], "little")
        size = head & 0xFFFF
        assert head & ~(0xFFFF | 1 << 16 | 0xFF << 24) == 0xF7 << 56
        yield head >> 24 & 0xFF, packet[at + 8 : at + 8 + size], bool(head >> 16 & 1)
        padded = at + 8 + (size + 7) // 8 * 8
        assert not any(packet[at + 8 + size : padded])
        at = padded


@pytest.mark.parametrize("lanes", [1, 2, 5, 16])
def test_frames_hold_all_texts(lanes: int) -> None:
    draw = random.Random(lanes)
    sizes = [0, 1, 8, FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 3 * FRAME_BYTES]
    texts = [draw.randbytes(draw.choice(sizes)) for _ in range(60)]
    dealt = deal(texts, lanes)
    assert len(dealt.packet) % 8 == 0
    found: list[list[bytes]] = [[b""] for _ in range(lanes)]
    for lane, content, last in unpacked(dealt.packet):
        assert len(content) <= FRAME_BYTES
        found[lane][-1] += content
        if last:
            found[lane].append(b"")
    for own, mine in zip(found, dealt.lanes, strict=True):
        assert own == [*(texts[at] for at in mine), b""]


def test_lanes_have_the_same_to_do_and_take_turns() -> None:
    texts = [b"x" * size for size in (9000, 8000, 7000, 6000, 3000, 2000, 1000, 500) * 4]
    dealt = deal(texts, 4)
    loads = [sum(len(texts[at]) for at in mine) for mine in dealt.lanes]
    assert max(loads) - min(loads) <= 9000
    lanes = [lane for lane, _, _ in unpacked(dealt.packet)]
    assert lanes[:12] == [0, 1, 2, 3] * 3


def test_a_batch_that_has_nothing_is_not_sent(device: Device, link: Faulty) -> None:
    before = len(link.sent)
    assert device.encode_batch([]) == []
    assert device.encode("<|x|>", allowed_special="all") == [9000]
    assert list(device.encode_iter([[]])) == [[]]
    assert len(link.sent) == before
    assert wire.deal([], 2).packet == b""
