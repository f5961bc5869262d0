"""A device gives the ids of the tokenizer, over any transport and after any fault of the card."""

import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeton
from accelerator.cards import (
    SHAPE,
    TEXT,
    TEXTS,
    Faulty,
    encode,
    expected,
    gone,
    interrupt,
    needs_tools,
    simulated,
    trained,
)
from support.strategies import odd_bytes, odd_text
from zeton import accel
from zeton.accel import registers
from zeton.accel.configuration import Configuration, configuration
from zeton.accel.device import Device
from zeton.accel.errors import AnswerError, DeviceError, DeviceTimeoutError
from zeton.accel.reference import ReferenceTransport
from zeton.accel.transports.transport import Transport
from zeton.accel.wire.packets import Words

# ---- ids of the tokenizer ----


@pytest.mark.parametrize("specials", [None, "all", ["<|end|>"], ("<|x|>", "<|en"), []])
def test_encodes_as_the_tokenizer_does(device: Device, specials: Any) -> None:
    for text in TEXTS[:10]:
        assert device.encode(text, allowed_special=specials) == trained().encode(
            text, allowed_special=specials
        )
    assert device.encode_batch(TEXTS, allowed_special=specials) == expected(
        TEXTS, allowed_special=specials
    )


def test_puts_ids_before_and_after(device: Device) -> None:
    options: dict[str, Any] = {"allowed_special": "all", "prepend": "<|x|>", "append": 7}
    assert device.encode("<|end|>a", **options) == trained().encode("<|end|>a", **options)
    assert device.encode_batch(TEXTS, **options) == expected(TEXTS, **options)


def test_names_of_specials_may_come_once(device: Device) -> None:
    many = device.encode_batch(["<|x|>"] * 3, allowed_special=iter(["<|x|>"]))
    assert many == [[9000]] * 3


def test_takes_any_bytes(device: Device) -> None:
    texts: list[Any] = [
        bytearray(b"some bytes"),
        memoryview(b"some more"),
        memoryview(b"s.o.m.e.")[::2],
    ]
    assert device.encode_batch(texts) == [trained().encode(text) for text in texts]


def test_refuses_what_the_tokenizer_refuses(device: Device) -> None:
    for bad in (5, None, ["text"]):
        with pytest.raises(TypeError, match="a text is str or bytes, not"):
            device.encode(bad)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="a text is str or bytes, not"):
            device.encode_batch([bad])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="a batch is a list of texts, not one text"):
        device.encode_batch("text")
    with pytest.raises(zeton.errors.SpecialError, match="nobody"):
        device.encode("text", allowed_special=["<|nobody|>"])
    with pytest.raises(zeton.errors.SpecialError, match="nobody"):
        device.encode("text", prepend="<|nobody|>")
    assert device.encode("text") == trained().encode("text")


@cache
def reference_device() -> Device:
    device = Device(ReferenceTransport(SHAPE))
    device.load(trained())
    return device


@given(st.lists(st.one_of(odd_text, odd_bytes), max_size=5))
@settings(max_examples=100)
def test_encodes_odd_texts_as_the_tokenizer_does(texts: list[str | bytes]) -> None:
    assert reference_device().encode_batch(texts) == expected(texts)


@pytest.mark.parametrize(
    "name", ["gpt2", "cl100k_base", pytest.param("o200k_base", marks=pytest.mark.long)]
)
def test_the_reference_encodes_as_published_tokenizers_do(name: str) -> None:
    tok = zeton.pretrained(name)
    with accel.open("reference", config="large" if name == "o200k_base" else "default") as device:
        device.load(tok)
        texts = [text[:200] for text in TEXTS]
        assert device.encode_batch(texts) == [tok.encode(text) for text in texts]


# ---- batches ----


def test_texts_and_batches_come_back_in_order(device: Device) -> None:
    items: list[Any] = ["one", ["two", b"three"], "four", "five", [], ("six",), iter(["seven"])]
    found = list(device.encode_iter(items))
    one, four, five, seven = expected(["one", "four", "five", "seven"])
    assert found == [one, expected(["two", b"three"]), four, five, [], expected(["six"]), [seven]]


