"""lane against the engine: texts of every sort in, the ids of its tokenizer out."""

import os
import random
import shutil
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.triggers import RisingEdge

import zeton
from rtl.front import Text, draw_texts, text_items
from rtl.front import tokenizer as bytes_only
from rtl.simulation import simulate
from rtl.streams import REGIMES, offer, read_table, reset, seeded, start, take, write_table
from zeton.accel.configuration import Configuration
from zeton.accel.tables.image import Table, make_tables
from zeton.accel.wire.words import DealtBatch, Vocab, read_words

# As small as may be: every queue runs full, and long pieces leave raw in all ways there are.
SMALL = Configuration(
    id_bits=10,
    bank_bits=8,
    units=3,
    slots=8,
    wide_units=1,
    wide_slots=16,
    bridge_bits=10,
    bytes_log=7,
)
MARK = 7 << 24
COUNTS = ["byte", "piece", "bad", "id", "raw", "lookup"]
INPUTS = dict.fromkeys(["text_valid", "word_ready", "table_request"], 0)


def train(pattern: str) -> zeton.Tokenizer:
    """Train a tokenizer on texts that the tests draw."""
    texts = [text for text in draw_texts(random.Random(0), 400) if text]
    trained = zeton.train(texts, vocab_size=600, pattern=bytes_only(pattern).pattern)
    assert isinstance(trained, zeton.Tokenizer)
    return trained


async def watch(dut: Any) -> None:
    """Fail when an output is neither 0 nor 1: no other state, in a simulator that knows more."""
    counts = [getattr(dut, f"count_{name}") for name in COUNTS]
    while True:
        await RisingEdge(dut.clk)
        data = [dut.word_data] if dut.word_valid.value else []
        for signal in (
            dut.word_valid,
            dut.text_ready,
            dut.idle,
            dut.table_response,
            *counts,
            *data,
        ):
            assert set(str(signal.value)) <= {"0", "1"}, f"{signal._name} is {signal.value}"


async def load(dut: Any, tokenizer: zeton.Tokenizer) -> None:
    """Write every entry of every table, and read some back."""
    rng = seeded("load")
    for select, entries in make_tables(tokenizer, SMALL).items():
        await write_table(dut, select, entries.tolist())
        address = rng.randrange(len(entries))
        from_pieces = select < Table.PAIRS and select != Table.BYTES
        latency = 5 if from_pieces else 4
        assert await read_table(dut, select, address, latency) == entries[address]


async def encode(dut: Any, texts: list[Text], gap: float, stall: float) -> list[int]:
    """Give texts to a lane, and take words until its mark comes."""
    words: list[int] = []
    items = [*text_items(texts, seeded("items"))]
    items.append({"byte": 0, "keep": 0, "last": 0, "mark": 1})
    sender = cocotb.start_soon(offer(dut, "text", items, gap))
    taker = cocotb.start_soon(take(dut, "word", stall=stall, into=words))
    marks = sum(text is None for text in texts) + 1
    while words.count(MARK) < marks:
        await RisingEdge(dut.clk)
    await sender
    taker.cancel()
    dut.word_ready.value = 0
    return words


def ids_of(words: list[int], texts: list[Text], tokenizer: zeton.Tokenizer) -> list[list[int]]:
    """Read a lane's words as the host does."""
    known = [text for text in texts if text is not None]
    dealt = DealtBatch(known, b"", (tuple(range(len(known))),))
    own = np.array([word for word in words if word != MARK], np.uint32)
    return read_words(own, dealt, Vocab(tokenizer))


async def check(dut: Any, texts: list[Text], tokenizer: zeton.Tokenizer, regime: str) -> list[int]:
    """Encode texts, and compare all ids, and the place of marks, with the tokenizer's."""
    words = await encode(dut, texts, *REGIMES[regime])
    ids = ids_of(words, texts, tokenizer)
    assert ids == [tokenizer.encode(text) for text in texts if text is not None]
    ended = ["mark" if word == MARK else "text" for word in words if word == MARK or word >> 27]
    assert ended == ["mark" if text is None else "text" for text in texts] + ["mark"]
    return words


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def encodes_as_the_engine_does(dut: Any) -> None:
    tokenizer = train(os.environ["PATTERN"])
    await start(dut, **INPUTS)
    await load(dut, tokenizer)
    if cocotb.SIM_NAME.startswith("Icarus"):
        cocotb.start_soon(watch(dut))
    kinds = set[int]()
    for regime in REGIMES:
        texts = draw_texts(seeded(regime), 60, run_max=600)
        kinds |= {word >> 24 & 7 for word in await check(dut, texts, tokenizer, regime)}
        for _ in range(8):
            await RisingEdge(dut.clk)
        assert dut.idle.value
    assert kinds == {0, 1, 2, 3, 4, 7}


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def starts_anew_after_a_reset_at_any_moment(dut: Any) -> None:
    rng = seeded()
    tokenizer = train(os.environ["PATTERN"])
    await start(dut, **INPUTS)
    await load(dut, tokenizer)
    for _ in range(10):
        begun = [*text_items(draw_texts(rng, 20, run_max=300), rng)]
        sender = cocotb.start_soon(offer(dut, "text", begun, 0.2))
        taker = cocotb.start_soon(take(dut, "word", stall=0.7))
        for _ in range(rng.randrange(400)):
            await RisingEdge(dut.clk)
        sender.cancel()
        taker.cancel()
        dut.text_valid.value, dut.word_ready.value = 0, 0
        await reset(dut, 1)
        await check(dut, draw_texts(rng, 6), tokenizer, "free")


@pytest.mark.long  # Tests of devices, which are not, run lanes too.
@pytest.mark.parametrize("pattern", ["gpt2", "o200k"])
def test_lane(pattern: str) -> None:
    simulate(__name__, "lane", parameters(), environment={"PATTERN": pattern})


@pytest.mark.long
@pytest.mark.timeout(1200)  # A minute of CPU, more than the usual limit on a busy machine.
@pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs Debian's iverilog")
def test_lane_in_four_states() -> None:
    """Icarus knows X: a register without write or reset would reach the words and fail."""
    environment = {"PATTERN": "gpt2"}
    simulate(__name__, "lane", parameters(), simulator="icarus", environment=environment)


def parameters() -> dict[str, int]:
    known = SMALL.parameters()
    return {name: known[name] for name in known if name != "LANES"}
