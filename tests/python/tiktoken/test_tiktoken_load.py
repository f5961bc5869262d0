"""tiktoken's and GPT-2's files, read as tiktoken reads them but never downloaded."""

import hashlib
import importlib
import inspect
import json
import pickle
import socket
from pathlib import Path

import pytest
import tiktoken.load
from hypothesis import given, settings
from hypothesis import strategies as st

import zeton
from support.paths import SHARED, needs_shared
from support.strategies import BYTES, vocabs
from zeton.reference import Vocab
from zeton.tiktoken import load
from zeton.tiktoken.published_files import ADDRESSES, DIGESTS, LETTERS

URL = "https://example.com/mine.tiktoken"
LINE = b"YQ== 0\n"


@pytest.fixture(autouse=True)
def no_socket_and_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_socket(*_: object) -> None:
        pytest.fail("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")


def written(tmp_path: Path, content: bytes, name: str = "x.tiktoken") -> Path:
    file = tmp_path / name
    file.write_bytes(content)
    return file


def test_the_functions_and_their_parameters_are_tiktokens() -> None:
    for name in load.__all__:
        ours, theirs = (inspect.signature(getattr(it, name)) for it in (load, tiktoken.load))
        assert list(ours.parameters) == list(theirs.parameters)
        for parameter in ours.parameters:
            assert ours.parameters[parameter].default == theirs.parameters[parameter].default


# ---- .tiktoken files ----


@given(vocab=vocabs())
@settings(max_examples=50)
def test_writes_what_tiktoken_reads(vocab: Vocab, tmp_path: Path) -> None:
    file = tmp_path / "x.tiktoken"
    load.dump_tiktoken_bpe(dict(reversed(vocab.items())), file)
    assert load.load_tiktoken_bpe(file) == tiktoken.load.load_tiktoken_bpe(str(file)) == vocab
    ranks = [int(line.split()[1]) for line in file.read_bytes().splitlines()]
    assert ranks == sorted(vocab.values())


@pytest.mark.parametrize(
    "content", [b"", b"\n\nYQ== 0\n\n", b"YQ==  7\r\nYg==\t1", b" YQ== 007 \nYmM= 8"]
)
def test_reads_lines_as_tiktoken_does(tmp_path: Path, content: bytes) -> None:
    file = written(tmp_path, content)
    assert load.load_tiktoken_bpe(file) == tiktoken.load.load_tiktoken_bpe(str(file))


@needs_shared
@pytest.mark.parametrize(
    "name",
    ["tiktoken/llama3.tokenizer.model", "tiktoken/qwen.tiktoken", "openai/o200k_base.tiktoken"],
)
def test_published_files_are_read_as_tiktoken_reads_them(name: str, tmp_path: Path) -> None:
    file = SHARED / "vocabs" / name
    ranks = load.load_tiktoken_bpe(str(file))
    assert ranks == tiktoken.load.load_tiktoken_bpe(str(file))
    load.dump_tiktoken_bpe(ranks, str(tmp_path / "copy"))
    assert (tmp_path / "copy").read_bytes() == file.read_bytes()


def test_the_empty_token_of_whispers_file_is_read_as_tiktoken_reads_it(tmp_path: Path) -> None:
    file = written(tmp_path, b"IQ== 0\n= 1\n")
    assert load.load_tiktoken_bpe(file) == {b"!": 0, b"": 1}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"YQ==", b"YQ=="),
        (b"YQ== 0 1", b"YQ== 0 1"),
        (b"  ", b"  "),
        (b"YQ 0", b"YQ 0"),
        (b"Y!Q== 0", b"Y!Q== 0"),
        (b"YQ==YQ== 0", b"YQ==YQ== 0"),
        (LINE + b"Yg== -1", b"Yg== -1"),
        (b"YQ== +1", b"YQ== +1"),
        (b"YQ== 1_0", b"YQ== 1_0"),
        (b"YQ== 1.5", b"YQ== 1.5"),
        (b"YQ== \xd9\xa3", b"YQ== \xd9\xa3"),
        (LINE + b"YQ== 1", b"YQ== 1"),
        (LINE + b"Yg== 0", b"Yg== 0"),
        (b"\xff\x00", b"\xff\x00"),
    ],
)
def test_refuses_a_line_that_is_not_a_token_and_its_rank(
    tmp_path: Path, content: bytes, line: bytes
) -> None:
    file = written(tmp_path, content)
    with pytest.raises(zeton.errors.FormatError) as error:
        load.load_tiktoken_bpe(file)
    assert str(error.value).startswith(f"Error parsing line {line!r} in {file}: ")
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("line", [b"YQ== " + b"9" * 100_000, b"YWFh" * 100_000 + b" x"])
def test_a_long_line_is_shown_cut(tmp_path: Path, line: bytes) -> None:
    file = written(tmp_path, line)
    with pytest.raises(ValueError, match=r"Error parsing line b'Y.*'… in ") as error:
        load.load_tiktoken_bpe(file)
    assert len(str(error.value)) < 400


