"""Rules are a value: friendly input, equality, repr, JSON and TOML; contradictions are refused."""

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.rules_drawn import rules_values
from support.strategies import BYTES
from zeton import Rules
from zeton.errors import PatternError, RulesError
from zeton.rules import Group, Isolate, Lexicon

SPELLED = (
    '{"rules":1,"base":"cl100k","digits":3,"keep_words":["BRCA1"],'
    '"isolate":[{"regex":"\\\\d+-\\\\d+","name":"date","whole_word":true}],'
    '"lexicon":[{"script":"Thai","words":["ก"],"path":"fewest"}],'
    '"groups":[{"characters":"ACGT","size":3,"start":1}]}'
)


def test_is_spelled_in_a_fixed_order_without_defaults() -> None:
    rules = Rules(
        groups=Group("ACGT", 3, start=1),
        lexicon=Lexicon(["ก"], path="fewest"),
        isolate=Isolate(r"\d+-\d+", "date", whole_word=True),
        keep_words="BRCA1",
        digits=3,
        base="cl100k",
    )
    assert rules.spelled == SPELLED
    assert Rules.of(SPELLED) == rules
    assert Rules().spelled == '{"rules":1}'
    assert Rules(base=None).spelled == '{"rules":1,"base":null}'
    assert Rules(pattern=r"\w+|\W+").spelled == r'{"rules":1,"pattern":"\\w+|\\W+"}'


def test_takes_friendly_forms() -> None:
    assert Rules(keep="a b").keep == ("a b",)
    assert Rules(keep=iter(["a", "b"])).keep == ("a", "b")
    assert Rules(contractions=False).contractions == "none"
    assert (Rules(case=False).case, Rules(case=True).case) == ("ignore", "words")
    assert Rules(isolate=r"\d+") == Rules(isolate=[{"regex": r"\d+"}])
    assert Rules(lexicon=["中", "国"]) == Rules(lexicon=[Lexicon(["中", "国"], "han")])
    assert Rules(lexicon={"words": ["中"]}).lexicon == (Lexicon(("中",)),)
    assert Rules(groups=Group(["A", "C"], 2)) == Rules(groups=[Group("AC", 2)])  # type: ignore[arg-type]
    assert Rules(base="none") == Rules(base=None)
    assert Rules(keep=["a", "b", "a"]).keep == ("a", "b")
    assert Group("ACA", 2) == Group("AC", 2)
    assert Rules(lexicon=["中", "中", "国"]).lexicon[0].words == ("中", "国")


def test_equal_rules_have_one_hash_and_copies_are_equal() -> None:
    one, two = (Rules(digits=3, keep=["a"], lexicon=["中"]) for _ in range(2))
    assert one == two != Rules(digits=3, keep=["b"])
    assert len({one, two}) == 1
    assert copy.deepcopy(one) == pickle.loads(pickle.dumps(one)) == one  # noqa: S301
    assert replace(one, digits=1).digits == 1
    with pytest.raises(AttributeError):
        one.digits = 2  # type: ignore[misc]


def test_repr_shows_what_is_not_the_default_and_says_what_it_leaves_out() -> None:
    assert repr(Rules()) == "Rules()"
    assert repr(Rules(base="gpt2", case=True)) == "Rules(base='gpt2', case='words')"
    assert repr(Rules(base=None)) == "Rules(base=None)"
    assert repr(Rules(isolate=[r"\d"])) == r"Rules(isolate=(Isolate(regex='\\d'),))"
    words = [f"w{number}" for number in range(1000)]
    assert repr(Rules(keep_words=words)) == "Rules(keep_words=('w0', 'w1', 'w2', … 997 more))"
    assert eval(repr(Rules(keep=words[:4])), {"Rules": Rules}).keep == tuple(words[:4])  # noqa: S307
    lexicon = "Lexicon(('中',), script='Han', path='fewest')"
    assert repr(Rules(lexicon=Lexicon(["中"], path="fewest"))) == f"Rules(lexicon=({lexicon},))"


@given(rules_values())
def test_json_and_toml_round_trip(rules: Rules) -> None:
    assert Rules.from_json(rules.to_json()) == rules
    assert Rules.from_json(rules.spelled) == rules
    assert Rules.from_toml(rules.to_toml()) == rules
    assert "\n" not in rules.spelled
    assert Rules.from_toml(rules.to_toml()).spelled == rules.spelled


