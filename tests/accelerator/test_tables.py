"""The tables of a card agree with the tokenizer: classes, split, bridges and pairs."""

import itertools
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import zeton
from support.paths import SHARED, needs_shared
from support.strategies import BYTES, patterns
from zeton._engine import encode_piece
from zeton.accel import CONFIGURATIONS, Configuration, FitError, ShapeError, configuration
from zeton.accel.configuration import BANKS
from zeton.accel.reference import Lane
from zeton.accel.tables.hashes import hash_many, hash_one
from zeton.accel.tables.image import Table, make_image, measure_sizes
from zeton.accel.tables.image_cache import load_image
from zeton.accel.tables.pairs import make_banks, read_pairs
from zeton.cli.options.samples import SAMPLES
from zeton.pattern.grammar import CUT_HERE, CUT_MARK_0, CUT_MARK_1, SET_MARK_0, SET_MARK_1
from zeton.tiktoken.load import load_tiktoken_bpe

THAI = (
    "ห้องสมุดเล็กๆของเมืองมีเพียงสามห้องแต่เก็บหนังสือของคนหลายรุ่นเอาไว้ทุกเย็นที่ฝนตก"
    "บรรณารักษ์ชราจะชงชาหนึ่งกาแล้วนั่งลงข้างหน้าต่างรอคนมาคืนหนังสือ"
)
VOCABS = [
    "trained",
    "gpt2",
    "cl100k_base",
    pytest.param("o200k_base", marks=pytest.mark.long),
]
FAMILY = ["gpt2", "cl100k", "o200k", "nanochat"]


@cache
def trained() -> zeton.Tokenizer:
    """Train a small vocabulary on many languages, with tokens that begin and end in characters."""
    return zeton.train([text.decode() for text in SAMPLES.values()] + [THAI], vocab_size=1500)


@cache
def named(name: str) -> tuple[zeton.Tokenizer, Configuration]:
    if name == "trained":
        return trained(), CONFIGURATIONS["small"]
    large = name.startswith("o200k")
    return zeton.pretrained(name), CONFIGURATIONS["large" if large else "default"]


@cache
def loaded(name: str) -> dict[int, NDArray[np.uint64]]:
    """Make the image of a tokenizer, and read its tables out of its words."""
    return read(make_image(*named(name)))


def read(image: bytes) -> dict[int, NDArray[np.uint64]]:
    """Read tables out of the words of an image, each entry of which must be there once."""
    words = np.frombuffer(image, "<u8")
    tables = {}
    for select in np.unique(words >> np.uint64(60)).tolist():
        mine = words[words >> np.uint64(60) == select]
        addresses = mine >> np.uint64(40) & np.uint64(0xFFFFF)
        assert sorted(addresses.tolist()) == list(range(len(mine)))
        table = np.zeros(len(mine), np.uint64)
        table[addresses] = mine & np.uint64((1 << 40) - 1)
        tables[select] = table
    return tables


# ---- images ----


@pytest.mark.parametrize("name", VOCABS)
def test_an_image_has_every_entry_of_every_table_once(name: str) -> None:
    shape = named(name)[1]
    sizes = {table: len(entries) for table, entries in loaded(name).items()}
    banks = {Table.PAIRS + bank: 1 << shape.bank_bits for bank in range(BANKS)}
    expected = {
        Table.BLOCKS: 4096,
        Table.CLASSES: 32768,
        Table.SPLIT: 2048,
        Table.BRIDGES: (1 << shape.bridge_bits) // 32,
        Table.BYTES: 256,
        Table.OPTIONS: 1,
    }
    assert sizes == {int(table): size for table, size in (expected | banks).items()}


def test_what_was_loaded_before_is_gone() -> None:
    lane, fresh = Lane(CONFIGURATIONS["small"]), Lane(CONFIGURATIONS["small"])
    second = make_image(zeton.Tokenizer(BYTES, pattern=patterns()["gpt2"]), fresh.configuration)
    lane.load(make_image(trained(), lane.configuration))
    lane.load(second)
    fresh.load(second)
    assert lane.tables == fresh.tables


def test_an_image_is_the_same_every_time() -> None:
    tok, shape = named("trained")
    again = zeton.Tokenizer(dict(reversed(tok.ranks().items())), pattern=tok.pattern)
    assert make_image(tok, shape) == make_image(again, shape)


# ---- classes ----