def test_refuses_other_files_and_endless_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(zeton.errors.FormatError, match="Error parsing line"):
        load.load_tiktoken_bpe(written(tmp_path, pickle.dumps({"a": 1})))
    for missing in (tmp_path / "none", tmp_path / "nul\0", tmp_path, ""):
        with pytest.raises(zeton.errors.FileError, match="cannot be read"):
            load.load_tiktoken_bpe(missing)
    monkeypatch.setattr("zeton.tiktoken.load.FILE_BYTES_MAX", 100)
    for endless in (Path("/dev/zero"), written(tmp_path, LINE * 100)):
        with pytest.raises(zeton.errors.FileError, match="is larger than 100 bytes"):
            load.load_tiktoken_bpe(endless)


def test_a_dump_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, LINE)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(zeton.errors.FileError, match="No space left on device"):
        load.dump_tiktoken_bpe(BYTES, file)
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == LINE


# ---- addresses, the cache, digests ----


@pytest.mark.parametrize("address", ADDRESSES)
def test_the_address_of_an_original_gives_the_original(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    kept(tmp_path, address, b"stale")
    digest = DIGESTS[ADDRESSES[address]]
    content = load.read_file_cached(address, digest)
    assert hashlib.sha256(content).hexdigest() == digest
    assert content == load.read_file(address)
    if address.endswith(".tiktoken"):
        name = address.rpartition("/")[2].removesuffix(".tiktoken")
        assert load.load_tiktoken_bpe(address, digest) == zeton.pretrained(name).ranks()


def test_tiktokens_own_plugin_runs_on_our_loader(monkeypatch: pytest.MonkeyPatch) -> None:
    openai_public = importlib.import_module("tiktoken_ext.openai_public")

    for name in ("load_tiktoken_bpe", "data_gym_to_mergeable_bpe_ranks"):
        monkeypatch.setattr(openai_public, name, getattr(load, name))
    for name, constructor in openai_public.ENCODING_CONSTRUCTORS.items():
        assert constructor()["mergeable_ranks"] == zeton.pretrained(name).ranks()


def kept(folder: Path, address: str, content: bytes) -> Path:
    """Let tiktoken keep a file in its cache, as if it had downloaded it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        patch.setattr("tiktoken.load.read_file", lambda _: content)
        tiktoken.load.read_file_cached(address)
    (copy,) = (file for file in folder.iterdir() if file.read_bytes() == content)
    return copy


def test_reads_what_tiktoken_has_kept_of_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / name for name in ("tiktoken", "gym", "data-gym-cache")]
    for path in folders:
        kept(path, URL, path.name.encode())
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR")
    assert load.read_file_cached(URL) == b"data-gym-cache"
    monkeypatch.setenv("DATA_GYM_CACHE_DIR", str(folders[1]))
    assert load.read_file_cached(URL) == b"gym"
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folders[0]))
    assert load.read_file_cached(URL) == b"tiktoken"
    monkeypatch.chdir(folders[0])  # An empty name is no folder, not this one.
    for folder in ("", str(tmp_path / "none")):
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
        with pytest.raises(zeton.errors.FileError, match="is a network address"):
            load.read_file_cached(URL)


def test_a_kept_file_with_another_digest_is_refused_and_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = kept(tmp_path, URL, LINE)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    digest = hashlib.sha256(LINE).hexdigest()
    assert load.load_tiktoken_bpe(URL, digest) == {b"a": 0}
    with pytest.raises(ValueError, match=f"{copy} has SHA-256 {digest}, not 1234; "):
        load.load_tiktoken_bpe(URL, "1234")
    assert copy.read_bytes() == LINE


def test_a_local_file_is_read_itself_and_not_its_kept_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path, LINE)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / "cache"))
    kept(tmp_path / "cache", str(file), b"stale")
    assert load.read_file_cached(str(file)) == load.read_file_cached(file) == LINE


def test_digests_are_checked(tmp_path: Path) -> None:
    file = written(tmp_path, LINE)
    digest = hashlib.sha256(LINE).hexdigest()
    assert load.check_hash(LINE, digest)
    assert not load.check_hash(LINE + LINE, digest)
    assert load.read_file_cached(file, digest) == LINE
    message = f"{file} has SHA-256 {digest}, not {digest[::-1]}; download it again"
    with pytest.raises(zeton.errors.FormatError, match=message):
        load.read_file_cached(file, digest[::-1])


@pytest.mark.parametrize("scheme", ["http", "https", "az", "gs", "s3"])
def test_refuses_any_other_address_in_one_line(scheme: str) -> None:
    address = f"{scheme}://openaipublic.blob.core.windows.net/encodings/gpt9.tiktoken"
    message = (
        f"{address} is a network address, and zeton does not use the network; download the file"
    )
    with pytest.raises(zeton.errors.FileError, match=message) as error:
        load.read_file(address)
    assert len(str(error.value).splitlines()) == 1
    with pytest.raises(zeton.errors.FileError, match=message):
        load.load_tiktoken_bpe(address)
    with pytest.raises(zeton.errors.FileError, match=message):
        load.dump_tiktoken_bpe(BYTES, address)


# ---- GPT-2's two files ----


def spell(token: bytes) -> str:
    return "".join(LETTERS[byte] for byte in token)


def two_files(
    folder: Path, merges: list[tuple[bytes, bytes]], encoder: dict[str, int]
) -> tuple[str, str]:
    lines = ["#version: 0.2", *(f"{spell(left)} {spell(right)}" for left, right in merges)]
    bpe = written(folder, ("\n".join(lines) + "\n").encode(), "vocab.bpe")
    return str(bpe), str(written(folder, json.dumps(encoder).encode(), "encoder.json"))


pairs = st.tuples(st.binary(min_size=1, max_size=3), st.binary(min_size=1, max_size=3))


@given(
    merges=st.lists(pairs, max_size=20, unique_by=b"".join),
    order=st.permutations(range(256)),
    clobber=st.booleans(),
    specials=st.booleans(),
)
@settings(max_examples=100)
def test_two_files_are_read_as_tiktoken_reads_them(
    merges: list[tuple[bytes, bytes]],
    order: list[int],
    *,
    clobber: bool,
    specials: bool,
    tmp_path: Path,
) -> None:
    singles = order if clobber else list(LETTERS)
    tokens = [*(bytes([byte]) for byte in singles), *map(b"".join, merges)]
    encoder = {spell(token): token_id for token_id, token in enumerate(tokens)}
    if specials:
        encoder |= {"<|endoftext|>": 5000, "<|startoftext|>": 5001}
    files = two_files(tmp_path, merges, encoder)
    ranks = load.data_gym_to_mergeable_bpe_ranks(*files, clobber_one_byte_tokens=clobber)
    assert ranks == tiktoken.load.data_gym_to_mergeable_bpe_ranks(
        *files, clobber_one_byte_tokens=clobber
    )


def test_gpt2s_two_files_give_its_ranks() -> None:
    address_of = {name: address for address, name in ADDRESSES.items()}
    bpe, encoder = address_of["vocab.bpe"], address_of["encoder.json"]
    ranks = load.data_gym_to_mergeable_bpe_ranks(
        bpe, encoder, DIGESTS["vocab.bpe"], DIGESTS["encoder.json"]
    )
    assert ranks == zeton.pretrained("gpt2").ranks()
    for digests in (("12", None), (None, "34")):
        with pytest.raises(zeton.errors.FormatError, match="has SHA-256"):
            load.data_gym_to_mergeable_bpe_ranks(bpe, encoder, *digests)


SINGLES = {spell(bytes([byte])): rank for rank, byte in enumerate(LETTERS)}


@pytest.mark.parametrize(
    ("bpe", "encoder", "message"),
    [
        (b"", SINGLES | {"ab": 256}, "b'ab' has rank None in .* and id 256 in "),
        (b"a b\n", SINGLES, "b'ab' has rank 256 in .* and id None in "),
        (b"", SINGLES | {"a": 7}, "b'a' has rank 64 in .* and id 7 in "),
        (b"a b c\n", SINGLES, "Error parsing line b'a b c' in "),
        (b"ab\n", SINGLES, "Error parsing line b'ab' in "),
        (b"a \xe4\xb8\xad\n", SINGLES, "two tokens in GPT-2's letters"),
        (b"a \xff\n", SINGLES, "two tokens in GPT-2's letters"),
        (b"", [], "is not a JSON object"),
        (b"", SINGLES | {"中": 256}, "is not a JSON object"),
        (b"", SINGLES | {"a": "64"}, "is not a JSON object"),
        (b"", SINGLES | {"a": 64.0}, "is not a JSON object"),
    ],
)
def test_refuses_two_files_that_disagree_or_are_others(
    tmp_path: Path, bpe: bytes, encoder: object, message: str
) -> None:
    files = (
        written(tmp_path, b"#version: 0.2\n" + bpe, "vocab.bpe"),
        written(tmp_path, json.dumps(encoder).encode(), "encoder.json"),
    )
    with pytest.raises(zeton.errors.FormatError, match=message) as error:
        load.data_gym_to_mergeable_bpe_ranks(*files)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000])
def test_refuses_ids_that_are_not_json(tmp_path: Path, content: bytes) -> None:
    bpe = written(tmp_path, b"#version: 0.2\n", "vocab.bpe")
    with pytest.raises(zeton.errors.FormatError, match="is not a JSON object"):
        load.data_gym_to_mergeable_bpe_ranks(bpe, written(tmp_path, content))