@pytest.mark.parametrize("in_flight", [1, 2, 5])
def test_so_many_batches_are_in_flight(device: Device, link: Faulty, in_flight: int) -> None:
    before, asked = len(link.sent), []

    def batches() -> Iterator[list[str]]:
        for at in range(8):
            asked.append((len(link.sent) - before, link.received))
            yield [f"text {at}"]

    link.received = 0
    found = list(device.encode_iter(batches(), in_flight=in_flight))
    assert found == [expected([f"text {at}"]) for at in range(8)]
    assert [sent for sent, _ in asked] == list(range(8))
    assert [received > 0 for _, received in asked] == [at >= in_flight for at in range(8)]


def test_refuses_no_batches_in_flight(device: Device) -> None:
    with pytest.raises(DeviceError, match="in_flight is 0; give 1 or more"):
        device.encode_iter(["a"], in_flight=0)


def test_iterators_may_be_mixed_and_left(device: Device) -> None:
    first = device.encode_iter([[f"first {at}"] for at in range(6)], in_flight=3)
    second = device.encode_iter([[f"second {at}"] for at in range(6)], in_flight=2)
    assert next(first) == expected(["first 0"])
    assert next(second) == expected(["second 0"])
    assert device.encode("between") == trained().encode("between")
    assert next(first) == expected(["first 1"])
    del first
    assert list(second) == [expected([f"second {at}"]) for at in range(1, 6)]
    assert device.encode("after") == trained().encode("after")