@pytest.mark.parametrize("name", FAMILY)
def test_every_code_point_has_its_class(name: str) -> None:
    tok = zeton.Tokenizer(BYTES, pattern=patterns()[name])
    assert tok.grammar is not None
    tables = read(make_image(tok, CONFIGURATIONS["small"]))
    points = np.arange(0x110000)
    others = np.full(len(points), 2560)
    index = np.select(
        [points < 0x40000, points >> 16 == 14],
        [points >> 7, 2048 + (points & 0xFFFF) // 128],
        others,
    )
    block = tables[Table.BLOCKS][index].astype(np.int64)
    classes = tables[Table.CLASSES][block * 128 + points % 128]
    assert classes.astype(np.uint8).tobytes() == tok.grammar.transducer.class_of


# ---- split ----


def cuts_by_table(tables: dict[int, NDArray[np.uint64]], strings: NDArray[np.int64]) -> Any:
    """Run the split table over all strings of classes at once; bit i is a cut after character i."""
    table = tables[Table.SPLIT].astype(np.int64)
    count, length = strings.shape
    state, cuts = np.zeros(count, np.int64), np.zeros(count, np.int64)
    marks = np.zeros((2, count), np.int64)
    end = np.full((count, 1), int(tables[Table.OPTIONS][0]) & 31)
    for at, classes in enumerate(np.concatenate([strings, end], axis=1).T):
        step = table[state * 32 + classes]
        state, actions = step & 63, step >> 6
        for action, places in ((CUT_MARK_0, marks[0]), (CUT_MARK_1, marks[1])):
            cuts |= np.where(actions & action, 1 << places, 0)
        cuts |= np.where(actions & CUT_HERE, 1 << at, 0)
        marks[0] = np.where(actions & SET_MARK_0, at + 1, marks[0])
        marks[1] = np.where(actions & SET_MARK_1, at, marks[1])
    assert not np.any(cuts & 1), "a piece is empty"
    assert np.all(cuts >> length == 1), "the last piece does not end with its text"
    return cuts


def cuts_by_engine(tok: zeton.Tokenizer, texts: list[bytes], ends: Any) -> Any:
    """Split texts with characters that end at `ends`; cuts equal the engine's."""
    pieces = list(map(tok.split, texts))
    counts = np.fromiter(map(len, pieces), np.int64, len(pieces))
    sizes = np.fromiter(map(len, itertools.chain.from_iterable(pieces)), np.int64, counts.sum())
    starts = np.concatenate([[0], np.cumsum(ends[:-1, -1])])
    places = np.cumsum(sizes) - np.repeat(starts, counts)
    at_bytes = np.bitwise_or.reduceat(1 << places, np.cumsum(counts) - counts)
    cuts = np.zeros(len(texts), np.int64)
    for at, place in enumerate(ends.T, 1):
        cuts |= (at_bytes >> place & 1) << at
        at_bytes &= ~(1 << place)
    assert not np.any(at_bytes), "a piece ends inside a character"
    return cuts


def class_strings(count: int, length: int) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
    """Yield all strings of so many classes: their first ones, and all ends that these may have."""
    for size in range(1, length + 1):
        shape = (count,) * min(size, 4)
        ends = np.stack(np.unravel_index(np.arange(count ** len(shape)), shape), axis=1)
        for first in itertools.product(range(count), repeat=size - len(shape)):
            yield first, ends


def check_split(name: str, length: int, which: int) -> None:
    """Split all strings up to a length; a class is spelled by its first character, or its last."""
    tok = zeton.Tokenizer(BYTES, pattern=patterns()[name])
    assert tok.grammar is not None
    tables, transducer = read(make_image(tok, CONFIGURATIONS["small"])), tok.grammar.transducer
    class_of = np.frombuffer(transducer.class_of, np.uint8)
    count = len(transducer.next[0]) - 1
    assert transducer.class_of_end == count
    points = [np.flatnonzero(class_of == each) for each in range(count)]
    scalars = [each[(each < 0xD800) | (each > 0xDFFF)] for each in points]
    characters = [chr(each[which]).encode() for each in scalars]
    if which:
        characters[transducer.class_of_bad_byte] = b"\xff"
    widths = np.array(list(map(len, characters)))
    for first, ends in class_strings(count, length):
        start = b"".join(characters[each] for each in first)
        spelled = map(b"".join, itertools.product(characters, repeat=ends.shape[1]))
        strings = np.concatenate([np.tile(first, (len(ends), 1)).astype(np.int64), ends], axis=1)
        by_engine = cuts_by_engine(
            tok, [start + each for each in spelled], np.cumsum(widths[strings], axis=1)
        )
        wrong = np.flatnonzero(cuts_by_table(tables, strings) != by_engine)
        assert not wrong.size, [characters[each] for each in strings[wrong[0]]]


@pytest.mark.parametrize("which", [0, -1])
@pytest.mark.parametrize(("name", "length"), [("gpt2", 5), ("cl100k", 5), ("o200k", 4)])
def test_the_split_is_that_of_the_engine(name: str, length: int, which: int) -> None:
    check_split(name, length, which)


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILY)
@pytest.mark.timeout(1800)
def test_the_split_is_that_of_the_engine_on_all_strings_of_six_classes(name: str) -> None:
    check_split(name, 6, 0)


