"""The first things that a person meets: help, completion, types, and the way out of an error."""

import os
import pydoc
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
from mypy import api as mypy

import zeton
from support.paths import ROOT
from support.strategies import BYTES
from zeton import _engine
from zeton.extras import import_extra
from zeton.training.options import CountFilesOptions, TrainOptions

GPT2 = zeton.pretrained("gpt2")
CL100K = zeton.pretrained("cl100k_base")
ANY: Any = CL100K
API: Any = zeton


class TestHelp:
    def test_opens_with_an_example_and_the_calls_that_most_programs_need(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        page = pydoc.plain(pydoc.render_doc(zeton.Tokenizer))
        start = page[: page.index("Method resolution order")]
        assert start.index(">>> tok.encode(") < start.index("tok.encode(text)")
        calls = re.findall(r"(?m)^ \|      (?:tok|zeton)\.(\w+)\(", start)
        assert calls == ["encode", "decode", "train", "save", "load", "pretrained"]
        monkeypatch.chdir(tmp_path)
        names: dict[str, Any] = {"zeton": zeton, "texts": ["low lower"], "n": 258, "text": "low"}
        lines = re.findall(r"(?m)^ \|      ((?:tok|zeton)\.\w+\(.*?\))  ", start)
        for line in sorted(lines, key=lambda line: "train" not in line):
            value = eval(line, names)  # noqa: S307 - our own help.
            if "train" in line:
                names["tok"] = value
            if "tok.encode" in line:
                names["ids"] = value

    def test_names_every_public_member(self) -> None:
        page = pydoc.plain(pydoc.render_doc(zeton.Tokenizer))
        start = page[: page.index("Method resolution order")]
        members = {name for name in dir(zeton.Tokenizer) if not name.startswith("_")}
        assert members <= set(re.findall(r"\w+", start))

    def test_shows_inherited_methods_as_the_tokenizers_own(self) -> None:
        page = pydoc.plain(pydoc.render_doc(zeton.Tokenizer))
        own = page[page.index("Methods defined here") :].split("inherited from")[0]
        for name in ("encode", "encode_batch", "decode", "count", "save", "with_specials"):
            assert re.search(rf"(?m)^ \|  {name}\(self", own), name

    @pytest.mark.parametrize("name", ["encode", "decode", "count", "encode_batch", "split"])
    def test_native_methods_stay_native(self, name: str) -> None:
        method = vars(zeton.Tokenizer)[name]
        assert method is vars(_engine.TokenizerCore)[name]
        assert isinstance(method, types.MethodDescriptorType)

    def test_completion_shows_public_names_only(self) -> None:
        assert not [name for name in dir(CL100K) if name.startswith("_")]
        assert {"encode", "decode", "save", "show", "vocab_size"} <= set(dir(CL100K))
        public = {name for name in dir(zeton.Tokenizer) if not name.startswith("_")}
        assert set(dir(CL100K)) == public


class TestTypes:
    def test_a_type_checker_refuses_a_misspelt_option(self, tmp_path: Path) -> None:
        good = "zeton.train(['a'], vocab_size=300, specials=['<s>'], min_count=2)"
        snippet = f"""import zeton
def words(text: str) -> list[str]: return [text]
{good}
zeton.train(['a'], vocab_size=300, special=['<s>'])
zeton.count_files(['a'], fields='text')
zeton.train_files(['a'], vocab_size=300, journal='x')
zeton.train(['a'], vocab_size=300, min_count='2')
zeton.train(['a'], vocab_size=300).truncate('a', n=1)
zeton.train(['a'], vocab_size=300, split=words).truncate('a', n=1)
def size(tok: zeton.TextEncoder) -> int: return tok.vocab_size
size(zeton.load('a'))
size(zeton.load('a', split=words))
"""
        file = tmp_path / "snippet.py"
        file.write_text(snippet)
        out, errors, _ = mypy.run(
            [
                "--config-file",
                str(ROOT / "pyproject.toml"),
                "--cache-dir",
                str(tmp_path / "cache"),
                "--follow-imports=silent",
                str(file),
            ]
        )
        wrong = {int(line) for line in re.findall(r"snippet\.py:(\d+): error", out)}
        assert wrong == {4, 5, 6, 7, 9}, out + errors

    def test_the_names_of_options_complete(self) -> None:
        assert {"specials", "pattern", "weights", "progress"} <= TrainOptions.__annotations__.keys()
        names = CountFilesOptions.__annotations__.keys()
        assert {"field", "checkpoint_dir", "restart", "executor"} <= names
        with pytest.raises(TypeError, match="'special'; did you mean 'specials'"):
            zeton.train(["a"], vocab_size=300, special=["<s>"])  # type: ignore[call-overload]


class TestRefusals:
    """Each error is a `zeton.Error`, of one line, with the way out."""

    @pytest.mark.parametrize(
        ("call", "line"),
        [
            (
                lambda: ANY.decoder(errors="x"),
                'errors="x" is not an error handler; give "replace", "ignore" or "strict"',
            ),
            (lambda: ANY.decoder(stop=""), "a stop string is empty; give at least one"),
            (lambda: ANY.decoder(stop=5), "stop is a str or a list of strs, not int"),
            (lambda: ANY.align("abc", other="gpt2"), "as other, not str; zeton.load"),
            (lambda: ANY.chunk("abc", n=0), "n is 0; it must be at least 1"),
            (lambda: ANY.truncate("abc", n=-1), "n is -1; it must be at least 0"),
            (lambda: ANY.truncate("abc", n="9"), "n is a number of tokens, an int, not str"),
            (lambda: ANY.truncate("abc", n=1, at="words"), "did you mean 'word'?"),
            (lambda: ANY.decoder(rewind_max=-1), "rewind_max is -1; it must be at least 0"),
            (lambda: ANY.show("abc", tokens_max=0), "tokens_max is 0; it must be at least 1"),
            (lambda: API.Tokenizer(BYTES, specials=5), "specials is a dict from name to id, not"),
            (
                lambda: API.Tokenizer(BYTES, specials={5: 5}),
                "name of a special is a str, not int",
            ),
            (lambda: API.Tokenizer(BYTES, specials={"<s>": "5"}), "an id is an int, not str"),
            (lambda: API.Tokenizer(5), "ranks is a dict from the bytes of a token"),
            (lambda: API.Tokenizer(BYTES, pattern="\ud800|[\\s\\S]"), "lone surrogate, U+D800"),
            (lambda: API.Tokenizer(BYTES, pattern=5), "pattern is a str or zeton.Rules, not int"),
            (lambda: API.train(["a"], vocab_size=300, pattern="gpt2"), "is the name of a vocab"),
            (lambda: API.train(["a"], vocab_size=300, specials=5), "specials is a list of names"),
            (lambda: zeton.pretrained("CL100K_BASE"), "did you mean 'cl100k_base'?"),
            (lambda: zeton.pretrained("gpt-4o"), "zeton.pretrained('o200k_base')"),
            (lambda: API.pretrained(5), "the name of a vocabulary is a str, not int"),
            (lambda: zeton.load("cl100k_base"), "zeton.pretrained('cl100k_base') has"),
            (lambda: zeton.load("gpt-4o"), "zeton.pretrained('o200k_base') has"),
            (lambda: zeton.load("cl100k"), "zeton.pretrained('cl100k_base') has"),
        ],
    )
    def test_says_the_way_out(self, call: Any, line: str) -> None:
        with pytest.raises(zeton.Error) as raised:
            call()
        assert line in str(raised.value)
        assert "\n" not in str(raised.value)

    @pytest.mark.parametrize(
        ("content", "line"),
        [
            (
                '{"version": "1.0", "added_tokens": [], "model": {}}',
                "tokenizer.json of Hugging Face",
            ),
            ("IQ== 0\nIg== 1\n", "looks like a .tiktoken file"),
        ],
    )
    def test_load_knows_files_of_other_libraries(
        self, content: str, line: str, tmp_path: Path
    ) -> None:
        (tmp_path / "tokenizer.json").write_text(content)
        with pytest.raises(zeton.Error, match=line):
            zeton.load(tmp_path / "tokenizer.json")

    @pytest.mark.parametrize("name", ["x.json", "x.pkl", "x.tiktoken", "deep/x.model"])
    def test_save_refuses_another_suffix(self, name: str, tmp_path: Path) -> None:
        with pytest.raises(zeton.errors.FileError, match=r"is saved as a \.zeton file, not as \."):
            GPT2.save(tmp_path / name)
        assert list(tmp_path.iterdir()) == []

    def test_save_takes_a_folder_with_a_version(self, tmp_path: Path) -> None:
        assert GPT2.save(tmp_path / "v1.2") == tmp_path / "v1.2" / "tokenizer.zeton"

    def test_a_missing_package_is_named_with_its_extra(self) -> None:
        code = """
import sys
for name in ("regex", "tiktoken"):
    sys.modules[name] = None
import zeton
for call in ("from zeton import reference", "zeton.pretrained('gpt2').as_tiktoken()"):
    try:
        exec(call)
    except zeton.Error as error:
        assert isinstance(error, ImportError)
        print(error)
"""
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ,
        )
        assert done.stdout.splitlines() == [
            f"{purpose} needs the package {package}, which is not installed; in a checkout of "
            f"zeton run: pip install '.[{extra}]'"
            for purpose, package, extra in [
                ("zeton.reference", "regex", "reference"),
                ("as_tiktoken", "tiktoken", "tiktoken"),
            ]
        ]
        assert import_extra("regex", "a test").__name__ == "regex"

    def test_training_on_nothing_is_refused_alike(self, tmp_path: Path) -> None:
        for call in (API.train, API.train_files):
            with pytest.raises(zeton.errors.CorpusError, match="there is no text"):
                call([], vocab_size=300)
            with pytest.raises(zeton.errors.CorpusError, match="there is no text"):
                call([tmp_path] if call is API.train_files else ["", b""], vocab_size=300)

    def test_weights_must_be_as_many_as_texts(self) -> None:
        for weights in ([5], [5, 1, 1]):
            with pytest.raises(zeton.errors.TrainError, match="weights"):
                zeton.train(["low lower", "lowest"], vocab_size=258, weights=weights)


