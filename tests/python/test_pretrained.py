"""The bundled vocabularies are OpenAI's, to the byte."""

import hashlib
import json
import zlib

import pytest

import zeton
from support.paths import ROOT, SHARED, needs_shared
from zeton.tiktoken.published_files import DIGESTS, rebuild


@pytest.mark.parametrize("name", DIGESTS)
def test_rebuilds_the_original_file_byte_for_byte(name: str) -> None:
    assert hashlib.sha256(rebuild(name)).hexdigest() == DIGESTS[name]


def test_the_notice_has_the_same_digests() -> None:
    lines = [line.split() for line in (ROOT / "NOTICE").read_text().splitlines()]
    listed = {words[1]: words[0] for words in lines if len(words) == 2 and len(words[0]) == 64}
    assert listed == DIGESTS


def test_the_names_are_tiktokens() -> None:
    expected = "gpt2 r50k_base p50k_base p50k_edit cl100k_base o200k_base o200k_harmony"
    assert zeton.pretrained_names() == expected.split()
    sizes = [zeton.pretrained(name).vocab_size for name in zeton.pretrained_names()]
    assert sizes == [50257, 50257, 50281, 50284, 100277, 200019, 201088]
    assert zeton.pretrained("gpt2") is zeton.pretrained("gpt2")


@needs_shared
def test_patterns_and_specials_are_tiktokens() -> None:
    specs = json.loads((SHARED / "vocabs" / "tiktoken_specs.json").read_text())
    for name in zeton.pretrained_names():
        tok = zeton.pretrained(name)
        assert tok.pattern == specs[name]["pat_str"]
        assert tok.specials == specs[name]["special_tokens"]


def test_two_names_may_share_an_id() -> None:
    tok = zeton.pretrained("o200k_harmony")
    assert tok.specials["<|endofprompt|>"] == tok.specials["<|reserved_200018|>"] == 200018
    assert tok.decode([200018]) == "<|endofprompt|>"
    assert tok.encode("<|reserved_200018|>", allowed_special="all") == [200018]


def test_the_bundled_files_leave_room_in_a_wheel_of_8_megabytes() -> None:
    files = sorted((ROOT / "python" / "zeton" / "vocabs").glob("*.zeton"))
    assert len(files) == 4
    assert sum(len(zlib.compress(file.read_bytes())) for file in files) < 3_000_000


def test_refuses_an_unknown_name() -> None:
    message = r"no pretrained vocabulary 'cl100k'; did you mean 'cl100k_base'\?"
    with pytest.raises(zeton.errors.VocabError, match=message):
        zeton.pretrained("cl100k")


def test_a_name_near_that_of_a_model_gets_its_vocabulary() -> None:
    message = r"'gpt4o', but the model gpt-4o reads 'o200k_base': zeton.pretrained\('o200k_base'\)"
    with pytest.raises(zeton.errors.VocabError, match=message):
        zeton.pretrained("gpt4o")