# ---- bridges ----


def texts_of(name: str) -> Iterator[bytes]:
    yield from (SAMPLES["Chinese"], THAI.encode(), SAMPLES["Korean"], SAMPLES["science"])
    tokens, draw = [*named(name)[0].ranks()], random.Random(5)
    for _ in range(300):
        yield b"".join(draw.choices(tokens, k=4))


@pytest.mark.parametrize("name", VOCABS)
def test_parts_merge_alone_as_they_do_together(name: str) -> None:
    tok, shape = named(name)
    lane = Lane(shape)
    lane.load(make_image(tok, shape))
    ranks, cut = tok.ranks(), 0
    for text in texts_of(name):
        for piece in tok.split(text):
            parts = list(lane.parts(piece))
            assert b"".join(parts) == piece
            ids = [id_ for part in parts for id_ in encode_piece(tok, part)]
            assert ids == encode_piece(tok, piece)
            for border in itertools.accumulate(map(len, parts[:-1])):
                cut += 1
                assert not crossing(piece, border, ranks), (piece, border)
    assert cut > 200


def crossing(piece: bytes, border: int, ranks: dict[bytes, int]) -> list[bytes]:
    """List all tokens of a piece that reach over a border in it."""
    spans = itertools.product(range(border), range(border + 1, len(piece) + 1))
    return [piece[start:end] for start, end in spans if piece[start:end] in ranks]


@pytest.mark.parametrize("seed", range(8))
def test_random_tokens_are_never_cut(seed: int) -> None:
    draw = random.Random(seed)
    letters = [letter.encode() for letter in "aé中文語😀"]
    tokens = dict.fromkeys(letter for letter in letters if len(letter) > 1)
    while len(tokens) < 40:
        spelled = b"".join(draw.choices(letters, k=draw.randint(1, 3)))
        start = draw.randrange(min(3, len(spelled)))
        tokens[spelled[start : len(spelled) - draw.randrange(min(3, len(spelled) - start))]] = None
    learned = [token for token in tokens if len(token) > 1]
    draw.shuffle(learned)
    tok = all_reached(learned)
    lane = Lane(CONFIGURATIONS["small"])
    lane.load(make_image(tok, lane.configuration))
    for _ in range(200):
        piece = b"".join(draw.choices([*letters, b"\xe4", b"\xb8\xad", b"\xff"], k=8))
        ids = [id_ for part in lane.parts(piece) for id_ in lane.merge(part)]
        assert ids == encode_piece(tok, piece), piece


def all_reached(tokens: list[bytes]) -> zeton.Tokenizer:
    """Make a tokenizer of the tokens that merges reach, in this order."""
    while True:
        ranks = BYTES | {token: 256 + at for at, token in enumerate(tokens)}
        tok = zeton.Tokenizer(ranks)
        reached = set(tok.merges().values())
        left = [token for token in tokens if ranks[token] in reached]
        if left == tokens:
            return tok
        tokens = left


# ---- pairs ----


def look_up(tables: dict[int, NDArray[np.uint64]], shape: Configuration, pairs: Any) -> Any:
    """Look pairs up as the card does: the merged id, or -1; no two banks may answer."""
    left, right = pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)
    low = np.uint64(shape.id_bits - shape.bank_bits)
    tags = left << low | right & ((np.uint64(1) << low) - np.uint64(1))
    found, hits = np.full(len(pairs), -1), np.zeros(len(pairs), np.int64)
    for bank in range(BANKS):
        index = right >> low ^ hash_many(bank, shape.bank_bits, tags, shape.tag_bits)
        entries = tables[Table.PAIRS + bank][index]
        valid = entries >> np.uint64(shape.id_bits) == tags | np.uint64(1 << shape.tag_bits)
        found[valid] = (entries[valid] & np.uint64((1 << shape.id_bits) - 1)).astype(np.int64)
        hits += valid
    assert hits.max() <= 1
    return found


