"""`zeton show --rules`, `--merges` and `--json` as a user meets them."""

import json
import re
from pathlib import Path

import pytest

import zeton
from support.command import COLOR, output
from support.strategies import BYTES
from zeton.cli.render.table import width

LOW = {b"lo": 256, b"low": 257, b"er": 258, b" low": 259, b"whole": 260}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer of few tokens."""
    folder = tmp_path_factory.mktemp("show")
    zeton.Tokenizer(BYTES | LOW, specials={"<|end|>": 261}).save(folder / "tokenizer")
    return folder


class TestRules:
    def test_puts_each_piece_over_its_rule(self, folder: Path) -> None:
        assert output("show", "--rules", "lower's low 12!", folder=folder) == (
            "low₂₅₇|er₂₅₈  '₃₉|s₁₁₅     ␣low₂₅₉  ␣₃₂    1₄₉|2₅₀  !₃₃\n"
            "word          contraction  word     space  number   punctuation\n"
            "\n"
            "6 pieces, 9 tokens:  word 2  contraction 1  space 1  number 1  punctuation 1\n"
        )

    def test_shows_no_ids_if_told_so(self, folder: Path) -> None:
        shown = output("show", "--rules", "--no-ids", "lower low", folder=folder)
        assert shown.splitlines()[:2] == ["low|er  ␣low", "word    word"]

    def test_a_line_of_the_text_ends_a_row(self, folder: Path) -> None:
        shown = output("show", "--rules", "--no-ids", "low\nlow", folder=folder)
        assert shown.splitlines()[:5] == ["low   \\n", "word  space", "", "low", "word"]

    def test_names_specials(self, folder: Path) -> None:
        shown = output("show", "--rules", "low<|end|>", "--special", "all", folder=folder)
        assert shown.splitlines()[:2] == ["low₂₅₇  <|end|>₂₆₁", "word    special"]

    @pytest.mark.parametrize("color", ["never", "always"])
    def test_no_row_is_wider_than_the_terminal(self, folder: Path, color: str) -> None:
        text = "lower 'tis 中文 " * 20 + "x" * 300
        shown = output("show", "--rules", "--color", color, text, folder=folder)
        rows = shown.splitlines()
        assert len(rows) > 30
        assert max(map(width, rows)) <= 80
        assert any(row.endswith("…") for row in rows)

    @pytest.mark.parametrize("option", ["--rules", "--merges"])
    @pytest.mark.parametrize("color", ["never", "always"])
    def test_no_control_character_of_the_text_gets_through(
        self, folder: Path, color: str, option: str
    ) -> None:
        hostile = bytes(range(256)) + "\x1b]0;title\x07\x85\u202e\x9b2J".encode()
        shown = output("show", option, "--color", color, stdin=hostile, folder=folder)
        rest = COLOR.sub("", shown) if color == "always" else shown
        assert all(c.isprintable() or c == "\n" for c in rest)

    def test_colors_rules_as_the_legend_does(self, folder: Path) -> None:
        shown = output("show", "--rules", "--color", "always", "low 1", folder=folder)
        _, names, _, legend = shown.splitlines()
        named = re.compile(r"(\x1b\[3\dm)(\w+)\x1b\[0m")
        assert named.findall(names) == named.findall(legend)
        assert len({color for color, _ in named.findall(names)}) == 3

    def test_an_empty_text_has_no_pieces(self, folder: Path) -> None:
        assert output("show", "--rules", "", folder=folder) == "0 pieces, 0 tokens\n"


class TestMerges:
    def test_shows_each_merge_in_order(self, folder: Path) -> None:
        assert output("show", "--merges", "lower", folder=folder) == (
            "lower  word, 2 tokens\n"
            "               l|o|w|e|r\n"
            "  256  l + o   lo|w|e|r\n"
            "  257  lo + w  low|e|r\n"
            "  258  e + r   low|er\n"
            "\n"
        )

    def test_says_what_was_taken_whole(self, folder: Path) -> None:
        text = "low whole whole<|end|>"
        shown = output("show", "--merges", text, "--special", "all", folder=folder).splitlines()
        assert shown[0] == "low  word, a token, id 257"
        assert "␣whole  word, 6 tokens" in shown
        assert shown[-2] == "<|end|>  special, id 261"
        shown = output("show", "--merges", "whole", folder=folder).splitlines()
        assert shown[0] == "whole  word, a token that no merge reaches, id 260"

    def test_shows_the_tokens_of_what_does_not_merge(self, folder: Path) -> None:
        shown = output("show", "--merges", "é", folder=folder)
        assert shown == "é  word, 2 tokens\n  \\xc3|\\xa9\n\n"

    def test_shows_a_piece_once(self, folder: Path) -> None:
        shown = output("show", "--merges", "low low low", folder=folder)
        assert shown.count("␣low  word") == 1

    def test_long_pieces_are_cut(self, folder: Path) -> None:
        shown = output("show", "--merges", "lower" * 30, folder=folder).splitlines()
        assert max(map(width, shown)) <= 80
        assert any(line.startswith("  256  l + o   …") for line in shown)
        shown = output("show", "--merges", stdin=b"lower" * 100_000, folder=folder).splitlines()
        assert shown[-2] == "  … and 299900 merges more"
        assert shown[2] == "  256  l + o"

    def test_stands_below_the_rules(self, folder: Path) -> None:
        shown = output("show", "--rules", "--merges", "lower", folder=folder)
        assert shown.index("1 piece, 2 tokens:  word 1") < shown.index("lower  word, 2 tokens")


def test_prints_json(folder: Path) -> None:
    told = json.loads(output("show", "--json", "lower low", folder=folder))
    assert told == zeton.load(folder / "tokenizer").explain(b"lower low").to_dict()
    assert told["unit"] == "byte"
