"""Ready-made rules, each on real text."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import zeton
from support.paths import SHARED, needs_shared
from zeton import Rules, reference, rules
from zeton.errors import RulesError
from zeton.reference_rules import split_by_rules

Shown = Callable[[Rules, str], str]

SPLITS: dict[str, Callable[[Rules, str], list[bytes]]] = {
    "specification": lambda rules, text: split_by_rules(
        reference.read(text), json.loads(rules.spelled)
    ),
    "engine": lambda rules, text: rules.split(text),
}


@pytest.fixture(params=SPLITS)
def show(request: pytest.FixtureRequest) -> Shown:
    """Return what writes the pieces of a text, with | between them."""
    return lambda rules, text: b"|".join(SPLITS[request.param](rules, text)).decode()


def test_code(show: Shown) -> None:
    line = "    def getHTTPResponse(self, user_id='s3'):\n        return self.userIDs[0x1F]\n"
    assert show(rules.code(), line) == (
        "   | def| get|HTTP|Response|(self|,| user|_id|='|s|3|'):\n|       | return| self|.user|I"
        "|Ds|[|0|x|1|F|]\n"
    )


def test_chat(show: Shown) -> None:
    line = "@anna it's 12:30 :-) 👍🏽👩‍👩‍👧 #Kraków2024 🇵🇱 see https://t.co/a1?x=y !"
    assert show(rules.chat(), line) == (
        "@anna| it's| |12|:|30| :-)| 👍🏽|👩‍👩‍👧| #Kraków2024| 🇵🇱| see| https://t.co/a1?x=y| !"
    )


def test_formulas_in_prose(show: Shown) -> None:
    line = "Add H2SO4 (98%) to Ca(OH)2, then [Fe(CN)6]3- and NaHCO3; He said No."
    assert show(rules.chemistry(), line) == (
        "Add| H2SO4| (|98|%)| to| Ca(OH)2|,| then| [Fe(CN)6]3-| and| NaHCO3|;| He| said| No|."
    )


def test_smiles(show: Shown) -> None:
    aspirin, salt = "CC(=O)Oc1ccccc1C(=O)O", "C[N+](C)(C)CCBr.[Cl-]"
    smiles = rules.chemistry(smiles=True)
    assert show(smiles, aspirin) == "C|C|(|=|O|)|O|c|1|c|c|c|c|c|1|C|(|=|O|)|O"
    assert show(smiles, salt) == "C|[N+]|(|C|)|(|C|)|C|C|Br|.|[Cl-]"
    assert show(smiles, "N[C@@H](C)C%12\nCl") == "N|[C@@H]|(|C|)|C|%12|\n|Cl"


def test_dna(show: Shown) -> None:
    fasta = ">NM_007294.4 BRCA1 CDS\nATGGATTTATCTGCTCTTCG\nCGTTGA\n"
    assert show(rules.dna(), fasta) == (
        ">NM_007294.4 BRCA1 CDS|\n|ATG|GAT|TTA|TCT|GCT|CTT|CG|\n|CGT|TGA|\n"
    )
    assert show(rules.dna(k=6, frame=2), "ATGGATTTATCTGC") == "AT|GGATTT|ATCTGC"


def test_logs(show: Shown) -> None:
    line = "2015-07-29 19:04:12,394 - WARN  [/10.10.34.11:3888:QuorumCnxManager$Listener@493]\r\n"
    assert show(rules.logs(), line) == (
        "2015-07-29| 19:04:12|,|394| -| WARN| | [/|10.10.34.11|:|388|8|:QuorumCnxManager|"
        "$Listener|@|493|]|\r\n"
    )


def test_chinese(show: Shown) -> None:
    words = [
        "小杨家胡同",
        "胡同",
        "位于",
        "中国",
        "北京",
        "北京市",
        "西城区",
        "一条",
        "T恤",
        "市西",
    ]
    made = rules.chinese(words)
    assert (
        show(made, "位于中国北京市西城区的一条胡同。T恤")
        == "位于|中国|北京市|西城区|的|一条|胡同|。|T恤"
    )
    assert made.keep == ("T恤",)
    assert made.lexicon[0].script == "Han"
    longest = rules.chinese(["研究生", "研究", "生命"], path="longest")
    assert show(longest, "研究生命") == "研究生|命"


def test_thai(show: Shown) -> None:
    words = ["คน", "ขับ", "รถ", "ขน", "ของ", "เหนื่อย", "มาก", "ไหม", "ขนของ"]
    line = "คนขับรถขนของเหนื่อยมากไหม 5555"
    assert show(rules.thai(words), line) == "คน|ขับ|รถ|ขนของ|เหนื่อย|มาก|ไหม| |555|5"


def test_words_are_many() -> None:
    with pytest.raises(TypeError, match="words must be a list of words, not one str"):
        rules.thai("คน")


def test_a_word_of_other_scripts_is_a_whole_word(show: Shown) -> None:
    made = rules.thai(["คน", "a", "c++"])
    assert made.keep_words == ("a", "c++")
    assert show(made, "a cat, c++ คนa") == "a| cat|,| |c++| |คน|a"


def test_refuses_lines_that_keep_their_ends_and_lists_without_a_word() -> None:
    with pytest.raises(RulesError, match=r'words\[1\] "รถ\\n" begins or ends with white space'):
        rules.thai(["คน", "รถ\n"])
    with pytest.raises(RulesError, match=r"words\[0\] is 3; it must be a string"):
        rules.thai([3])  # type: ignore[list-item]
    with pytest.raises(RulesError, match="no word is written in the script Thai alone; give"):
        rules.thai(["car", ""])


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("中国 1000 ns\n", r'line 1: "中国 1000 ns" has several words; write one on each line'),
        ("中国\r\n# two\r\n", 'line 2: "# two" has several words'),
        ("", "no word is written in the script Han alone"),
    ],
)
def test_refuses_columns_and_comments_among_words(tmp_path: Path, content: str, told: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(content, newline="")
    with pytest.raises(RulesError, match=f"words.txt: {told}"):
        rules.get_rules(f"chinese={path}")


def test_names_of_the_command_line(tmp_path: Path) -> None:
    assert rules.get_rules("code") == rules.code()
    assert rules.get_rules("smiles") == rules.chemistry(smiles=True)
    (tmp_path / "words.txt").write_text("\ufeffคน\nรถ\n\n")
    assert rules.get_rules(f"thai={tmp_path / 'words.txt'}") == rules.thai(["คน", "รถ"])
    rules.logs().save(tmp_path / "a.toml")
    assert rules.get_rules(str(tmp_path / "a.toml")) == rules.logs()
    with pytest.raises(RulesError, match="thai needs a list of words; give thai=FILE, one word on"):
        rules.get_rules("thai")
    with pytest.raises(RulesError, match=r"no ready-made rules 'cod'; did you mean 'code'\?"):
        rules.get_rules("cod")
    with pytest.raises(RulesError, match=r"'Tahi=x'; did you mean 'thai=FILE'\?"):
        rules.get_rules("Tahi=x")
    with pytest.raises(RulesError, match=r"no ready-made rules 'music'; give a \.toml or \.json"):
        rules.get_rules("music")


@needs_shared
@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("code/java.txt", rules.code()),
        ("web/chat.txt", rules.chat()),
        ("web/logs.txt", rules.logs()),
        ("multi/zh.txt", rules.chinese(["中国", "北京", "一个", "的"])),
        ("multi/th.txt", rules.thai(["คน", "ที่", "ไทย", "มาก"])),
        ("web/markdown.txt", rules.chemistry()),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_engine_splits_real_text_as_the_specification_says(name: str, made: Rules) -> None:
    data = (SHARED / "dev" / name).read_bytes()
    middle = len(data) // 2
    text = data[middle : middle + 20_000].decode(errors="ignore")
    assert SPLITS["engine"](made, text) == SPLITS["specification"](made, text)
    assert zeton.train([text], vocab_size=300, rules=made).rules == made