def test_many_texts_are_cut_into_batches(
    device: Device, link: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeton.accel.device.BATCH_BYTES", 50)
    before, texts = len(link.sent), [f"text {at}" for at in range(60)]
    assert device.encode_batch(texts) == expected(texts)
    assert 4 <= len(link.sent) - before <= 8
    assert device.encode_batch([]) == []


def test_long_texts_are_encoded_by_the_host(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeton.accel.batches.TEXT_BYTES_MAX", 100)
    texts = ["a" * 101, "b c " * 25, "<|x|>" + "d" * 200]
    found = device.encode_batch(texts, allowed_special="all")
    assert found == expected(texts, allowed_special="all")
    assert (device.info.software_texts, device.info.software_bytes) == (2, 301)


# ---- tables ----


def test_tokens_are_read_back_from_the_tables(device: Device) -> None:
    assert device.tokens() == trained().ranks()
    assert device.tokens(lane=1) == trained().ranks()
    with pytest.raises(DeviceError, match="no lane 2; give 0 to 1"):
        device.tokens(lane=2)


def test_another_tokenizer_can_be_loaded(device: Device) -> None:
    other = zeton.Tokenizer(
        {bytes([byte]): 255 - byte for byte in range(256)} | {b"lo": 300, b"low": 8000, b"we": 299},
        pattern=zeton.pretrained("gpt2").pattern,
    )
    device.load(other)
    texts: list[str | bytes] = ["lower and lower", "we'll 中文", b"\xfflow"]
    assert device.encode_batch(texts) == [other.encode(text) for text in texts]
    device.load(trained())
    assert device.encode_batch(texts) == expected(texts)


def test_texts_that_are_on_their_way_are_encoded_before_a_load(device: Device) -> None:
    other = zeton.Tokenizer({bytes([byte]): byte for byte in range(256)})
    batches = device.encode_iter([[f"text {at}"] for at in range(4)], in_flight=3)
    assert next(batches) == expected(["text 0"])
    device.load(other)
    assert list(batches) == [expected(["text 1"]), expected(["text 2"]), [other.encode("text 3")]]
    assert device.encode("after") == other.encode("after")


def test_tables_that_are_there_are_not_loaded_again(device: Device, link: Faulty) -> None:
    before = len(link.sent)
    device.load(trained())
    Device(link).load(trained())
    assert len(link.sent) == before


def test_a_tokenizer_that_does_not_fit_changes_nothing(device: Device) -> None:
    with pytest.raises(accel.FitError, match="its largest id is 50,255"):
        device.load(zeton.pretrained("gpt2"))
    assert encode(device) == expected([TEXT, "", "two"])


def test_a_load_that_fails_leaves_no_tables(link: Faulty) -> None:
    device = Device(link)
    device.load(zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    link.on_send = gone
    with pytest.raises(DeviceError, match="no such device"):
        device.load(trained())
    link.heal()
    assert device.info.image == 0
    with pytest.raises(DeviceError, match="the card has no tables; call load"):
        device.encode("text")
    device.reset()
    device.load(trained())
    assert encode(device) == expected([TEXT, "", "two"])


def test_software_takes_over_when_a_load_fails(link: Faulty) -> None:
    device = Device(link, fallback=True)
    device.load(zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    link.on_send = gone
    device.load(trained())
    assert encode(device) == expected([TEXT, "", "two"])
    link.heal()
    device.reset()
    assert encode(device) == expected([TEXT, "", "two"])
    assert (device.info.texts, device.info.software_texts) == (3, 3)


# ---- registers ----


def test_counts_what_it_does(device: Device) -> None:
    before = device.counters()
    text = b"one two \xff\xff" + b"z" * 40
    ids = device.encode(text)
    now = device.counters()
    gained = {name: now[name] - before[name] for name in now}
    raw = len(trained().encode("z" * 40))
    assert gained["bytes"] == len(text)
    assert gained["bad_bytes"] == 2
    assert gained["raw_bytes"] == 40
    assert gained["ids"] == len(ids) - raw
    assert gained["pieces"] == len(trained().split(text))


def test_says_what_it_is(device: Device) -> None:
    info = device.info
    assert info.configuration == SHAPE.with_parameters(bytes_log=Configuration().bytes_log)
    assert info.image > 0
    assert (info.texts, info.software_texts, info.failure) == (0, 0, None)
    assert "2 lanes" in repr(device)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0xFFFFFFFF, "not a zeton card: its ID is 0xffffffff, expected 0x4e54455a"),
        (registers.ID_MAGIC.reset, "version 1314145626 of the registers, expected 1"),
    ],
)
def test_refuses_what_is_no_card(link: Faulty, value: int, said: str) -> None:
    link.on_read = lambda _: value
    with pytest.raises(AnswerError, match=said):
        Device(link)


def test_refuses_a_shape_that_cannot_be(link: Faulty) -> None:
    answers = iter([registers.ID_MAGIC.reset, 1, 0, 0])
    link.on_read = lambda _: next(answers)
    with pytest.raises(AnswerError, match="an impossible configuration: lanes is 0"):
        Device(link)


def test_waits_no_longer_than_told(link: Faulty) -> None:
    answers = iter([registers.ID_MAGIC.reset, 1, link.read32(8), link.read32(12)])
    link.on_read = lambda _: next(answers, 0)
    with pytest.raises(DeviceTimeoutError, match=r"register 0x14 stayed 0x00000000 for 0\.05 s"):
        Device(link, timeout=0.05)


# ---- its life ----


def test_needs_a_tokenizer() -> None:
    with (
        accel.open("reference", config="small") as device,
        pytest.raises(DeviceError, match="the card has no tables; call load"),
    ):
        device.encode("text")


def test_is_closed_at_the_end() -> None:
    with accel.open("reference", config="small", fallback=True) as device:
        device.load(trained())
    for ask in (lambda: device.encode("text"), device.counters, device.reset):
        with pytest.raises(DeviceError, match="the device is closed; open it again"):
            ask()
    device.close()


def test_refuses_cards_that_there_are_not() -> None:
    with pytest.raises(DeviceError, match="no card 'fpga'; known are 'sim', 'ref"):
        accel.open("fpga")
    with pytest.raises(
        accel.ShapeError, match="no parameter 'slot' of a card; did you mean 'slots'"
    ):
        accel.open("reference", slot=3)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("Sim", "did you mean 'sim'"),
        ("refrence", "did you mean 'reference'"),
        ("node:/dev/xdma0", "did you mean 'nodes:PREFIX'"),
        ("tpc:card:4004", "did you mean 'tcp:HOST:PORT'"),
        ("uart", "card 'uart' has no place; give uart:PATH"),
        ("sim:2", "card 'sim:2' has a place, and 'sim' takes none; give 'sim'"),
    ],
)
def test_suggests_the_card_that_is_meant(name: str, advice: str) -> None:
    with pytest.raises(DeviceError, match=re.escape(advice)):
        accel.open(name)


def test_suggests_the_configuration_that_is_meant() -> None:
    with pytest.raises(accel.ShapeError, match="no configuration 'smal'; did you mean 'small'"):
        accel.open("reference", config="smal")


def test_the_package_does_without_it() -> None:
    code = "import sys, zeton; print([name for name in sys.modules if 'accel' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# ---- the simulated card ----


