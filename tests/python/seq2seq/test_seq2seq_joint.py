"""Joint n-grams: the alignment finds the right units, and probabilities equal a slow count."""

import math
import random
from collections import Counter, defaultdict
from pathlib import Path

import pytest

import zeton

torch = pytest.importorskip("torch", reason="torch is not installed; `make torch` does it")

from zeton import seq2seq  # noqa: E402 - it needs torch.
from zeton.errors import FormatError  # noqa: E402
from zeton.seq2seq import JointNgrams, Pair, Tokens  # noqa: E402
from zeton.seq2seq.joint_ngrams import _by_length  # noqa: E402

torch.set_num_threads(1)

BYTES = Tokens.of(*[zeton.Tokenizer({bytes([byte]): byte for byte in range(256)})] * 2)
SOUNDS = {"a": "A", "b": "B", "x": "KS", "ph": "F", "h": "", "t": "T"}
"""A script of its own: x is two sounds, ph is one, h alone is silent."""


def spoken(count: int) -> list[Pair]:
    draw = random.Random(count)
    rows = [draw.choices(list(SOUNDS), k=draw.randint(1, 6)) for _ in range(count)]
    return [Pair("".join(row), "".join(SOUNDS[each] for each in row)) for row in rows]


PAIRS = spoken(150)


def units(joint: JointNgrams, pair: Pair) -> list[int]:
    ((_, rows),) = _by_length([pair], BYTES)
    found: list[int] = joint.alignment.units_of(rows)[0].tolist()
    return found


def test_each_letter_stands_for_its_sounds() -> None:
    joint = JointNgrams.learn(PAIRS, BYTES, order=2)
    alone = {
        letter: units(joint, Pair(letter, sound))
        for letter, sound in (*SOUNDS.items(), ("p", "F"))
        if len(letter) == 1
    }
    together = units(joint, Pair("xhphat", "KSFAT"))
    assert together == [alone[letter][0] for letter in "xhphat"]
    new = len(joint.alignment.units)
    assert units(joint, Pair("ab", "AZ")) == [alone["a"][0], new]


def discounts(counts: dict[tuple[str, ...], int]) -> list[float]:
    times = Counter(counts.values())
    n1, n2, n3, n4 = (max(times[count], 1) for count in range(1, 5))
    share = n1 / (n1 + 2 * n2)
    given = [1 - 2 * share * n2 / n1, 2 - 3 * share * n3 / n2, 3 - 4 * share * n4 / n3]
    return [0.0, *(min(max(each, 0.1), at) for at, each in enumerate(given, 1))]


def naive(joint: JointNgrams, pairs: list[Pair], order: int) -> dict[Pair, float]:
    """Say how likely pairs are by n-grams in dictionaries, as Chen and Goodman write them down."""

    def row(pair: Pair) -> list[str]:
        return ["<", *map(str, units(joint, pair)), ">"]

    def grams(row: list[str], length: int) -> list[tuple[str, ...]]:
        return [tuple(row[at - length : at]) for at in range(max(length, 2), len(row) + 1)]

    rows = [row(pair) for pair in PAIRS if pair.source]
    met = [Counter(gram for each in rows for gram in grams(each, n)) for n in range(order + 2)]
    counts: list[dict[tuple[str, ...], int]] = [{}]
    for n in range(1, order + 1):
        after = Counter(gram[1:] for gram in met[n + 1])
        own = {gram: met[n][gram] if gram[0] == "<" else after[gram] for gram in met[n]}
        counts.append(dict(met[n]) if n == order else own)

    taken = [discounts(each) for each in counts]
    followers: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for n in range(1, order + 1):
        for gram in counts[n]:
            followers[gram[:-1]].append(gram)

    def likely(gram: tuple[str, ...]) -> float:
        if not gram:
            return 1 / (len(joint.alignment.units) + 2)
        n, below = len(gram), likely(gram[1:])
        total = sum(counts[n][each] for each in followers[gram[:-1]])
        if not total:
            return below
        rest = sum(taken[n][min(counts[n][each], 3)] for each in followers[gram[:-1]]) / total
        count = counts[n].get(gram, 0)
        return (count - taken[n][min(count, 3)]) / total + rest * below

    found = {}
    for pair in pairs:
        each = row(pair)
        steps = [likely(tuple(each[max(at - order, 0) : at])) for at in range(2, len(each) + 1)]
        found[pair] = sum(map(math.log, steps))
    return found


@pytest.mark.parametrize("order", [1, 2, 3, 5, 20])
def test_the_counts_are_those_made_by_hand(order: int) -> None:
    joint = JointNgrams.learn(PAIRS, BYTES, order=order)
    asked = [*spoken(40), Pair("ab", "BA"), Pair("ttt", "TTAA"), Pair("q", "Z"), Pair("", "")]
    expected = naive(joint, asked, order)
    found = dict(zip(asked, joint.log_probabilities(asked), strict=True))
    assert found == pytest.approx(expected)


def test_a_right_answer_is_likelier_than_a_wrong_one() -> None:
    joint = JointNgrams.learn(PAIRS, BYTES)
    right, wrong, longer = joint.log_probabilities(
        [Pair("phax", "FAKS"), Pair("phax", "FAS"), Pair("phax", "FAKSFAKSF")]
    )
    assert right > wrong > longer
    assert math.isfinite(longer)
    assert joint.log_probabilities([]) == []


def test_what_was_saved_says_the_same(tmp_path: Path) -> None:
    joint = JointNgrams.learn(PAIRS, BYTES, order=3)
    file = joint.save(tmp_path / "joint.safetensors")
    again = JointNgrams.load(file, BYTES)
    other = JointNgrams.learn(PAIRS, BYTES, order=3).save(tmp_path / "again.safetensors")
    assert other.read_bytes() == file.read_bytes()
    assert again.log_probabilities(PAIRS) == joint.log_probabilities(PAIRS)
    (tmp_path / "other").write_bytes(b"no tensors")
    with pytest.raises(FormatError, match="is no file of joint n-grams"):
        JointNgrams.load(tmp_path / "other", BYTES)


def test_refuses_pairs_that_cannot_be_aligned() -> None:
    with pytest.raises(seq2seq.PairsError, match="every answer has more than 2 ids per id"):
        JointNgrams.learn([Pair("a", "AAA")], BYTES)
    with pytest.raises(seq2seq.Seq2SeqError, match="order is 0"):
        JointNgrams.learn(PAIRS, BYTES, order=0)
