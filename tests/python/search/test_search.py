"""Finders find what a naive search and regexes find, in texts, bytes and ids."""

import array
import mmap
import pickle
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from zeton import Error
from zeton.errors import SearchError
from zeton.search import Finder, FinderMany, Match

if TYPE_CHECKING:
    from zeton.search.needle import Text

# Letters that are alike, words, marks, what is longer folded, and a lone surrogate.
LETTERS = "aAbBkK\u212asS\u017fßẞéÉσς_-  1中ไ\u0301\ud800😀"
ALIKE = "aAkK\u212asS\u017fßéÉ_- 1中\u0301"
small = st.text(alphabet="ab", max_size=80)
small_needles = st.text(alphabet="ab", min_size=1, max_size=6)
wide = st.text(alphabet=LETTERS, max_size=80)
wide_needles = st.text(alphabet=LETTERS, min_size=1, max_size=4)


def naive(needle: Sequence[object], text: Sequence[object]) -> list[int]:
    """Look at every place."""
    size = len(needle)
    return [at for at in range(len(text) - size + 1) if text[at : at + size] == needle]


def apart(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Keep those that begin after the end of the one kept before."""
    kept: list[tuple[int, int]] = []
    for start, end in spans:
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def spans_by_regex(
    needle: str, text: str, *, whole_word: bool, ignore_case: bool
) -> list[tuple[int, int]]:
    """Find overlapping matches; `regex` folds as the crate does where it is told to be simple."""
    pattern = regex.escape(needle, special_only=True)
    if whole_word:
        pattern = rf"(?<!\w){pattern}(?!\w)"
    flags = regex.V0 | (regex.IGNORECASE if ignore_case else 0)
    found = regex.compile(pattern, flags).finditer(text, overlapped=True)
    return [match.span() for match in found]


@given(small_needles, small)
def test_every_place_is_found_both_ways(needle: str, text: str) -> None:
    places = naive(needle, text)
    spans = [(at, at + len(needle)) for at in places]
    both: list[tuple[Text, Text]] = [(needle, text), (needle.encode(), text.encode())]
    for wanted, searched in both:
        finder = Finder(wanted)
        assert list(finder.find_all(searched, overlapping=True)) == places
        assert list(finder.find_all(searched, overlapping=True, from_end=True)) == places[::-1]
        assert list(finder.find_all(searched)) == [start for start, _ in apart(spans)]
        assert finder.count(searched, overlapping=True) == len(places)
        assert finder.count(searched) == text.count(needle)
        assert finder.find(searched) == text.find(needle)
        assert finder.rfind(searched) == text.rfind(needle)


@given(small_needles, small, st.integers(-90, 90), st.none() | st.integers(-90, 90))
def test_a_stretch_is_searched_as_by_str(needle: str, text: str, start: int, end: int) -> None:
    finder = Finder(needle)
    assert finder.find(text, start=start, end=end) == text.find(needle, start, end)
    assert finder.rfind(text, start=start, end=end) == text.rfind(needle, start, end)


@given(wide_needles, wide, st.integers(0, 90))
def test_places_are_those_of_characters(needle: str, text: str, start: int) -> None:
    finder = Finder(needle)
    places = naive(needle, text)
    assert list(finder.find_all(text, overlapping=True)) == places
    assert list(finder.find_all(text, overlapping=True, from_end=True)) == places[::-1]
    assert finder.find(text, start=start) == text.find(needle, start)
    assert finder.replace(text, new="éx") == text.replace(needle, "éx")
    assert finder.replace(text, new="", count=1) == text.replace(needle, "", 1)


@given(
    needle=st.text(alphabet=ALIKE, min_size=1, max_size=4),
    text=st.text(alphabet=ALIKE, max_size=60),
    whole_word=st.booleans(),
    ignore_case=st.booleans(),
)
def test_words_and_case_are_those_of_regexes(
    needle: str, text: str, *, whole_word: bool, ignore_case: bool
) -> None:
    finder = Finder(needle, whole_word=whole_word, ignore_case=ignore_case)
    spans = spans_by_regex(needle, text, whole_word=whole_word, ignore_case=ignore_case)
    assert list(finder.spans(text, overlapping=True)) == spans
    assert list(finder.spans(text)) == apart(spans)
    many = FinderMany([needle], whole_word=whole_word, ignore_case=ignore_case)
    assert [(start, end) for start, end, _ in many.find_all(text)] == apart(spans)


def test_whole_words_equal_word_borders_where_the_needle_has_them() -> None:
    text = "cat concat cat's cat_s cats (cat) CAT 中cat中 cat\u0301 ไcat cat"
    expected = [match.start() for match in regex.finditer(r"\bcat\b", text)]
    assert list(Finder("cat", whole_word=True).find_all(text)) == expected
    # A needle that ends otherwise: the characters beside it are no characters of words.
    assert Finder("C++", whole_word=True).find("C++11 C++ C+++") == 6
    assert list(Finder("-a-", whole_word=True).find_all("b-a-b -a- +-a-+")) == [6, 11]


def test_whole_words_go_on_after_what_overlaps_none() -> None:
    finder = Finder("a a", whole_word=True)
    assert list(finder.find_all("ba a a ab")) == [3]
    assert list(finder.find_all("a a a", overlapping=True)) == [0, 2]
    assert Finder("aa", whole_word=True).find("a" * 10_000) == -1


def test_case_is_ignored_whatever_the_length() -> None:
    assert list(Finder("k", ignore_case=True).spans("K k \u212a")) == [(0, 1), (2, 3), (4, 5)]
    in_bytes = "K k \u212a".encode()
    assert list(Finder(b"k", ignore_case=True).spans(in_bytes)) == [(0, 1), (2, 3), (4, 7)]
    assert Finder("STRASSE", ignore_case=True).find("straße") == -1
    assert Finder("ΣΑΣ", ignore_case=True).find("σας") == 0


many_needles = st.lists(small_needles, max_size=6)


def matches_by_looking(needles: Sequence[str], text: str) -> list[Match]:
    """Look for every needle at every place."""
    found = [
        Match(at, at + len(needle), number)
        for number, needle in enumerate(needles)
        for at in naive(needle, text)
    ]
    return sorted(found, key=lambda match: (match.start, -match.end, match.needle))


def leftmost(found: list[Match]) -> Iterator[Match]:
    """Keep the first at each place, after the end of the one before."""
    end = 0
    for match in found:
        if match.start >= end:
            yield match
            end = match.end


@given(many_needles, small)
def test_many_are_leftmost_longest_and_first_listed(needles: list[str], text: str) -> None:
    found = matches_by_looking(needles, text)
    for as_bytes in (False, True):
        wanted = [needle.encode() for needle in needles] if as_bytes else needles
        searched = text.encode() if as_bytes and needles else text
        finder = FinderMany(wanted)
        assert list(finder.find_all(searched)) == list(leftmost(found))
        assert list(finder.find_all(searched, overlapping=True)) == found
        assert finder.count(searched, overlapping=True) == len(found)
        assert finder.find(searched) == (found[0] if found else None)


@given(needles=st.lists(wide_needles, max_size=6), text=wide, ignore_case=st.booleans())
def test_many_words_are_found_as_each_alone(
    needles: list[str], text: str, *, ignore_case: bool
) -> None:
    needles = [needle for needle in needles if "\ud800" not in needle]
    finder = FinderMany(needles, whole_word=True, ignore_case=ignore_case)
    found = [
        Match(start, end, number)
        for number, needle in enumerate(needles)
        for start, end in Finder(needle, whole_word=True, ignore_case=ignore_case).spans(
            text, overlapping=True
        )
    ]
    found.sort(key=lambda match: (match.start, -match.end, match.needle))
    assert list(finder.find_all(text, overlapping=True)) == found
    assert list(finder.find_all(text)) == list(leftmost(found))


def test_many_are_replaced_by_a_list_or_a_mapping() -> None:
    finder = FinderMany(["New York", "New", "é"])
    text = "é New York, New é"
    assert finder.replace(text, new=["NY", "old", ""]) == " NY, old "
    assert finder.replace(text, new={"é": "e"}) == "e New York, New e"
    assert finder.replace(text, new=["NY", "old", ""], count=1) == " New York, New é"
    with pytest.raises(SearchError, match="new has 1 items, but there are 3 needles; give one"):
        finder.replace(text, new=["NY"])
    with pytest.raises(SearchError, match=r"'York', which is not a needle; did you mean 'New"):
        finder.replace(text, new={"York": "NY"})
    for new in ("NY", len):
        with pytest.raises(TypeError, match="new must be a list or a mapping, not"):
            finder.replace(text, new=new)  # type: ignore[arg-type]


def test_a_start_that_is_none_is_the_first_place() -> None:
    assert Finder("cat").find("a cat", start=None, end=None) == 2
    assert Finder("cat").rfind("a cat", start=None) == 2
    assert FinderMany(["cat"]).find("a cat", start=None) == (2, 5, 0)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        Finder("cat").find("a cat", start="0")  # type: ignore[arg-type]


ids = st.lists(st.sampled_from([7, 263, 1031, 65535]), max_size=60)


@given(ids.filter(bool).map(lambda some: some[:4]), ids)
def test_ids_are_found_in_arrays_of_any_width(needle: list[int], searched: list[int]) -> None:
    places = naive(needle, searched)
    arrays: list[Text] = [
        np.array(searched, np.uint16),
        np.array(searched, np.uint32),
        np.array(searched, np.int64),
        np.array(searched, ">u4"),
        np.repeat(np.array(searched, np.uint16), 2)[::2],
        array.array("H", searched),
        memoryview(array.array("I", searched)),
        searched,
        tuple(searched),
    ]
    finder, many = Finder(needle), FinderMany([needle, [1 << 20], needle])
    for text in arrays:
        assert list(finder.find_all(text, overlapping=True)) == places
        assert list(finder.find_all(text, overlapping=True, from_end=True)) == places[::-1]
        assert finder.count(text, overlapping=True) == len(places)
        assert [match.start for match in many.find_all(text, overlapping=True)] == [
            place for place in places for _ in range(2)
        ]
    assert finder == Finder(np.array(needle, np.uint32))
    assert Finder([1 << 20]).count(arrays[0]) == 0
    replaced = finder.replace(arrays[0], new=[1])
    spelled = "".join(map(chr, searched)).replace("".join(map(chr, needle)), "\x01")
    assert replaced == list(map(ord, spelled))


def test_mapped_files_are_searched_in_place(tmp_path: Path) -> None:
    path = tmp_path / "shard.bin"
    numbers = np.arange(100_000, dtype=np.uint32) % 5000
    numbers.tofile(path)
    mapped = np.memmap(path, np.uint32, "r")
    assert list(Finder([4999, 0, 1]).find_all(mapped)) == list(range(4999, 99_000, 5000))
    assert len(list(FinderMany([[4999, 0], [7]]).find_all(mapped))) == 39
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        assert Finder(b"\x01\0\0\0\x02").find(view) == 4
    for text in (bytearray(b"ab" * 50_000), memoryview(b"ab" * 50_000)):
        assert Finder(b"ba").count(text) == 49_999
        assert Finder(b"ba").replace(text, new=b"") == b"ab"


@pytest.mark.parametrize("size", [1, 2, 3, 31, 32, 33, 64, 500])
def test_many_matches_come_in_parts(size: int) -> None:
    text = "a" * 20_000
    finder = Finder("a" * size)
    places = list(range(20_000 - size + 1))
    assert list(finder.find_all(text, overlapping=True)) == places
    assert list(finder.find_all(text, overlapping=True, from_end=True)) == places[::-1]
    apart_places = list(range(0, 20_000 - size + 1, size))
    assert list(finder.find_all(text)) == apart_places
    assert list(finder.find_all(text + "é")) == apart_places
    assert len(list(finder.find_all(text, from_end=True))) == len(apart_places)
    assert finder.count(text) == len(apart_places)
    many = FinderMany(["a" * size, "b"])
    assert [match.start for match in many.find_all(text)] == apart_places
    assert [match.start for match in many.find_all(text, overlapping=True)] == places


def fibonacci(size: int) -> str:
    """Return a text in which every stretch is met again soon, and none is repeated often."""
    before, word = "a", "ab"
    while len(word) < size:
        before, word = word, word + before
    return word[:size]


@pytest.mark.parametrize("text", ["a" * 5000, "ab" * 2500, fibonacci(5000)])
def test_periodic_needles_are_found(text: str) -> None:
    flip = {"a": "b", "b": "a"}
    for size in (1, 2, 5, 8, 32, 33, 100, 1000, 4999):
        for start in (0, 1, 5):
            needle = text[start : start + size]
            for changed in {0, len(needle) // 2, len(needle) - 1}:
                other = needle[:changed] + flip[needle[changed]] + needle[changed + 1 :]
                for wanted in (needle, other):
                    places = [match.start() for match in re.finditer(f"(?={wanted})", text)]
                    finder = Finder(wanted)
                    assert list(finder.find_all(text, overlapping=True)) == places
                    back = finder.find_all(text, overlapping=True, from_end=True)
                    assert list(back) == places[::-1]


def test_every_character_is_found_in_its_place() -> None:
    text = "".join(map(chr, range(sys.maxunicode + 1)))
    for point in [*range(0, 0x3000, 331), *range(0xD7FE, 0xD802), 0xDFFF, 0xFFFF, sys.maxunicode]:
        character = chr(point)
        assert Finder(character).find(text, start=max(0, point - 5), end=point + 5) == point, hex(
            point
        )


def test_a_finder_is_a_value() -> None:
    for finder in (
        Finder("cat", whole_word=True, ignore_case=True),
        Finder(b"\xff"),
        Finder([1, 2]),
        FinderMany(["a", "b"], whole_word=True),
        FinderMany([[1], [2, 3]]),
        FinderMany([]),
    ):
        again = pickle.loads(pickle.dumps(finder))  # noqa: S301 - our own.
        assert again == finder
        assert hash(again) == hash(finder)
        assert eval(repr(finder)) == finder  # noqa: S307 - our own.
    assert Finder("a") != Finder("a", whole_word=True)
    assert Finder("a") != "a"
    assert Finder("a") != Finder(b"a")
    assert repr(FinderMany(map(str, range(9)))) == "FinderMany(['0', '1', '2', … 9 in all])"
    assert Finder(bytearray(b"a")).needle == b"a"
    assert FinderMany([]).find("text") is None


def test_refuses_what_cannot_be_found() -> None:
    empty = "a needle is empty; give at least one character, byte or id"
    needles: list[Text] = ["", b"", []]
    for needle in needles:
        with pytest.raises(SearchError, match=empty):
            Finder(needle)
        with pytest.raises(SearchError, match=empty):
            FinderMany([needle])
    with pytest.raises(Error, match="not UTF-8, so it has no case; leave out ignore_case"):
        Finder(b"\xff", ignore_case=True)
    with pytest.raises(TypeError, match="ids have no words and no case"):
        Finder([1], whole_word=True)
    with pytest.raises(TypeError, match="the needle is str and the text bytes; give both alike"):
        Finder("a").find(b"a")
    with pytest.raises(TypeError, match="the needle is bytes and the text str; give both alike"):
        Finder(b"a").find("a")
    with pytest.raises(TypeError, match="the needle is ids and the text bytes; give both alike"):
        Finder([1]).find(b"a")
    with pytest.raises(TypeError, match="the needle is str and the text list; give both alike"):
        FinderMany(["a"]).find([1])
    with pytest.raises(TypeError, match="one needle is str and another bytes; give all alike"):
        FinderMany(["a", b"b"])
    with pytest.raises(TypeError, match="a needle must be str, bytes or ids, not NoneType"):
        Finder(None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="needles must be a list, not one str"):
        FinderMany("ab")
    with pytest.raises(TypeError, match="text is str, so the replacement must be str, not"):
        Finder("a").replace("a", new=b"b")
    with pytest.raises(TypeError, match="text is bytes, so the replacement must be bytes"):
        Finder(b"a").replace(b"a", new="b")
    with pytest.raises(SearchError, match="it may have at most 16384"):
        FinderMany(["a" * 20_000])
