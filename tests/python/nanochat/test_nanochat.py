"""`zeton.nanochat` against nanochat's way: rustbpe trains, tiktoken encodes, pickle keeps."""

import io
import json
import os
import pickle
import pickletools
import subprocess
import sys
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import rustbpe
import tiktoken
from hypothesis import given
from hypothesis import strategies as st

import zeton
from support.nanochat_rules import Chat, chats, render
from support.strategies import odd_text
from zeton.nanochat import (
    SPECIAL_TOKENS,
    SPLIT_PATTERN,
    RustBPETokenizer,
    encoding_pickle,
    get_token_bytes,
    get_tokenizer,
)

TEXTS = [Path(zeton.__file__).with_name(name).read_text() for name in ("reference.py", "errors.py")]
VOCAB_SIZE = 600


@cache
def theirs() -> tiktoken.Encoding:
    """Train as nanochat does: rustbpe, then tiktoken, with the specials after the ranks."""
    trainer = rustbpe.Tokenizer()
    trainer.train_from_iterator(TEXTS, VOCAB_SIZE - 9, pattern=SPLIT_PATTERN)
    ranks = {bytes(token): rank for token, rank in trainer.get_mergeable_ranks()}
    specials = {name: len(ranks) + at for at, name in enumerate(SPECIAL_TOKENS)}
    return tiktoken.Encoding(
        "rustbpe",
        pat_str=trainer.get_pattern(),
        mergeable_ranks=ranks,
        special_tokens=specials,
    )


@cache
def ours() -> RustBPETokenizer:
    return RustBPETokenizer.train_from_iterator(iter(TEXTS), VOCAB_SIZE)


def rendered_by_theirs(chat: Chat) -> tuple[list[int], list[int]]:
    return render(chat, theirs().encode_ordinary, theirs().encode_single_token)


# ---- training ----


def test_training_gives_the_same_ranks_and_specials() -> None:
    assert ours().enc._mergeable_ranks == theirs()._mergeable_ranks
    assert ours().enc._special_tokens == theirs()._special_tokens
    assert ours().get_vocab_size() == theirs().n_vocab == VOCAB_SIZE
    assert ours().get_special_tokens() == set(SPECIAL_TOKENS)
    assert ours().get_bos_token_id() == theirs().encode_single_token("<|bos|>") == VOCAB_SIZE - 9


def test_training_refuses_what_cannot_be() -> None:
    with pytest.raises(zeton.Error, match="265"):
        RustBPETokenizer.train_from_iterator(TEXTS, 264)
    with pytest.raises(zeton.Error, match="buffer_size is 0"):
        RustBPETokenizer.train_from_iterator(TEXTS, 300, buffer_size=0)


@pytest.mark.parametrize("make", [theirs, lambda: ours().enc, lambda: ours().tokenizer])
def test_any_encoding_is_taken(make: Any) -> None:
    tok = RustBPETokenizer(make(), "<|bos|>")
    assert tok.encode("hello", prepend="<|bos|>") == ours().encode("hello", prepend="<|bos|>")


def test_what_is_no_encoding_is_refused() -> None:
    with pytest.raises(TypeError, match="enc is an Encoding, not int"):
        RustBPETokenizer(5, "<|bos|>")


def test_a_published_encoding_has_another_first_special() -> None:
    tok = RustBPETokenizer.from_pretrained("gpt2")
    assert tok.get_bos_token_id() == 50256
    assert tok("hello world") == [31373, 995]
    with pytest.raises(zeton.Error, match="user_start"):
        tok.render_conversation([{"role": "user", "content": "hi"}])


# ---- encoding ----