@given(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=8))
def test_any_text_survives_json_and_toml(literals: list[str]) -> None:
    keep = [literal for literal in literals if literal.isprintable() or "\ud800" not in literal]
    rules = Rules(keep=keep)
    assert Rules.from_toml(rules.to_toml()) == Rules.from_json(rules.to_json()) == rules


@pytest.mark.parametrize("name", ["rules.json", "rules.toml"])
def test_files_round_trip(name: str, tmp_path: Path) -> None:
    rules = Rules(base="o200k", keep=["\N{GREEK SMALL LETTER ALPHA}\t'\"\\"], groups=Group("AC", 2))
    assert rules.save(tmp_path / name) == tmp_path / name
    assert Rules.load(tmp_path / name) == rules


def refusal(**values: Any) -> str:
    with pytest.raises(RulesError) as refused:
        Rules(**values)
    message = str(refused.value)
    assert "\n" not in message
    return message


KNOB = "changes a base, but base is None; remove"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"keep": ["BRCA1"], "keep_words": ["a", "b", "BRCA1"]},
            'keep_words[2] "BRCA1" is also keep[0]; keep covers it everywhere, so remove one',
        ),
        ({"keep": [""]}, "keep[0] is empty; remove it, or give at least one character"),
        (
            {"keep_words": ["a", "b\ud800"]},
            "keep_words[1] is 'b\\ud800', which holds a lone surrogate;",
        ),
        ({"keep": ["a" * 1025]}, "has 1025 bytes; at most 1024 are allowed"),
        ({"keep": 3}, "keep is 3; it must be a list of strings"),
        ({"keep": [3]}, "keep[0] is 3; it must be a string"),
        ({"digits": 0}, 'digits is 0; it must be a number from 1 to 16, or "any"'),
        ({"digits": True}, 'digits is true; it must be a number from 1 to 16, or "any"'),
        ({"digits": "all"}, 'digits is "all"; it must be a number from 1 to 16, or "any"'),
        (
            {"digits_from": "right"},
            'digits_from is "right", but digits is not set; set digits to',
        ),
        (
            {"digits_from": "right", "digits": "any"},
            'digits_from is "right", but digits is "any"; set',
        ),
        (
            {"base": "gpt5"},
            'base is "gpt5"; it must be one of "nanochat", "gpt2", "cl100k", "o200k"',
        ),
        (
            {"base": "gpt2", "pattern": "a|(?s:.)"},
            'pattern replaces the base, but base is "gpt2"',
        ),
        ({"base": "nanochat", "pattern": "a|(?s:.)"}, "pattern replaces the base, but base is"),
        ({"base": None, "digits": 3}, f"digits {KNOB}"),
        ({"base": None, "contractions": "apart"}, f"contractions {KNOB}"),
        ({"base": None, "leading_space": False}, f"leading_space {KNOB}"),
        ({"base": None, "newlines": "run"}, f"newlines {KNOB}"),
        (
            {"pattern": "a|(?s:.)", "marks": True},
            "marks changes a base, but a pattern replaces the base",
        ),
        ({"base": None, "case": "split"}, 'case is "split", but base is None; without'),
        ({"base": None, "underscores": "letter"}, 'underscores is "letter", but base is None'),
        (
            {"contractions": True},
            'contractions is true; it must be one of "none", "apart", "joined"',
        ),
        ({"leading_space": 1}, 'leading_space is 1; it must be one of false, true, "sign"'),
        ({"scripts": 1}, "scripts is 1; it must be true or false"),
        ({"isolate": ["a", "b", "a"]}, "isolate[2] equals isolate[0]; remove one"),
        ({"isolate": ["a", Isolate("a", "b")]}, "isolate[1] equals isolate[0]; remove one"),
        ({"isolate": [""]}, "isolate[0].regex is empty"),
        (
            {"isolate": [{"regexp": "a"}]},
            "isolate[0].regexp is an unknown key; did you mean 'regex'?",
        ),
        ({"isolate": [{"name": "a"}]}, "isolate[0] has no regex; add one"),
        ({"isolate": [3]}, "isolate[0] is 3; it must be a zeton.rules.Isolate"),
        ({"isolate": [str(n) for n in range(257)]}, "isolate has 257 regexes; at most 256 are"),
        ({"lexicon": [{"words": []}]}, "lexicon[0].words is empty; give at least one word"),
        (
            {"lexicon": ["中国", "日本x"]},
            (
                'lexicon[0].words[1] "日本x" contains "x" of the script Latin, '
                "but the script of the lexicon is Han; remove"
            ),
        ),
        (
            {"lexicon": ["中国", "，"]},
            'lexicon[0].words[1] "，" contains "，", which belongs to no script;',
        ),
        (
            {"lexicon": {"words": ["中"], "script": "Thai"}},
            "of the script Han, but the script of the lexicon is Thai",
        ),
        (
            {"lexicon": {"words": ["中"], "path": "best"}},
            'lexicon[0].path is "best"; it must be one of',
        ),
        (
            {"lexicon": [Lexicon(["中"]), Lexicon(["ก"]), Lexicon(["国"])]},
            "lexicon[2] has the script Han, as lexicon[0] has; merge their words",
        ),
        (
            {"groups": {"characters": "AC", "size": 0}},
            "groups[0].size is 0; it must be a whole number from 1",
        ),
        (
            {"groups": {"characters": "AC", "size": 3, "start": 3}},
            "groups[0].start is 3; it must be a whole number from 0 to 2",
        ),
        ({"groups": {"characters": "", "size": 3}}, "groups[0].characters is empty"),
        ({"groups": {"characters": "A"}}, "groups[0] has no size; add one"),
        (
            {"groups": [Group("AC", 2), Group("CG", 2)]},
            'groups[1].characters contains "C", as groups[0] does; remove it from one',
        ),
        (
            {"lexicon": ["中"], "groups": Group("A国", 2)},
            'groups[0].characters contains "国", which lexicon[0] cuts; remove it',
        ),
        (
            {"keep": [str(n) for n in range(1 << 20)], "keep_words": ["a"]},
            "the rules have 1048577 literals",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_refuses_what_contradicts_itself_and_says_where(values: Any, message: str) -> None:
    assert message in refusal(**values)


def test_refuses_rules_that_are_too_long_when_spelled() -> None:
    words = [f"{number:x}" + "é" * 500 for number in range(34_000)]
    assert "bytes as JSON; at most 33554432 are allowed" in refusal(keep=words)


def test_the_refusal_is_a_pattern_error_that_knows_the_place() -> None:
    with pytest.raises(PatternError) as refused:
        Rules(lexicon=["中", "x"])
    assert isinstance(refused.value, RulesError)
    assert refused.value.where == ("lexicon", 0, "words", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"rules": 1, "digit": 3}', "line 1: digit is an unknown key; did you mean 'digits'?"),
        (
            '{"rules": 1,\n "zzz": 3}',
            "line 2: zzz is an unknown key; known are 'base', 'pattern',",
        ),
        ('{"rules": 2}', "line 1: rules is 2; this zeton reads version 1 of rules"),
        ('{"digits": 3,\n"digits": 4}', "line 2: digits is given twice; remove one"),
        ('{"a\\nb": 3}', r"a\nb is an unknown key; known are"),
        ("[]", "the rules are []; they must be a JSON object"),
        ('{"digits":\n 3', "line 2: this is not valid JSON: Expecting ',' delimiter at column 3"),
        ('{"digits": null}', "line 1: digits is null; remove it to get the default"),
        ('{"keep": ["a"],\n"keep_words": [\n"b", "]",\n"a"]}', 'line 4: keep_words[2] "a" is also'),
        (
            '{"isolate": [{"regex": "a"},\n{"regex": "b",\n"whole": 1}]}',
            "line 3: isolate[1].whole is",
        ),
    ],
)
def test_json_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(RulesError) as refused:
        Rules.from_json(text)
    assert message in str(refused.value)


