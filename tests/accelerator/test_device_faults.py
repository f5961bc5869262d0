"""A card that dies or answers nonsense is a typed error; no wrong id is given, no text is lost."""

import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import zeton
from accelerator.cards import (
    SHAPE,
    TEXT,
    Faulty,
    encode,
    expected,
    gone,
    interrupt,
    needs_tools,
    simulated,
    trained,
)
from zeton.accel.device import Device
from zeton.accel.errors import AnswerError, DeviceError, DeviceTimeoutError
from zeton.accel.reference import ReferenceTransport
from zeton.accel.wire.packets import Packet, Words
from zeton.accel.wire.words import Kind


def test_words_may_come_in_any_portions(device: Device, link: Faulty) -> None:
    for words_max in (1, 2, 7):
        link.words_max = words_max
        assert encode(device) == expected([TEXT, "", "two"])


def replaced(at: int, word: int, words: Words) -> Words:
    words = words.copy()
    words[at] = word
    return words


def inserted(at: int, word: int, words: Words) -> Words:
    return np.insert(words, at, np.uint32(word))


def first(kind: Kind, words: Words) -> int:
    """Return where the first word of a kind is."""
    return int(np.flatnonzero(words >> np.uint32(24) & np.uint32(7) == kind)[0])


def at_first(kind: Kind, change: Callable[[int, Words], Words]) -> Callable[[Words], Words]:
    return lambda words: change(first(kind, words), words)


def word_of(words: Words, at: int, kind: Kind, payload: int, *, end: bool = False) -> int:
    """Make a word of the lane that another word is of."""
    return int(words[at]) >> 28 << 28 | end << 27 | kind << 24 | payload


def swap(kind: Kind, other: Kind, payload: int) -> Callable[[Words], Words]:
    """Put another word in place of the first of a kind."""
    return at_first(kind, lambda at, w: replaced(at, word_of(w, at, other, payload), w))


def put(kind: Kind, other: Kind, payload: int) -> Callable[[Words], Words]:
    """Put another word before the first of a kind."""
    return at_first(kind, lambda at, w: inserted(at, word_of(w, at, other, payload), w))


