"""Text -> ids, through the public face, against tiktoken and the reference."""

import ast
import json
import os
import random
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe

import zeton
from support.paths import SHARED, needs_shared
from support.strategies import BYTES, family_patterns, odd_bytes, odd_text, vocabs
from zeton import reference
from zeton.reference import Vocab

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = zeton.pretrained_names()
ENCODINGS = {name: zeton.pretrained(name).as_tiktoken() for name in NAMES}


@given(text=odd_text)
@pytest.mark.parametrize("name", NAMES)
def test_ids_are_tiktokens_for_published_vocabularies(name: str, text: str) -> None:
    assert zeton.pretrained(name).encode(text) == ENCODINGS[name].encode_ordinary(text)


@given(vocab=vocabs(), pattern=family_patterns(), text=odd_text)
def test_ids_are_tiktokens_for_any_vocabulary_and_pattern(
    vocab: Vocab, pattern: str, text: str
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=pattern)
    ids = tok.encode(text)
    assert ids == tok.as_tiktoken().encode_ordinary(text)
    assert ids == reference.encode(text, vocab, pattern)
    assert tok.decode_bytes(ids) == reference.decode(ids, vocab) == text.encode()


OUTSIDE = {
    "kimi_k2": (
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
        r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+|(?s:.)"
    ),
    "right_grouped_digits": r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))|\p{L}+|\s+|[^\s\p{L}]",
    "letters_in_any_case": r"(?i: ?\p{L}+)|\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+|(?s:.)",
    "words": r"\w+|[^\w\s]+|\s+",
    "lines": r"(?m)^.+$|\n",
    "characters": "(?s).",
    "look_behind": r"(?<=a)b+|\s+|\S",
    "dates": r"\d{4}-\d{2}-\d{2}|\p{L}+|\p{N}|[^\p{L}\p{N}]",
}


@given(vocab=vocabs(), text=odd_text)
@pytest.mark.parametrize("name", OUTSIDE)
def test_ids_are_tiktokens_for_patterns_outside_the_family(
    name: str, vocab: Vocab, text: str
) -> None:
    tok = zeton.Tokenizer(vocab, pattern=OUTSIDE[name])
    assert tok.grammar is None
    assert tok.encode(text) == tok.as_tiktoken().encode_ordinary(text)


@given(vocab=vocabs(), text=odd_bytes)
def test_any_bytes_come_back(vocab: Vocab, text: bytes) -> None:
    tok = zeton.Tokenizer(vocab)
    assert tok.encode(text) == reference.encode(text, vocab)
    assert tok.decode_bytes(tok.encode(text)) == text
    assert tok.encode(bytearray(text)) == tok.encode(memoryview(text)) == tok.encode(text)


@pytest.mark.parametrize("wide", ["é", "中", "😀", "\ud800", "a\udc00😀"])
def test_long_strs_that_are_not_ascii_have_the_ids_of_their_utf8(wide: str) -> None:
    text = ("It was low, the lowest.\n\n  99 bottles " * 3000 + wide) * 3 + "<|endoftext|> "
    utf8 = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    cl100k = zeton.pretrained("cl100k_base")
    for tok in (cl100k, zeton.train([text[:1000]], vocab_size=264, pattern=r"\w+|\W")):
        assert tok.encode(text) == tok.encode(utf8)
        assert tok.encode_array(text, threads=1).tolist() == tok.encode(utf8)
    specials = ["<|endoftext|>"]
    assert cl100k.encode(text, allowed_special=specials) == cl100k.encode(
        utf8, allowed_special=specials
    )


surrogates = st.text(st.characters(categories=["Cs", "Ll", "Zs"]), max_size=12)


@given(text=surrogates)
def test_lone_surrogates_are_read_as_tiktoken_reads_them(text: str) -> None:
    tok = zeton.pretrained("cl100k_base")
    assert tok.encode(text) == ENCODINGS["cl100k_base"].encode_ordinary(text)
    assert tok.encode(text) == reference.encode(text, tok.ranks(), tok.pattern)


class Derived(str):
    """A str that is not one block of memory."""

    __slots__ = ()