@given(odd_text, st.lists(odd_text, max_size=4))
def test_texts_and_lists_are_encoded(text: str, texts: list[str]) -> None:
    tok, enc = ours(), theirs()
    bos, end = enc.encode_single_token("<|bos|>"), 97
    assert tok.encode(text) == tok(text) == enc.encode_ordinary(text)
    assert tok.encode(text, prepend="<|bos|>", append=end) == [bos, *enc.encode_ordinary(text), end]
    rows = [[bos, *enc.encode_ordinary(one)] for one in texts]
    assert tok.encode(texts, prepend=bos, num_threads=2) == rows
    assert tok.decode(tok.encode(text)) == text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "replace"
    )


def test_a_special_in_a_text_is_ordinary() -> None:
    assert VOCAB_SIZE - 9 not in ours().encode("<|bos|>")
    assert ours().encode_special("<|bos|>") == VOCAB_SIZE - 9
    assert ours().id_to_token(VOCAB_SIZE - 9) == "<|bos|>"
    assert ours().decode_single_token_bytes(97) == b"a"


def test_a_list_is_refused_as_in_nanochat() -> None:
    with pytest.raises(TypeError, match="a text is a str, not bytes"):
        ours().encode([b"a"])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="max_workers"):
        ours().encode(["a"], num_threads=0)
    assert ours().encode("a", prepend=b"<|bos|>") == [VOCAB_SIZE - 9, 97]  # type: ignore[call-overload]


@pytest.mark.parametrize("text", [("a",), b"a", None, 5])
def test_other_inputs_are_refused(text: Any) -> None:
    with pytest.raises(ValueError, match="Invalid input type"):
        ours().encode(text)


def test_an_unknown_special_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        ours().encode("a", prepend="<|nothing|>")


# ---- chats ----


@given(chats(), st.one_of(st.none(), st.integers(0, 60)))
def test_chats_are_rendered_and_cut_alike(chat: Chat, max_tokens: int | None) -> None:
    ids, mask = rendered_by_theirs(chat)
    conversation = {"messages": chat}
    assert ours().render_conversation(conversation) == (ids[:2048], mask[:2048])
    found = ours().render_conversation(conversation, max_tokens=max_tokens)
    assert found == (ids[:max_tokens], mask[:max_tokens])


@given(chats(), st.booleans())
def test_chats_are_coloured_alike(chat: Chat, with_token_id: bool) -> None:  # noqa: FBT001
    ids, mask = rendered_by_theirs(chat)
    shown = []
    for number, learned in zip(ids, mask, strict=True):
        text = theirs().decode([number])
        shown.append(f"\033[9{2 if learned else 1}m{text}\033[0m")
        shown += [f"\033[90m({number})\033[0m"] if with_token_id else []
    found = ours().visualize_tokenization(ids, mask, with_token_id=with_token_id)
    assert found == "|".join(shown)


@given(chats())
def test_a_completion_ends_where_the_answer_begins(chat: Chat) -> None:
    start = theirs().encode_single_token("<|assistant_start|>")
    if chat[-1]["role"] == "assistant":
        before, _ = rendered_by_theirs(chat[:-1])
        assert ours().render_for_completion({"messages": chat}) == [*before[:2048], start]
    else:
        with pytest.raises(zeton.Error, match="not the assistant's"):
            ours().render_for_completion({"messages": chat})


def test_a_long_chat_keeps_its_last_question_when_asked_to() -> None:
    turns = [("user", "first " * 90), ("assistant", "no"), ("user", "last?"), ("assistant", "yes")]
    chat = {"messages": [{"role": role, "content": text} for role, text in turns]}
    asked = ours().encode("last?")
    assert asked[-1] not in ours().render_for_completion(chat, max_tokens=50)
    for ids in (
        ours().render_for_completion(chat, max_tokens=50, keep="last"),
        ours().render_conversation(chat, max_tokens=50, keep="last")[0],
    ):
        assert "last?" in ours().decode(ids)
        assert len(ids) <= 50


@pytest.mark.parametrize(
    "conversation",
    [
        {"messages": []},
        {"messages": [{"role": "system", "content": "be kind"}]},
        {"messages": [{"role": "assistant", "content": "hi"}]},
        {"messages": [{"role": "user", "content": ["hi"]}]},
        {},
        None,
    ],
)
def test_what_is_no_chat_is_refused(conversation: Any) -> None:
    for call in (ours().render_conversation, ours().render_for_completion):
        with pytest.raises(zeton.errors.ChatError):
            call(conversation)