@needs_tools
@pytest.mark.parametrize(("gap", "stall"), [(0, 0), (90, 0), (0, 60), (85, 50)])
def test_the_simulated_card_encodes_whatever_the_traffic(
    cards: Callable[[str], Transport], gap: int, stall: int
) -> None:
    transport: Any = cards("sim")
    device = Device(transport)
    device.load(trained())
    transport.regime(gap, stall, seed=gap + stall)
    try:
        draw = random.Random(gap)
        alphabet = b" \n\r'stab1,\xe4\xb8\xad\xf0\x9f\x98\x80\xff\xc3\xa9"
        drawn = [bytes(draw.choices(alphabet, k=draw.randrange(60))) for _ in range(200)]
        texts = [*drawn, *TEXTS]
        assert device.encode_batch(texts) == expected(texts)
    finally:
        transport.regime()


@needs_tools
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_several_lanes_encode_by_published_vocabularies() -> None:
    shape = configuration("default", lanes=3, units=4, wide_units=1)
    draw = random.Random(2)
    emoji = "".join(draw.choices("👩‍👩‍👧🏽🇫🇷1️⃣ 😀x", k=3000))
    thai = "ห้องสมุดเล็กๆของเมืองมีเพียงสามห้องแต่เก็บหนังสือของคนหลายรุ่นเอาไว้" * 20
    spaced = b"".join(draw.choice([b" ", b"\n", b"\t", b"x", b"\xc2\xa0"]) for _ in range(9000))
    texts = [*TEXTS, emoji, thai, spaced, b" " * 9000, draw.randbytes(9000), "中" * 3000] * 2
    texts += [draw.randbytes(draw.randrange(40)) for _ in range(500)]
    transport = simulated(shape)
    with Device(transport) as device:
        for name in ("gpt2", "cl100k_base"):
            tok = zeton.pretrained(name)
            device.load(tok)
            for gap, stall in ((0, 0), (85, 60)):
                transport.regime(gap, stall, seed=3)
                assert device.encode_batch(texts) == [tok.encode(text) for text in texts]
            transport.regime()


def test_threads_share_a_device(device: Device) -> None:
    texts = [f"text {number} of {number % 7} threads" for number in range(60)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(device.encode, texts)) == trained().encode_batch(texts)


def test_a_card_that_failed_can_be_loaded_again(device: Device, link: Faulty) -> None:
    link.spoil = interrupt
    with pytest.raises(KeyboardInterrupt):
        device.encode("low")
    link.heal()
    device.load(other := zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    assert device.encode("low") == other.encode("low")


def test_refuses_what_makes_no_sense() -> None:
    card = ReferenceTransport(configuration("small"))
    with pytest.raises(ValueError, match="fallback is 'hardware'; give 'software', True or False"):
        Device(card, fallback="hardware")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="timeout is 0; give seconds greater than 0"):
        Device(card, timeout=0)
    with Device(card) as device:
        with pytest.raises(TypeError, match="load takes a Tokenizer, not str"):
            device.load("gpt2")  # type: ignore[arg-type]
        with pytest.raises(DeviceError, match="the card has no tables; call load"):
            device.tokens()
    with pytest.raises(DeviceError, match="the device is closed; open it again"):
        device.encode("low")


def test_a_device_is_closed_when_others_have_what_they_wait_for() -> None:
    """A simulated card that is let go while it runs would take the process with it."""
    is_asked, may_answer, calls = threading.Event(), threading.Event(), list[str]()

    class Slow(ReferenceTransport):
        def receive(self, words_max: int, timeout: float) -> Words:
            is_asked.set()
            assert may_answer.wait(60)
            calls.append("received")
            return super().receive(words_max, timeout)

        def close(self) -> None:
            calls.append("closed")

    device = Device(Slow(SHAPE))
    device.load(trained())
    with ThreadPoolExecutor(2) as pool:
        found = pool.submit(device.encode, "low")
        assert is_asked.wait(60)
        closing = pool.submit(device.close)
        time.sleep(0.05)
        may_answer.set()
        assert found.result() == trained().encode("low")
        closing.result()
    assert calls == ["received", "closed"]


@pytest.mark.parametrize("options", [{"fallback": "hardware"}, {"timeout": -1.0}])
def test_what_is_refused_lets_the_card_go(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    closed: list[bool] = []
    monkeypatch.setattr(ReferenceTransport, "close", lambda _: closed.append(True))
    with pytest.raises(ValueError, match=r"fallback is|timeout is"):
        accel.open("reference", config="small", **options)
    assert closed == [True]