TOML = """# A comment with "quotes" and [brackets].
keep = ["BRCA1"]  # "BRCA1"
keep_words = [
  'TP53', # "BRCA1"
  "a\\"]",
  "BRCA1",
]

[[isolate]]
regex = '\\d+'

[[isolate]]
regex = "b"
nam = "x"

[[lexicon]]
words = ["中",
  "x"]
"""


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (Rules.from_json, "[" * 100_000),
        (Rules.from_json, '{"keep": ' + "[" * 100_000),
        (Rules.from_json, '{"keep": "' + '\\"' * 100_000),
        (Rules.from_json, '{"isolate": {"a": 1, "a": 2}, "keep": "' + '\\"' * 100_000),
        (Rules.from_toml, "keep = " + "[" * 100_000),
        (Rules.from_toml, "[[isolate]]\nregex = 1\n" * 20_000),
    ],
)
def test_what_is_long_or_deep_is_refused_at_once(read: Callable[[str], Rules], text: str) -> None:
    with pytest.raises(RulesError):
        read(text)


def test_toml_is_refused_with_its_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"

    def message(text: str) -> str:
        file.write_text(text)
        with pytest.raises(RulesError) as refused:
            Rules.load(file)
        return str(refused.value)

    assert f'{file}: line 6: keep_words[2] "BRCA1" is also keep[0];' in message(TOML)
    text = TOML.replace('keep = ["BRCA1"]', "")
    assert f"{file}: line 14: isolate[1].nam is an unknown key; did you mean 'name'?" in message(
        text
    )
    text = text.replace('nam = "x"\n', "")
    assert f'{file}: line 17: lexicon[0].words[1] "x" contains' in message(text)
    assert f"{file}: line 1: this is not valid TOML: Invalid value at column 9" in message(
        "keep = [}"
    )
    told = message('rules = 1\nisolate = "\\d+"')
    assert told.startswith(
        f"{file}: line 2: this is not valid TOML: Unescaped '\\' in a string at column"
    )
    assert told.endswith(r"; write a regex as '\d+', in single quotes")
    file.write_bytes(b"keep = ['\xff']")
    with pytest.raises(RulesError, match="is not UTF-8 at byte 9"):
        Rules.load(file)
    with pytest.raises(RulesError, match=r"ends in \.json or \.toml, not in"):
        Rules.load(tmp_path / "rules.txt")
    with pytest.raises(FileNotFoundError):
        Rules.load(tmp_path / "none.toml")