class TestWithSpecials:
    def test_names_get_the_ids_after_the_last(self) -> None:
        tok = CL100K.with_specials(["<|im_start|>", "<|im_end|>"])
        assert tok.specials == CL100K.specials | {"<|im_start|>": 100277, "<|im_end|>": 100278}
        assert tok.vocab_size == 100279
        assert tok.encode("hi<|im_end|>", allowed_special="all") == [6151, 100278]
        assert tok.encode("hi<|im_end|>") == CL100K.encode("hi<|im_end|>")
        assert isinstance(tok, zeton.Tokenizer)
        assert CL100K.vocab_size == 100277

    def test_a_dict_gives_ids_also_in_a_gap(self) -> None:
        tok = CL100K.with_specials({"<|gap|>": 100256, "<|far|>": 200000})
        assert tok.decode([100256, 200000]) == "<|gap|><|far|>"

    def test_makes_chat_templates_work(self) -> None:
        from zeton.chat import CHATML

        tok = CL100K.with_specials(["<|im_start|>", "<|im_end|>"])
        ids = CHATML.render([{"role": "user", "content": "hi"}], tokenizer=tok).ids
        assert tok.decode(ids).startswith("<|im_start|>user\nhi<|im_end|>")

    def test_keeps_the_file_and_the_kind(self, tmp_path: Path) -> None:
        tok = GPT2.with_specials(["<s>"])
        assert zeton.load(tok.save(tmp_path)) == tok
        assert tok.made_by == GPT2.made_by
        by_function = zeton.train(
            ["low low"] * 9, vocab_size=257, split=lambda text: [text]
        ).with_specials(["<s>"])
        assert (
            by_function.encode("low<s>", allowed_special="all")[-1] == by_function.specials["<s>"]
        )

    @pytest.mark.parametrize(
        ("specials", "line"),
        [
            (["<|endoftext|>"], "has the special '<|endoftext|>' already, with id 50256"),
            ({"<s>": 5}, "id 5 for the special '<s>' is taken by b'&'; give an id that is free"),
            ({"<s>": 50256}, "id 50256 for the special '<s>' is taken by b'<|endoftext|>'"),
            ({"<s>": 60000, "<t>": 60000}, "the specials '<s>' and '<t>' both have id 60000"),
            (["<s>", "<s>"], "the special '<s>' is given 2 times"),
            ("<s>", "specials is a list of names or a dict from name to id, not str"),
            ([5], "the name of a special is a str, not int"),
            ({"<s>": -1}, "-1"),
        ],
    )
    def test_refuses_a_clash_by_name(self, specials: Any, line: str) -> None:
        with pytest.raises(zeton.Error) as raised:
            GPT2.with_specials(specials)
        assert line in str(raised.value)
