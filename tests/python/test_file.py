"""Vocabulary <-> file: saving, loading, and what is refused."""

import copy
import pickle
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given

import zeton
from support.strategies import BYTES, vocabs
from zeton._engine import to_file
from zeton.reference import Vocab
from zeton.work import files

TOK = zeton.Tokenizer(BYTES | {b"ab": 256, b"abc": 300}, specials={"<|end|>": 400})


@given(vocab=vocabs())
def test_a_file_holds_the_whole_tokenizer(vocab: Vocab) -> None:
    tok = zeton.Tokenizer(vocab, specials={"<|é|>": 5000})
    again = pickle.loads(pickle.dumps(tok))  # noqa: S301
    assert again == tok
    assert again.ranks() == vocab
    assert again.specials == {"<|é|>": 5000}
    assert to_file(again) == to_file(tok)


def test_saves_and_loads_a_file_or_a_folder(tmp_path: Path) -> None:
    assert TOK.save(tmp_path / "a.zeton") == tmp_path / "a.zeton"
    assert TOK.save(tmp_path / "new" / "folder") == tmp_path / "new" / "folder" / "tokenizer.zeton"
    for place in ("a.zeton", "new/folder", "new/folder/tokenizer.zeton"):
        loaded = zeton.load(tmp_path / place)
        assert loaded == TOK
        assert loaded.made_by == {"version": zeton.__version__}
        assert loaded.encode("abcx<|end|>", allowed_special="all") == [300, 120, 400]


def test_a_saved_file_replaces_the_old_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.zeton").write_bytes(b"old")
    TOK.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.zeton"]
    assert stat.S_IMODE((tmp_path / "tokenizer.zeton").stat().st_mode) & 0o444 == 0o444
    assert zeton.load(tmp_path) == TOK