@pytest.mark.parametrize("name", VOCABS)
def test_every_merge_is_found_and_a_million_others_are_not(name: str) -> None:
    tok, shape = named(name)
    merges = tok.merges()
    pairs, ids = np.array(list(merges)), np.array(list(merges.values()))
    assert np.array_equal(look_up(loaded(name), shape, pairs), ids)
    draw = np.random.default_rng(7)
    every = np.array(list(tok.ranks().values()))
    lefts, rights = draw.choice(pairs[:, 0], 1 << 20), draw.choice(pairs[:, 1], 1 << 20)
    flipped = pairs ^ np.stack([np.zeros(len(pairs), int), 1 << draw.integers(0, 8, len(pairs))], 1)
    tried = [
        draw.choice(every, (1 << 20, 2)),
        np.stack([lefts, rights], 1),
        pairs[:, ::-1],
        flipped,
        np.stack([pairs[:, 0], np.roll(pairs[:, 1], 1)], 1),
    ]
    others = np.concatenate(tried)
    known = set((pairs[:, 0] << 32 | pairs[:, 1]).tolist())
    keys = others[:, 0] << 32 | others[:, 1]
    others = others[~np.isin(keys, np.fromiter(known, np.int64))]
    assert len(others) > 1_000_000
    assert np.all(look_up(loaded(name), shape, others) == -1)


@pytest.mark.parametrize("name", ["trained", "cl100k_base"])
def test_the_pairs_can_be_read_back(name: str) -> None:
    tok, shape = named(name)
    back: dict[tuple[int, int], int] = {}
    for bank in range(BANKS):
        back |= read_pairs(bank, loaded(name)[Table.PAIRS + bank], shape)
    assert back == tok.merges()


def test_one_value_hashes_as_many_do() -> None:
    draw = random.Random(3)
    values = [draw.getrandbits(42) for _ in range(500)]
    for function, bits in ((0, 15), (3, 11), (8, 16), (9, 18)):
        many = hash_many(function, bits, np.array(values, np.uint64), 42)
        assert many.tolist() == [hash_one(function, bits, value) for value in values]


def test_a_bank_is_filled_to_the_last_place_that_can_be() -> None:
    # With ids of one bit more than an index has, pairs fill a table up to about 0.97 of it.
    shape = Configuration(id_bits=12, bank_bits=9)
    draw = random.Random(1)
    pairs = {(draw.randrange(4096), draw.randrange(4096)): at for at in range(1945)}
    banks = make_banks(pairs, shape)
    held = [read_pairs(bank, entries, shape) for bank, entries in enumerate(banks)]
    assert {pair: id_ for each in held for pair, id_ in each.items()} == pairs
    assert sum(map(len, held)) == len(pairs) > 0.94 * shape.pairs_max


# ---- tokenizers that do not fit ----


def refusal(tok: zeton.Tokenizer, shape: Configuration) -> str:
    with pytest.raises(FitError) as refused:
        make_image(tok, shape)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_says_how_large_ids_and_pairs_are() -> None:
    said = refusal(zeton.pretrained("o200k_base"), Configuration())
    assert "largest id is 199,997, which needs 18 bits; the card's ids have 17" in said
    assert "199,742 pairs; the card holds 131,072" in said


def test_refuses_pairs_that_find_no_place() -> None:
    shape = Configuration(id_bits=12, bank_bits=4)
    tok = zeton.train(["the cat sat on the mat, and the dog on the log"] * 3, vocab_size=256 + 20)
    make_image(tok, shape)
    said = refusal(trained(), shape)
    assert f"{len(trained().merges()):,} pairs; the card holds 64" in said
    full = {(3 * at % 4096, 17 * at % 4096): at for at in range(64)}
    with pytest.raises(FitError, match="its 64 merges do not fit into 4 banks of 16"):
        make_banks(full, shape)


def test_names_tokens_that_no_merge_reaches() -> None:
    tok = zeton.Tokenizer(BYTES | {b"ab": 256, b"wxyz": 257, b"pqrs": 258})
    said = refusal(tok, Configuration())
    assert "merges do not make 2 of its tokens (b'wxyz', b'pqrs')" in said
    many = BYTES | {bytes([at, 0, 0, 0]): 300 + at for at in range(9)}
    assert "merges do not make 9 of its tokens (" in refusal(zeton.Tokenizer(many), Configuration())