# ---- folders ----


def saved(folder: Path, **options: bool) -> Path:
    ours().save(folder, **options)
    return folder


def test_a_folder_comes_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = saved(tmp_path / "tokenizer")
    assert str(folder) in capsys.readouterr().out
    assert RustBPETokenizer.from_directory(folder).tokenizer == ours().tokenizer


def test_tiktoken_itself_loads_what_is_saved(tmp_path: Path) -> None:
    with (saved(tmp_path) / "tokenizer.pkl").open("rb") as file:
        enc = pickle.load(file)  # noqa: S301 - as nanochat does.
    assert type(enc) is tiktoken.Encoding
    assert enc.name == "rustbpe"
    assert enc.encode("hello <|bos|>", allowed_special="all") == ours().encode(
        "hello ", append="<|bos|>"
    )


def test_the_pickle_can_be_left_out(tmp_path: Path) -> None:
    saved(tmp_path, pickle=False)
    assert not (tmp_path / "tokenizer.pkl").exists()
    assert RustBPETokenizer.from_directory(tmp_path).tokenizer == ours().tokenizer


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_what_nanochat_saved_is_read(tmp_path: Path, protocol: int) -> None:
    (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(theirs(), protocol))
    assert RustBPETokenizer.from_directory(tmp_path).tokenizer == ours().tokenizer


def test_a_pickle_of_our_own_class_is_read() -> None:
    assert encoding_pickle.loads(pickle.dumps(ours().enc)).tokenizer == ours().tokenizer
    gpt2 = zeton.tiktoken.get_encoding("gpt2")  # It is pickled as its name.
    assert encoding_pickle.loads(pickle.dumps(gpt2)) is gpt2


def test_two_files_that_disagree_are_refused(tmp_path: Path) -> None:
    saved(tmp_path)
    other = RustBPETokenizer.train_from_iterator(TEXTS, VOCAB_SIZE - 1)
    (tmp_path / "tokenizer.pkl").write_bytes(encoding_pickle.dumps(other.enc))
    with pytest.raises(zeton.Error, match="differ; remove the one that is out of date"):
        RustBPETokenizer.from_directory(tmp_path)


def test_two_files_that_mean_the_same_are_taken(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(theirs()))
    assert RustBPETokenizer.from_directory(tmp_path).tokenizer == ours().tokenizer


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"neither tokenizer\.zeton nor tokenizer\.pkl; .*"):
        RustBPETokenizer.from_directory(tmp_path)
    with pytest.raises(OSError, match="the path is empty"):
        RustBPETokenizer.from_directory("")


def test_saving_removes_what_belonged_to_another_tokenizer(tmp_path: Path) -> None:
    other = RustBPETokenizer.train_from_iterator(TEXTS, VOCAB_SIZE - 1)
    other.save(tmp_path)
    (tmp_path / "token_bytes.pt").write_bytes(b"old")
    saved(tmp_path, pickle=False)
    assert RustBPETokenizer.from_directory(tmp_path).tokenizer == ours().tokenizer
    pt = tmp_path / "token_bytes.pt"
    assert not pt.exists() or pt.read_bytes() != b"old"


def test_ranks_of_any_kind_of_int_are_saved(tmp_path: Path) -> None:
    ranks = {bytes([byte]): np.int64(byte) for byte in range(256)}
    parts: dict[str, Any] = {"mergeable_ranks": ranks, "special_tokens": {"<|bos|>": np.int32(300)}}
    RustBPETokenizer(tiktoken.Encoding("own", pat_str="(?s).", **parts), "<|bos|>").save(tmp_path)
    assert RustBPETokenizer.from_directory(tmp_path).get_vocab_size() == 301