def test_knobs_alone_are_a_pattern() -> None:
    pattern = Rules(base="gpt2", contractions=False, digits=3).as_pattern()
    assert pattern == r" ?\p{L}+| ?\p{N}{1,3}| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s+"
    assert Rules().as_pattern() == zeton.DEFAULT_PATTERN
    assert Rules(pattern=r"\w+|\W").as_pattern() == r"\w+|\W"


@pytest.mark.parametrize(
    ("rules", "what"),
    [
        (Rules(keep="a", scripts=True), "scripts, keep"),
        (Rules(case="words"), 'case="words"'),
        (Rules(digits=3, digits_from="right"), 'digits_from="right"'),
        (Rules(base=None), "base=None"),
    ],
)
def test_rules_that_a_regex_cannot_express_are_refused_as_one(rules: Rules, what: str) -> None:
    with pytest.raises(RulesError) as refused:
        rules.as_pattern()
    reason = f"the rules have {what}, which a regex cannot express"
    assert str(refused.value) == f"{reason}; remove them to get a pattern"


def test_pattern_and_rules_together_are_refused() -> None:
    with pytest.raises(PatternError, match="both pattern and rules are given"):
        zeton.Tokenizer(BYTES, pattern="a", rules=Rules())
    with pytest.raises(PatternError, match="both pattern and rules are given"):
        zeton.train(["a"], vocab_size=257, pattern="a", rules=Rules())
    with pytest.raises(TypeError, match=r"rules is zeton\.Rules, not dict; "):
        zeton.Tokenizer(BYTES, rules={"digits": 3})  # type: ignore[arg-type]


def test_a_spelled_text_is_json() -> None:
    assert json.loads(SPELLED)["rules"] == 1
    assert Rules.of(r"\w+|\W") is None
    assert Rules.of('{"rules":1,"split":"f"}') is None


@pytest.mark.parametrize("text", ["a" + ".a" * 100_000 + "=1", "[" + "a." * 100_000 + "a]"])
def test_keys_within_keys_are_refused_at_once(text: str) -> None:
    with pytest.raises(RulesError, match="not nested that deep"):
        Rules.from_toml(text)