def test_refuses_a_pattern_outside_the_family() -> None:
    said = refusal(zeton.Tokenizer(BYTES, pattern=r"\w+|\W"), Configuration())
    assert "outside the family of gpt2, cl100k_base and o200k_base" in said


def test_refuses_rules_that_no_transducer_expresses() -> None:
    said = refusal(zeton.Tokenizer(BYTES, rules=zeton.rules.code()), Configuration())
    assert said.startswith("its rules need more than a transducer with two marks")


def test_refuses_a_split_that_is_a_function() -> None:
    tok: Any = zeton.train(["one two"], vocab_size=257, split=lambda text: text.partition(" "))
    with pytest.raises(FitError, match="a Python function, which no card can run"):
        load_image(tok, Configuration())


def changed(monkeypatch: pytest.MonkeyPatch, **values: Any) -> zeton.Tokenizer:
    """Return a tokenizer that says another transducer than its own."""
    tok = trained()
    assert tok.grammar is not None
    grammar = replace(tok.grammar, transducer=replace(tok.grammar.transducer, **values))
    monkeypatch.setattr(zeton.Tokenizer, "grammar", grammar)
    return tok


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"states": ("",) * 65, "next": (bytes(12),) * 65, "actions": (bytes(12),) * 65},
            "65 states; the card has 64",
        ),
        (
            {"next": (bytes(33),) * 20, "actions": (bytes(33),) * 20},
            "33 classes of characters; the card has 32",
        ),
        (
            {"class_of": b"".join(bytes(at) + b"\1" + bytes(127 - at) for at in range(128)) * 68},
            "code points of planes 4 to 13, 15 and 16 classes of their own",
        ),
        (
            {
                "class_of": b"".join(
                    bytes([1, at >> 6, at & 63, 0]) * 32 for at in range(0x110000 // 128)
                )
            },
            "8704 different blocks of 128 code points; the card has 256",
        ),
    ],
)
def test_refuses_what_its_tables_cannot_hold(
    values: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {
        name: value[:0x110000] if isinstance(value, bytes) else value
        for name, value in values.items()
    }
    assert said in refusal(changed(monkeypatch, **values), CONFIGURATIONS["small"])


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"lanes": 17}, "lanes is 17; give a whole number from 1 to 16"),
        ({"units": 0}, "units is 0; give a whole number from 1 to 64"),
        ({"slots": 24}, "slots is 24, not a power of two"),
        ({"id_bits": 15, "bank_bits": 16}, "bank_bits is 16, more than id_bits (15)"),
        ({"id_bits": 19}, "id_bits 19 with bank_bits 15 makes entries of 43 bits"),
        ({"id_bits": 20}, "id_bits is 20; give a whole number from 9 to 19"),
        ({"slots": 64}, "wide_slots is 32, less than slots (64)"),
        ({"colour": 1}, "no parameter 'colour' of a card; known are 'lanes', 'id_bits'"),
    ],
)
def test_refuses_a_card_that_cannot_be_built(parameters: dict[str, int], said: str) -> None:
    with pytest.raises(ShapeError) as refused:
        configuration("default", **parameters)
    assert said in str(refused.value)


def test_refuses_a_configuration_that_has_no_name() -> None:
    with pytest.raises(ShapeError, match="no configuration 'huge'; known are 'default'"):
        configuration("huge")


# ---- vocabularies of other projects ----


@needs_shared
def test_a_vocabulary_with_tokens_that_no_merge_reaches_is_refused_by_name() -> None:
    file = SHARED / "vocabs" / "tiktoken" / "llama3.tokenizer.model"
    tok = zeton.Tokenizer(load_tiktoken_bpe(str(file)), pattern=patterns()["llama3"])
    said = refusal(tok, CONFIGURATIONS["large"])
    assert re.search(r"merges do not make \d+ of its tokens", said)


@needs_shared
@pytest.mark.long
def test_qwen_fits() -> None:
    file = SHARED / "vocabs" / "tiktoken" / "qwen.tiktoken"
    tok = zeton.Tokenizer(load_tiktoken_bpe(str(file)), pattern=patterns()["qwen"])
    assert measure_sizes(tok)["pairs"] == 151_387
    assert read(make_image(tok, CONFIGURATIONS["large"]))