def test_a_link_to_nowhere_is_not_passed_over(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "tokenizer.zeton").unlink()
    (tmp_path / "tokenizer.zeton").symlink_to(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        RustBPETokenizer.from_directory(tmp_path)


def test_the_functions_use_the_folder_of_nanochat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NANOCHAT_BASE_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError):
        get_tokenizer()
    with pytest.raises(FileNotFoundError, match="tok_train"):
        get_token_bytes()
    saved(tmp_path / "tokenizer")
    assert get_tokenizer().tokenizer == ours().tokenizer
    assert np.asarray(get_token_bytes()).tolist() == ours().token_bytes().tolist()


def test_token_bytes_are_the_lengths_of_tokens(tmp_path: Path) -> None:
    counts = ours().token_bytes()
    expected = [len(theirs().decode_single_token_bytes(number)) for number in range(VOCAB_SIZE - 9)]
    assert counts.tolist() == [*expected, *[0] * 9]
    assert counts.dtype == np.int32
    saved(tmp_path)
    assert np.load(tmp_path / "token_bytes.npy", allow_pickle=False).tolist() == counts.tolist()


def test_token_bytes_are_safetensors(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    tensors = load_file(saved(tmp_path) / "token_bytes.safetensors")
    assert tensors["token_bytes"].tolist() == ours().token_bytes().tolist()
    assert tensors["token_bytes"].dtype == np.int32


def test_torch_loads_token_bytes_without_running_code(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    tensor = torch.load(saved(tmp_path) / "token_bytes.pt", weights_only=True)
    assert (tensor.dtype, tensor.tolist()) == (torch.int32, ours().token_bytes().tolist())


# ---- hostile pickles ----


class Gadget:
    """Pickles as a call of something that Python's own unpickler would make."""

    def __init__(self, function: Any, *arguments: object) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple[Any, ...]:
        return self.call


def gadgets(file: Path) -> dict[str, bytes]:
    """Make pickles that write a file when they are loaded, each in another way."""
    write = f"open({str(file)!r}, 'w').close()"
    run = ([sys.executable, "-c", write],)
    state = {"name": "a", "pat_str": "b", "mergeable_ranks": {}, "special_tokens": {}}
    inside = pickle.dumps(state | {"name": Gadget(os.system, f"touch {file}")}, 3)[2:-1]
    return {
        "os.system": pickle.dumps(Gadget(os.system, f"touch {file}")),
        "builtins.exec": pickle.dumps(Gadget(exec, write)),
        "builtins.eval": pickle.dumps(Gadget(eval, write)),
        "subprocess.check_output": pickle.dumps(Gadget(subprocess.check_output, *run)),
        "pickle.loads": pickle.dumps(Gadget(pickle.loads, pickle.dumps(Gadget(exec, write)))),
        "functools.partial": pickle.dumps(Gadget(partial, exec, write)),
        "importlib": pickle.dumps(Gadget(__import__, "antigravity")),
        "in the state": b"\x80\x03ctiktoken.core\nEncoding\n)\x81" + inside + b"b.",
        "protocol 0": b"cposix\nsystem\n(S'touch " + str(file).encode() + b"'\ntR.",
        "INST": b"(S'touch " + str(file).encode() + b"'\niposix\nsystem\n.",
        "OBJ": b"(cposix\nsystem\nS'touch " + str(file).encode() + b"'\no.",
        "attribute of the class": b"\x80\x04\x8c\x0dtiktoken.core\x8c\x11Encoding.__init__\x93.",
        "called class": b"\x80\x03ctiktoken.core\nEncoding\n(U\x01at\x81.",
        "REDUCE of the class": b"\x80\x03ctiktoken.core\nEncoding\n)R.",
        "extension": b"\x80\x02\x82\x01.",
        "persistent": b"Pfile\n.",
        "names that are no names": b"\x80\x04}}\x93.",
    }


@pytest.mark.parametrize("name", gadgets(Path("x")))
def test_a_hostile_pickle_runs_nothing(name: str, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    (tmp_path / "tokenizer.pkl").write_bytes(gadgets(touched)[name])
    with pytest.raises(zeton.Error, match=r"tokenizer\.pkl: the pickle (names|has|makes|holds)"):
        RustBPETokenizer.from_directory(tmp_path)
    assert not touched.exists()


def test_the_gadgets_do_run_in_pythons_own_unpickler(tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    for name in ("os.system", "builtins.exec", "protocol 0", "INST", "in the state"):
        with suppress(ValueError, TypeError, AttributeError, OverflowError):
            pickle.loads(gadgets(touched)[name])  # noqa: S301 - so the test above could fail.
        assert touched.exists(), name
        touched.unlink()


def test_what_is_refused_is_named(tmp_path: Path) -> None:
    with pytest.raises(zeton.Error, match=r"names posix\.system"):
        encoding_pickle.loads(gadgets(tmp_path / "x")["os.system"])
    with pytest.raises(zeton.Error, match="instruction PERSID 'file'"):
        encoding_pickle.loads(b"Pfile\n.")


@given(st.binary(max_size=40))
def test_any_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(zeton.Error):
        encoding_pickle.loads(content)


@given(st.data())
def test_a_damaged_pickle_is_refused_or_valid(data: st.DataObject) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    enc = zeton.tiktoken.Encoding(
        "own", pat_str="(?s).", mergeable_ranks=ranks, special_tokens={"<s>": 300}
    )
    content = bytearray(encoding_pickle.dumps(enc))
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] = data.draw(st.integers(0, 255))
    try:
        found = encoding_pickle.loads(bytes(content))
    except zeton.Error:
        return
    assert isinstance(found, zeton.tiktoken.Encoding)


def colliding(number: int) -> bytes:
    """Return the instruction that pushes an int whose hash is 0."""
    value = (number * ((1 << 61) - 1)).to_bytes(16, "little")
    return b"\x8a\x10" + value


def test_a_pickle_that_asks_for_much_time_or_memory_is_refused() -> None:
    for content in (
        b"\x80\x03}r\xff\xff\xff\x7f.",  # A memo of 2**31 places.
        b"\x80\x05\x96" + (1 << 40).to_bytes(8, "little") + b".",  # A bytearray of a terabyte.
        b"\x80\x04\x8e" + (1 << 40).to_bytes(8, "little") + b".",
        b"\x80\x03}(" + b"}" * 100_000 + b"u" * 50_000 + b".",
        # Dicts within dicts, each twice in the next: to show them would take for ever.
        b"\x80\x04}\x94" + b"}(K\x00h\x00K\x01h\x00u\x94" * 40 + b"}\x93.",
        b"\x80\x04" + b"}" * 4000 + b"K\x00s" * 3000 + b"}\x93.",
        # Keys of one hash, which would make a dict slow.
        b"\x80\x04}(" + b"".join(colliding(number) + b"K\x00" for number in range(900)) + b"u.",
        b"\x80\x04" + b")\x94" * 3_000_000 + b".",
    ):
        with pytest.raises(zeton.Error):
            encoding_pickle.loads(content)


def test_a_name_in_a_pickle_is_that_of_a_published_encoding() -> None:
    named = b"\x80\x03ctiktoken.core\nEncoding\n)\x81X\x04\x00\x00\x00mineb."
    with pytest.raises(zeton.Error, match="names the encoding 'mine'"):
        encoding_pickle.loads(named)


def test_a_pickle_is_a_program_that_pickletools_accepts() -> None:
    pickletools.dis(encoding_pickle.dumps(ours().enc), io.StringIO())


def test_the_specials_are_nanochats() -> None:
    assert json.dumps(SPECIAL_TOKENS[:3]) == '["<|bos|>", "<|user_start|>", "<|user_end|>"]'
    assert len(SPECIAL_TOKENS) == 9
    assert SPLIT_PATTERN == zeton.DEFAULT_PATTERN