def test_a_save_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TOK.save(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(zeton.errors.FileError, match="No space left on device"):
        zeton.Tokenizer(BYTES).save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["tokenizer.zeton"]
    assert zeton.load(tmp_path) == TOK


def test_refuses_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    for place in (tmp_path / "a.txt", tmp_path / "a.txt" / "x.zeton", tmp_path / "nul\0.zeton", ""):
        with pytest.raises(zeton.errors.FileError):
            TOK.save(place)
    (tmp_path / "folder.zeton").mkdir()
    with pytest.raises(zeton.errors.FileError, match="it is a folder"):
        TOK.save(tmp_path / "folder.zeton")


def refusal(path: Path) -> str:
    with pytest.raises(zeton.Error) as error:
        zeton.load(path)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def test_refuses_a_file_that_is_not_there_or_not_one(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No such file"):
        zeton.load(tmp_path)
    for path in ("", "nul\0byte"):
        with pytest.raises(zeton.errors.FileError):
            zeton.load(path)
    assert "tokenizer.zeton cannot be read" in refusal(tmp_path)
    other = tmp_path / "x.zeton"
    other.write_bytes(pickle.dumps({"a": 1}))
    assert refusal(other).endswith("this is not a .zeton file; it does not begin with `zeton`")


def test_refuses_truncation_at_every_byte_and_every_flipped_bit(tmp_path: Path) -> None:
    """The engine's own tests try every bit; here every seventh byte, through the face."""
    file = tmp_path / "x.zeton"
    content = to_file(TOK)
    for at in range(0, len(content), 7):
        file.write_bytes(content[:at])
        assert isinstance(refusal(file), str)
        file.write_bytes(content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :])
        assert isinstance(refusal(file), str)


def test_refuses_a_version_from_the_future(tmp_path: Path) -> None:
    file = tmp_path / "x.zeton"
    content = to_file(TOK)
    file.write_bytes(content[:8] + b"\x07\x00" + content[10:])
    assert "format version 7 and this zeton reads up to 2; update zeton" in refusal(file)


def test_refuses_a_file_larger_than_any_tokenizer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TOK.save(tmp_path)
    monkeypatch.setattr("zeton.tokenizer.FILE_BYTES_MAX", 100)
    assert "is larger than 100 bytes" in refusal(tmp_path)
    assert "is larger than 100 bytes" in refusal(Path("/dev/zero"))  # Its size is 0, and no end.


def test_loading_opens_no_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TOK.save(tmp_path)

    def no_socket(*_: object) -> None:
        pytest.fail("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    zeton.load(tmp_path)
    zeton.pretrained.__wrapped__("gpt2")


@pytest.mark.parametrize(
    ("ranks", "specials", "message"),
    [
        ({b"a": 0}, {}, "byte 0x00 has no token; a vocabulary must hold all 256 bytes"),
        (BYTES | {b"ab": 97}, {}, 'id 97 is both b"a" and b"ab"'),
        (BYTES | {b"": 256}, {}, "id 256 is an empty token"),
        (BYTES | {b"ab": -1}, {}, "id -1 is out of range; ids go from 0 to 2147483647"),
        (
            BYTES | {b"ab": 2**40},
            {},
            "id 1099511627776 is out of range; ids go from 0 to 2147483647",
        ),
        (BYTES, {"": 256}, "the special with id 256 is empty"),
        (BYTES, {"<s>": 97}, 'the special "<s>" has id 97, which is token b"a"'),
        (BYTES, {"<s>": -5}, "id -5 is out of range"),
        (
            BYTES,
            {"x" * 999 + str(n): 256 + n for n in range(2000)},
            "they may have at most 1048576",
        ),
        (BYTES, {"x" * 2000: 256}, "a special has 2000 bytes; it may have at most 1024"),
    ],
)
def test_refuses_what_is_no_vocabulary(
    ranks: Vocab, specials: dict[str, int], message: str
) -> None:
    with pytest.raises(zeton.Error, match=message) as error:
        zeton.Tokenizer(ranks, specials=specials)
    assert isinstance(error.value, ValueError)


def test_copies_are_the_same_and_equality_is_by_content() -> None:
    assert copy.copy(TOK) is TOK
    assert copy.deepcopy({"tok": TOK})["tok"] is TOK
    same = zeton.Tokenizer(TOK.ranks(), specials=TOK.specials)
    assert same == TOK
    assert hash(same) == hash(TOK)
    assert zeton.Tokenizer(BYTES) != TOK
    assert zeton.Tokenizer(TOK.ranks(), specials={}) != TOK
    assert zeton.Tokenizer(TOK.ranks(), pattern="(?s).", specials=TOK.specials) != TOK
    assert TOK != "a tokenizer"


def test_a_tokenizer_is_frozen_and_says_what_it_is() -> None:
    with pytest.raises(AttributeError):
        TOK.pattern = "x"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        TOK.anything = 1  # type: ignore[attr-defined]
    assert repr(TOK).startswith("<zeton.Tokenizer vocab_size=401, pattern=")
    with_rules = zeton.Tokenizer(BYTES, rules=zeton.Rules(digits=1))
    assert '256, rules=\'{"rules":1,"digits":1}\', specials' in repr(with_rules)
    assert "<|end|>" in repr(TOK)


def test_the_name_of_a_published_vocabulary_is_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"zeton\.pretrained\('gpt2'\) has the pub"):
        zeton.load("gpt2")


def test_what_a_kill_left_behind_goes_when_the_same_file_is_saved_again(tmp_path: Path) -> None:
    killed = (
        "import os, pathlib, signal, sys, zeton.work.files as files\n"
        "def write(name):\n"
        "    name.write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_whole_by(pathlib.Path(sys.argv[1]), write)\n"
    )
    target = tmp_path / "tokenizer.zeton"
    done = subprocess.run([sys.executable, "-c", killed, str(target)], check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = tmp_path.iterdir()
    assert re.fullmatch(r"\.tokenizer\.zeton\.[0-9a-f]{16}\.tmp", left.name)
    others = [".tokenizer.zeton.tmp", ".tokenizer.zeton.notes.tmp", left.name[1:], f".a{left.name}"]
    for name in others:
        (tmp_path / name).write_text("somebody else's")
    TOK.save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"tokenizer.zeton", *others}


def test_what_another_is_writing_stays(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")

    def write(name: Path) -> None:
        TOK.save(tmp_path)  # As another process might, meanwhile.
        name.write_bytes(b"the last one")

    files.write_whole_by(tmp_path / "tokenizer.zeton", write)
    assert (tmp_path / "tokenizer.zeton").read_bytes() == b"the last one"
    assert len(list(tmp_path.iterdir())) == 1