NONSENSE: dict[str, tuple[Callable[[Words], Words], str]] = {
    "another lane": (partial(replaced, 0, 9 << 28), "a word names lane 9; the card has 2"),
    "kind 5": (
        at_first(Kind.ID, lambda at, w: replaced(at, int(w[at]) | 5 << 24, w)),
        "a word inside a batch has kind 5",
    ),
    "an id that is too large": (swap(Kind.ID, Kind.ID, 8000), "a word has id 8000; the largest is"),
    "another id": (swap(Kind.ID, Kind.ID, 700), "the ids of text 0 spell"),
    "another byte": (
        at_first(Kind.BYTE, lambda at, w: replaced(at, int(w[at]) ^ 1, w)),
        "the ids spell other bytes than the texts",
    ),
    "a lost word": (at_first(Kind.ID, lambda at, w: np.delete(w, at)), "the ids of text 0 spell"),
    "a lost end": (
        at_first(Kind.NOTHING, lambda at, w: np.delete(w, at)),
        "texts ended in a batch of",
    ),
    "a second end": (
        at_first(Kind.ID, lambda at, w: replaced(at, int(w[at]) | 1 << 27, w)),
        "texts ended in a batch of",
    ),
    "a word too many": (put(Kind.ID, Kind.ID, 65), "the ids of text 0 spell"),
    "a large byte": (
        swap(Kind.BYTE, Kind.BYTE, 256),
        "the payload of a BYTE word is more than 255",
    ),
    "a lost close": (
        at_first(Kind.CLOSE, lambda at, w: np.delete(w, at)),
        "a raw stretch was not closed|texts ended|words came after",
    ),
    "two closes": (put(Kind.CLOSE, Kind.CLOSE, 0), "a raw stretch begins with CUT or CLOSE"),
    "a cut too far": (put(Kind.CLOSE, Kind.CUT, 42), "is cut beyond its bytes"),
    "a cut at the start": (put(Kind.CLOSE, Kind.CUT, 0), "is cut beyond its bytes"),
    "a cut before bytes": (put(Kind.BYTE, Kind.CUT, 1), "a raw stretch begins with CUT or CLOSE"),
    "an end within bytes": (
        at_first(Kind.BYTE, lambda at, w: replaced(at, int(w[at]) | 1 << 27, w)),
        "texts ended in a batch of|a text ended within a raw stretch",
    ),
    "nothing, and words": (put(Kind.ID, Kind.NOTHING, 0), "the word NOTHING beside other words"),
    "an early end of the batch": (partial(inserted, 3, Kind.BATCH << 24), "texts ended in a batch"),
    "another batch": (lambda w: replaced(-1, int(w[-1]) + 1, w), "ended with the word 0x0700000"),
    "more than was asked for": (
        lambda w: np.append(w, np.uint32(65)),
        "the card sent words after its last batch",
    ),
    "words without end": (
        lambda w: np.tile(w[:1], 1000),
        "1000 words came for a batch, expected at most",
    ),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused_and_a_reset_helps(device: Device, link: Faulty, name: str) -> None:
    spoil, said = NONSENSE[name]
    link.spoil = spoil
    kept = name == "more than was asked for"
    if kept:  # The answers are there, and right.
        assert encode(device) == expected([TEXT, "", "two"])
    with pytest.raises(AnswerError, match=said):
        encode(device)
    link.heal()
    with pytest.raises(AnswerError, match=said):
        device.encode("the card stays as it is until it is reset")
    assert device.info.failure is not None
    device.reset()
    assert device.info.failure is None
    assert encode(device) == expected([TEXT, "", "two"])
    assert device.info.software_texts == 0


def spoiled(draw: random.Random, words: Words) -> Words:
    """Flip a bit of a word, lose a word, double one, or let two change places."""
    if not words.size:
        return words
    at, words = draw.randrange(len(words)), words.copy()
    match draw.randrange(4):
        case 0:
            words[at] ^= np.uint32(1 << draw.randrange(32))
        case 1:
            words = np.delete(words, at)
        case 2:
            words = np.insert(words, at, words[at])
        case _:
            words[[at, at - 1]] = words[[at - 1, at]]
    return words


def test_no_spoiled_word_ends_in_a_wrong_id(device: Device, link: Faulty) -> None:
    texts = [
        "one 中文, the second",
        " " * 300 + "\n" * 300 + "  x",
        "",
        "a" * 50 + "." * 50 + "b" * 40,
    ]
    right, found = expected(texts), 0
    for seed in range(300):
        link.spoil = partial(spoiled, random.Random(seed))
        try:
            assert device.encode_batch(texts) == right
        except DeviceError:
            found += 1
        link.heal()
        device.reset()
    assert found > 200


@pytest.mark.parametrize("name", NONSENSE)
def test_software_takes_over_when_the_card_answers_nonsense(
    safe: Device, link: Faulty, name: str
) -> None:
    link.spoil = NONSENSE[name][0]
    assert encode(safe) == encode(safe) == expected([TEXT, "", "two"])
    link.heal()
    assert encode(safe) == expected([TEXT, "", "two"])
    known = safe.info.software_texts
    assert known >= 3
    safe.reset()
    assert encode(safe) == expected([TEXT, "", "two"])
    assert safe.info.software_texts == known


def silent(words: Words) -> Words:
    return words[:0]


def lost(*_: object) -> Any:
    raise DeviceError("the link is down")


class Later:
    """Does something from the n-th call on."""

    def __init__(self, calls: int, do: Callable[..., Any]) -> None:
        self.calls, self.do = calls, do

    def __call__(self, *given: Any) -> Any:
        self.calls -= 1
        if self.calls < 0:
            return self.do(*given)
        return given[0] if given else None


DEATHS: dict[str, tuple[Callable[[Faulty], None], type[DeviceError], str]] = {
    "silent": (
        lambda link: setattr(link, "spoil", silent),
        DeviceTimeoutError,
        "sent no more words",
    ),
    "silent later": (
        lambda link: setattr(link, "spoil", Later(3, silent)),
        DeviceTimeoutError,
        "sent no more words",
    ),
    "gone": (lambda link: setattr(link, "spoil", gone), DeviceError, "cannot be reached: no such"),
    "gone later": (lambda link: setattr(link, "spoil", Later(3, gone)), DeviceError, "no such"),
    "lost": (lambda link: setattr(link, "spoil", Later(2, lost)), DeviceError, "the link is down"),
    "takes nothing": (lambda link: setattr(link, "on_send", gone), DeviceError, "no such device"),
    "takes little": (lambda link: setattr(link, "on_send", Later(2, gone)), DeviceError, "no such"),
}


@pytest.mark.parametrize("name", DEATHS)
def test_a_card_that_dies_is_an_error_and_a_reset_helps(
    device: Device, link: Faulty, name: str
) -> None:
    kill, kind, said = DEATHS[name]
    batches = [[f"{TEXT} {at}", "", "two"] for at in range(6)]
    link.words_max = 20
    kill(link)
    with pytest.raises(kind, match=said):
        list(device.encode_iter(batches))
    link.heal()
    with pytest.raises(kind, match=said):
        device.encode("anything")
    device.reset()
    assert list(device.encode_iter(batches)) == [expected(batch) for batch in batches]


@pytest.mark.parametrize("name", DEATHS)
def test_no_text_is_lost_when_the_card_dies(safe: Device, link: Faulty, name: str) -> None:
    batches = [[f"{TEXT} {at}", "", "two"] for at in range(6)]
    link.words_max = 20
    DEATHS[name][0](link)
    assert list(safe.encode_iter(batches)) == [expected(batch) for batch in batches]
    info = safe.info
    assert info.failure is not None
    assert info.texts + info.software_texts == 18
    assert info.software_texts > 0


def test_what_interrupts_leaves_the_card_to_be_reset(device: Device, link: Faulty) -> None:
    link.words_max, link.spoil = 3, Later(1, interrupt)
    with pytest.raises(KeyboardInterrupt):
        encode(device)
    link.heal()
    with pytest.raises(DeviceError, match="an exception interrupted a transfer; reset the device"):
        encode(device)
    device.reset()
    assert encode(device) == expected([TEXT, "", "two"])


def test_a_load_that_is_interrupted_leaves_no_tables(device: Device, link: Faulty) -> None:
    other = zeton.Tokenizer({bytes([byte]): byte for byte in range(256)})
    for name in ("on_read", "on_send"):
        setattr(link, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            device.load(other)
        link.heal()
        with pytest.raises(DeviceError, match="the card has no tables; call load"):
            encode(device)
        device.reset()
        device.load(trained())
        assert encode(device) == expected([TEXT, "", "two"])


def test_a_batch_that_is_sent_in_part_leaves_the_card_to_be_reset(
    device: Device, link: Faulty
) -> None:
    link.on_send = interrupt
    with pytest.raises(KeyboardInterrupt):
        encode(device)
    link.heal()
    with pytest.raises(DeviceError, match="an exception interrupted a transfer; reset the device"):
        encode(device)


@pytest.mark.parametrize("raised", [gone, interrupt])
@pytest.mark.parametrize("name", ["on_read", "on_send"])
def test_a_reset_that_fails_leaves_the_card_to_be_reset(
    device: Device, link: Faulty, name: str, raised: Callable[..., Any]
) -> None:
    # Somebody else fills the card.
    Device(link.inner).load(zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    setattr(link, name, raised)
    with pytest.raises((DeviceError, KeyboardInterrupt)):
        device.reset()
    link.heal()
    assert device.info.failure is not None
    with pytest.raises(DeviceError, match=r"no such device|interrupted a transfer"):
        encode(device)
    device.reset()
    assert encode(device) == expected([TEXT, "", "two"])


def test_tells_how_many_bytes_are_done(device: Device, link: Faulty) -> None:
    told: list[int] = []
    device.listener, link.words_max = told.append, 10
    encode(device)
    assert len(told) > 1
    assert sum(told) == len(f"{TEXT}two".encode())


def test_registers_that_do_not_answer_are_an_error(device: Device, link: Faulty) -> None:
    link.on_read = gone
    for ask in (device.counters, device.tokens, device.reset):
        with pytest.raises(DeviceError, match="the card cannot be reached: no such device"):
            ask()
    link.heal()
    device.reset()
    assert encode(device) == expected([TEXT, "", "two"])


def test_what_was_on_its_way_is_lost_by_a_reset(device: Device) -> None:
    batches = device.encode_iter([[f"text {at}"] for at in range(9)], in_flight=4)
    assert next(batches) == expected(["text 0"])
    device.reset()
    with pytest.raises(DeviceError, match="the card was reset before it sent the ids"):
        next(batches)
    assert device.encode("after") == trained().encode("after")


@pytest.mark.parametrize("at", [0, 9_999, -1])
def test_tables_that_were_spoiled_on_their_way_are_found_out(at: int) -> None:
    class Spoiling(ReferenceTransport):
        spoils = False

        def send(self, packet: Packet) -> None:
            content = np.frombuffer(packet, "<u8").copy()
            if self.spoils:
                content[at] ^= np.uint64(1)
            super().send(content.tobytes())

    link = Spoiling(SHAPE)
    with Device(link) as device:
        device.load(trained())
        device.verify()
        device.load(zeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
        link.spoils = True
        device.load(trained())
        for _ in range(2):
            with pytest.raises(AnswerError, match="differ from the loaded image; reset the device"):
                device.verify()
        with pytest.raises(AnswerError, match="differ from the loaded image"):
            encode(device)
        link.spoils = False
        device.reset()
        device.verify()
        assert encode(device) == expected([TEXT, "", "two"])


@needs_tools
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_tables_are_read_back_while_texts_are_on_their_way() -> None:
    with Device(simulated()) as device:
        device.load(trained())
        batches = device.encode_iter([[f"text {at}"] for at in range(6)], in_flight=4)
        assert next(batches) == expected(["text 0"])
        device.verify()
        assert list(batches) == [expected([f"text {at}"]) for at in range(1, 6)]
