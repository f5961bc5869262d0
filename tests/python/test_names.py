"""The public names are what other parts and other people rely on."""

import inspect
import subprocess
import sys

import pytest

import zeton
from zeton.training.options import TrainFilesOptions, TrainOptions

MEMBERS = [
    "align",
    "as_tiktoken",
    "chunk",
    "completions",
    "count",
    "count_batch",
    "decode",
    "decode_batch",
    "decode_bytes",
    "decode_batch_bytes",
    "decode_file",
    "decoder",
    "encode",
    "encode_array",
    "encode_batch",
    "encode_batch_array",
    "encode_file",
    "encode_with_offsets",
    "encoder",
    "explain",
    "fits",
    "grammar",
    "heal",
    "info",
    "made_by",
    "merges",
    "pattern",
    "ranks",
    "rules",
    "save",
    "specials",
    "split",
    "token_at",
    "token_bytes",
    "truncate",
    "vocab_size",
]


def test_the_package_has_just_its_names() -> None:
    assert sorted(zeton.__all__) == sorted(
        [
            "Counts",
            "DEFAULT_PATTERN",
            "Error",
            "Grammar",
            "Info",
            "Progress",
            "Rules",
            "SplitTokenizer",
            "TextEncoder",
            "Tokenizer",
            "Transducer",
            "__version__",
            "accel",
            "chat",
            "count_corpus",
            "count_files",
            "errors",
            "learn",
            "load",
            "nanochat",
            "pretrained",
            "pretrained_names",
            "rules",
            "rustbpe",
            "search",
            "shards",
            "tiktoken",
            "train",
            "train_files",
        ]
    )


def test_a_tokenizer_has_its_members() -> None:
    assert set(MEMBERS) <= {name for name in dir(zeton.Tokenizer) if not name.startswith("_")}


def test_the_parameters_keep_their_names_and_order() -> None:
    def names(function: object) -> list[str]:
        return list(inspect.signature(function).parameters)  # type: ignore[arg-type]

    tok = zeton.Tokenizer
    assert names(tok.encode) == ["self", "text", "allowed_special", "prepend", "append"]
    assert names(tok.encode_array) == ["self", "text", "allowed_special", "threads"]
    assert names(tok.encode_batch) == [
        *("self", "texts", "allowed_special", "prepend", "append", "threads")
    ]
    assert names(tok.encode_batch_array) == ["self", "texts", "allowed_special", "threads"]
    assert names(tok.decode) == ["self", "ids", "errors"]
    assert names(tok.decode_batch) == ["self", "batch", "errors", "threads"]
    assert names(zeton.train)[:3] == ["texts", "vocab_size", "split"]
    assert names(zeton.train_files)[:3] == ["paths", "vocab_size", "split"]
    options = {"pattern", "rules", "specials", "initial", "threads", "memory", "progress"}
    options |= {"exact_size", "weights", "min_count", "max_token_bytes", "validation", "report"}
    for taken in (TrainOptions, TrainFilesOptions):
        assert options <= taken.__annotations__.keys()


def test_every_refusal_is_an_error_and_something_familiar() -> None:
    kinds = [getattr(zeton.errors, name) for name in zeton.errors.__all__ if name != "Error"]
    assert all(issubclass(kind, zeton.Error) for kind in kinds)
    assert all(
        issubclass(kind, (ValueError, KeyError, OSError, TypeError, ImportError)) for kind in kinds
    )


def test_every_name_is_there_when_it_is_asked_for() -> None:
    code = "import zeton; print(*(type(getattr(zeton, name)).__name__ for name in zeton.__all__))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split().count("module") == 9
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = zeton.nothing


def test_nothing_opens_a_socket() -> None:
    """The hook is called before a socket is made, an address looked up, or a connection begun."""
    code = """
import sys

def refuse(event, arguments):
    if event.startswith("socket."):
        raise RuntimeError(f"{event} {arguments}")

sys.addaudithook(refuse)
import zeton, zeton.chat, zeton.rustbpe, zeton.tiktoken.load
from zeton.nanochat import RustBPETokenizer, tok_eval, tok_train
from zeton.tiktoken import published_files
for name in zeton.tiktoken.list_encoding_names():
    zeton.tiktoken.get_encoding(name).encode("hi")
for address in published_files.ADDRESSES:
    zeton.tiktoken.load.read_file_cached(address)
RustBPETokenizer.from_pretrained("gpt2").encode("hi")
try:
    zeton.tiktoken.load.read_file_cached("https://127.0.0.1/a.tiktoken")
except zeton.Error as error:
    print(error)
import socket
try:
    socket.socket()
except RuntimeError:
    print("and the hook works")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    address, works = done.stdout.splitlines()
    assert "zeton does not use the network" in address
    assert works == "and the hook works"


def test_importing_the_package_does_not_import_numpy() -> None:
    code = "import sys, zeton; zeton.pretrained('gpt2').encode('hi'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