@pytest.mark.parametrize("widest", ["a", "é", "Ā", "’", "\uffff", "😀", "\ud800"])
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 510, 511, 512, 513, 1040, 5000])
def test_a_str_of_any_width_is_read_as_its_utf8(widest: str, length: int) -> None:
    tok = zeton.pretrained("cl100k_base")
    words = "It is a truth, " * (length // 15 + 1)
    for place in {0, length // 2, length}:
        text = words[:place] + widest + words[place:length]
        utf8 = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        expected = tok.encode(utf8)
        assert tok.encode(text) == tok.encode(Derived(text)) == expected
        assert tok.encode_array(text).tolist() == tok.encode_batch([text])[0] == expected


def test_a_long_str_keeps_no_utf8() -> None:
    text = "’" * 1000
    size = sys.getsizeof(text)
    zeton.pretrained("cl100k_base").encode(text)
    assert sys.getsizeof(text) == size


# ---- specials ----

SPECIALS = {"<|end|>": 300, "<|end|>x": 301, "<|": 302, "é": 303}


@given(parts=st.lists(st.sampled_from([*SPECIALS, "a", " ", "|>", "end", "\n"]), max_size=12))
def test_listed_specials_are_found_longest_first(parts: list[str]) -> None:
    tok = zeton.Tokenizer(BYTES, specials=SPECIALS)
    text = "".join(parts)
    for allowed in (SPECIALS, {"<|end|>": 300}, {}):
        expected = reference.encode(text, BYTES, tok.pattern, allowed)
        assert tok.encode(text, allowed_special=allowed) == expected
        assert tok.encode_array(text, allowed_special=allowed).tolist() == expected
        assert tok.count(text, allowed_special=allowed) == len(expected)
    assert tok.encode(text, allowed_special="all") == reference.encode(
        text, BYTES, tok.pattern, SPECIALS
    )
    assert tok.decode(tok.encode(text, allowed_special="all")) == text


def test_specials_are_text_unless_listed() -> None:
    tok = zeton.pretrained("cl100k_base")
    text = "a<|endoftext|>b <|fim_prefix|>"
    encoding = ENCODINGS["cl100k_base"]
    assert tok.encode(text) == encoding.encode(text, disallowed_special=())
    assert tok.encode(text, allowed_special="all") == encoding.encode(text, allowed_special="all")
    one = {"<|endoftext|>"}
    expected = encoding.encode(text, allowed_special=one, disallowed_special=())
    assert tok.encode(text, allowed_special=one) == expected
    assert tok.encode(text, allowed_special="<|endoftext|>") == expected


def test_white_space_before_a_special_is_at_the_end_of_its_stretch() -> None:
    for name in NAMES:
        text = "a  \n <|endoftext|> \n  b  "
        expected = ENCODINGS[name].encode(text, allowed_special="all")
        assert zeton.pretrained(name).encode(text, allowed_special="all") == expected


def test_refuses_an_unknown_special() -> None:
    tok = zeton.pretrained("gpt2")
    for call in (
        lambda: tok.encode("a", allowed_special=["<|nope|>"]),
        lambda: tok.encode("a", prepend="<|nope|>"),
        lambda: tok.encode_batch(["a"], append="<|nope|>"),
        lambda: tok.encode_array("a", allowed_special=["<|nope|>"]),
    ):
        with pytest.raises(zeton.errors.SpecialError, match=r"nope\|>. is not a special"):
            call()


def test_prepends_and_appends_an_id_or_a_special() -> None:
    tok = zeton.pretrained("gpt2")
    ids = tok.encode("hi")
    assert tok.encode("hi", prepend="<|endoftext|>") == [50256, *ids]
    assert tok.encode("hi", prepend=50256, append=0) == [50256, *ids, 0]
    assert tok.encode_batch(["hi", ""], append="<|endoftext|>") == [[*ids, 50256], [50256]]
    with pytest.raises(zeton.errors.IdError, match="id 50257 is not in the vocabulary"):
        tok.encode("hi", prepend=50257)


# ---- batches, arrays, threads ----


def test_batches_and_arrays_hold_the_same_ids() -> None:
    tok = zeton.pretrained("o200k_base")
    texts: list[str | bytes] = ["", b"\xff\xfe", "x" * 9999]
    texts += [f"text {i} — naïve 中文 " * (i % 50) for i in range(700)]
    expected = [tok.encode(text) for text in texts]
    for threads in (None, 1, 2, 5):
        assert tok.encode_batch(texts, threads=threads) == expected
        ids, offsets = tok.encode_batch_array(texts, threads=threads)
        assert (ids.dtype.name, offsets.dtype.name) == ("uint32", "uint64")
        assert len(offsets) == len(texts) + 1
        rows = [ids[a:b].tolist() for a, b in pairwise(offsets)]
        assert rows == expected
    array = tok.encode_array(texts[73])
    assert array.dtype.name == "uint32"
    assert array.tolist() == expected[73]
    array[0] = 7  # The array is the caller's own.
    assert tok.encode_batch([]) == []
    assert tok.encode_batch_array([])[1].tolist() == [0]


def test_refuses_what_is_not_text() -> None:
    tok = zeton.pretrained("gpt2")
    with pytest.raises(TypeError, match="a text is str or bytes, not int"):
        tok.encode(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list of texts, not one text"):
        tok.encode_batch("abc")
    with pytest.raises(TypeError, match="a list of texts, not int"):
        tok.encode_batch(5)  # type: ignore[arg-type]
    calls: list[Any] = [tok.encode, tok.encode_array, tok.count]
    for call in calls:
        with pytest.raises(TypeError, match="not list; encode_batch takes many texts"):
            call(["a", "b"])


@pytest.mark.parametrize("text", ["", "abc", "x" * 300_000])
def test_refuses_a_number_of_threads_below_one(text: str) -> None:
    tok = zeton.pretrained("gpt2")
    ids = [tok.encode(text)]
    encoder = tok.encoder()
    calls: list[Callable[[Any], object]] = [
        lambda threads: tok.encode_array(text, threads=threads),
        lambda threads: tok.encode_batch([text], threads=threads),
        lambda threads: tok.encode_batch_array([text], threads=threads),
        lambda threads: tok.count(text, threads=threads),
        lambda threads: tok.count_batch([text], threads=threads),
        lambda threads: tok.decode_batch(ids, threads=threads),
        lambda threads: tok.decode_batch_bytes(ids, threads=threads),
        lambda threads: encoder.push_array(text, threads),
        lambda threads: encoder.push_count(text, threads),
    ]
    for call in calls:
        for threads in (0, -1, -(2**200)):
            with pytest.raises(zeton.errors.TextError) as refusal:
                call(threads)
            assert str(refusal.value) == (
                f"threads is {threads}; it must be at least 1, or None for one thread for each core"
            )
        for no_number in ("2", 2.0, True):
            with pytest.raises(TypeError, match="threads is an int or None, not"):
                call(no_number)
        for threads in (10**9, 2**200):
            call(threads)


def test_an_unknown_special_gets_the_nearest_one() -> None:
    tok = zeton.pretrained("cl100k_base")
    calls: list[Callable[[], object]] = [
        lambda: tok.encode("a", allowed_special=["<|endoftxt|>"]),
        lambda: tok.encode("a", append="<|endoftxt|>"),
    ]
    for call in calls:
        with pytest.raises(zeton.errors.SpecialError) as refusal:
            call()
        assert str(refusal.value) == (
            "\"<|endoftxt|>\" is not a special of this tokenizer; did you mean '<|endoftext|>'?"
        )
    with pytest.raises(zeton.errors.SpecialError, match=r"known are '<\|endoftext\|>', "):
        tok.encode("a", allowed_special=["\ud800"])
    bare = zeton.Tokenizer(tok.ranks())
    with pytest.raises(zeton.errors.SpecialError, match="this tokenizer; there are none"):
        bare.encode("a", allowed_special="<|endoftext|>")
    with pytest.raises(TypeError, match='allowed_special is "all" or a list of names, not int'):
        tok.encode("a", allowed_special=5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the name of a special is str, not int"):
        tok.encode("a", allowed_special=[5])  # type: ignore[list-item]


def test_threads_share_a_tokenizer() -> None:
    tok = zeton.pretrained("cl100k_base")
    texts = ["the quick brown fox — " * (100 + i) for i in range(8)]
    expected = [tok.encode(text) for text in texts]
    results: list[list[list[int]]] = [[] for _ in texts]

    def work(at: int) -> None:
        for _ in range(20):
            results[at].append(tok.encode(texts[at]))

    threads = [threading.Thread(target=work, args=(at,)) for at in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == expected[at] for at, many in enumerate(results) for ids in many)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_fork_goes_on_encoding_with_threads() -> None:
    code = """
import os, zeton
tok = zeton.pretrained("gpt2")
texts = ["hello world " * 5000] * 8
expected = tok.encode_batch(texts, threads=2)
pid = os.fork()
if pid == 0:
    same = tok.encode_batch(texts, threads=2) == expected
    trained = zeton.train(["abc abd " * 50000] * 4, vocab_size=259, threads=2)
    os._exit(0 if same and trained.vocab_size == 259 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ---- the shared texts ----


@needs_shared
@pytest.mark.parametrize("name", ["gpt2", "p50k_base", "cl100k_base", "o200k_base"])
def test_ids_are_tiktokens_on_real_texts(name: str) -> None:
    tok, encoding = zeton.pretrained(name), ENCODINGS[name]
    for file in sorted(SHARED.glob("dev/*/*.txt")):
        texts = file.read_bytes()[:400_000].decode(errors="ignore").split("\x1e")
        assert tok.encode_batch(texts) == encoding.encode_ordinary_batch(texts), file.name


@needs_shared
def test_ids_are_tiktokens_on_published_vocabularies_of_others() -> None:
    specs = json.loads((SHARED / "vocabs" / "tiktoken_specs.json").read_text())
    files = sorted(SHARED.glob("dev/*/*.txt"))
    texts = [file.read_bytes()[:60_000].decode(errors="ignore") for file in files]
    for name in ("llama3", "qwen"):
        spec = specs[name]
        (file,) = (SHARED / "vocabs").rglob(Path(spec["file"]).name)
        ranks = load_tiktoken_bpe(str(file))
        tok = zeton.Tokenizer(ranks, pattern=spec["pat_str"], specials=spec["special_tokens"])
        assert tok.grammar is not None
        assert tok.encode_batch(texts) == tok.as_tiktoken().encode_ordinary_batch(texts)
        reached = set(tok.merges().values())
        unreached = [
            token for token, rank in ranks.items() if len(token) > 1 and rank not in reached
        ]
        as_texts = [token.decode(errors="ignore") for token in unreached]
        assert tok.encode_batch(as_texts) == tok.as_tiktoken().encode_ordinary_batch(as_texts)


@needs_shared
def test_hostile_texts_are_exact(tmp_path: Path) -> None:
    generator = SHARED / "gen_adversarial.py"
    command = [sys.executable, str(generator), str(tmp_path), "--big", "30000"]
    subprocess.run(command, check=True, capture_output=True)
    cases = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    texts = [ast.literal_eval(case["repr"]) for case in cases]
    texts += [file.read_bytes().decode() for file in sorted((tmp_path / "files").glob("*.txt"))]
    for name in ("gpt2", "cl100k_base", "o200k_base"):
        tok = zeton.pretrained(name)
        for text in texts:
            assert tok.encode(text) == ENCODINGS[name].encode_ordinary(text), text[:100]
        for file in (tmp_path / "files").glob("*.bin"):
            content = file.read_bytes()
            assert tok.decode_bytes(tok.encode(content)) == content
            short = content[:3000]
            assert tok.split(short) == reference.split(reference.read(short), tok.pattern)


@pytest.mark.parametrize("name", ["gpt2", "cl100k_base", "o200k_base"])
def test_one_text_on_many_threads_has_the_same_ids(name: str) -> None:
    tok = zeton.pretrained(name)
    rng = random.Random(name)
    words = [
        "the",
        " lower",
        " don't",
        "\n\n",
        "   ",
        " 12345",
        "日本語",
        "naïve",
        "<|endoftext|>",
        "!\n",
    ]
    text = "".join(rng.choices(words, k=150_000))
    for specials in ((), "all"):
        expected = tok.encode(text, allowed_special=specials)
        for threads in (1, 2, 3, 8, None):
            assert (
                tok.encode_array(text, allowed_special=specials, threads=threads).tolist()
                == expected
            )
    spaces = " " * 300_000  # No safe cut.
    assert tok.encode_array(spaces, threads=4).tolist() == tok.encode(spaces)


def test_a_list_counts_its_references_as_python_does() -> None:
    tok = zeton.pretrained("gpt2")
    text = "".join(chr(0x4E00 + number) for number in range(20_000))
    ids = tok.encode(text)  # Enough for ints to be ready.
    assert ids == tok.encode_array(text).tolist()
    high = max(ids)
    before = sys.getrefcount(high)
    copies = [tok.encode(text) for _ in range(20)]
    after = sys.getrefcount(high)
    assert after == before + 20 * ids.count(high)
    copies.clear()
    after = sys.getrefcount(high)
    assert after == before


def test_a_wide_str_keeps_no_utf_8() -> None:
    tok = zeton.pretrained("gpt2")
    text = "中文" * 1000
    size = sys.getsizeof(text)
    for ids in (tok.encode(text), tok.encode_array(text).tolist(), tok.encode_batch([text])[0]):
        assert tok.decode(ids) == text
    assert tok.count(text) > 0
    assert sys.getsizeof(text) == size


def test_arrays_without_numpy_are_an_import_error() -> None:
    code = """
import sys, zeton
tok = zeton.pretrained("gpt2")
sys.modules["numpy"] = None
for encode in (tok.encode_array, lambda text: tok.encode_batch_array([text])):
    try:
        encode("hello")
    except ImportError:
        continue
    sys.exit("no ImportError")
assert tok.decode(tok.encode("hello")) == "hello"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_arrays_are_memory_of_their_own() -> None:
    tok = zeton.pretrained("gpt2")
    for text in ("", "hello world", "hello world " * 10_000):
        first, second = tok.encode_array(text), tok.encode_array(text)
        assert first.flags.writeable
        first[:] = 0
        assert second.tolist() == tok.encode(text)
    ids, offsets = tok.encode_batch_array(["hello world", "", "a"])
    assert ids.flags.writeable
    assert offsets.flags.writeable
    assert offsets.tolist() == [0, 2, 2, 3]
