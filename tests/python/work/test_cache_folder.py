"""Images in the cache folder: never trusted, never needed, and the ids are the same."""

import multiprocessing
import os
import random
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import zeton
from zeton._engine import IMAGE_ENGINE, from_file, from_image, to_file, write_image
from zeton.pretrained import VOCABS
from zeton.work import cache_folder as cache

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no images on this system")

FILES = sorted(VOCABS.glob("*.zeton"))
SMALL = VOCABS / "r50k_base.zeton"
TEXT = "The quick brown fox, 中文字符 ไทย émoji 😀!\n\n  x = [1234567]; don't " * 20
IDS = from_file(SMALL.read_bytes()).encode(TEXT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Give a cache folder of the test's own, which is not there yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("ZETON_CACHE", str(path))
    yield path
    if path.is_dir() and not path.is_symlink():
        path.chmod(0o700)


def images(folder: Path) -> list[Path]:
    """List what is in a folder of images."""
    return sorted(folder.iterdir()) if folder.is_dir() else []


def reads_image(folder: Path, content: bytes | None = None) -> bool:
    """Tell whether the image in a folder is used: a load that uses it leaves it as it is."""
    content = SMALL.read_bytes() if content is None else content
    opened = cache.PrivateFolder.open(folder, make=False)
    if opened is None:
        return False
    with opened:
        image = opened.open_file(f"{content[-32:].hex()}-{IMAGE_ENGINE}{cache.SUFFIX}")
        if image is None:
            return False
        try:
            return from_image(content, image) is not None
        finally:
            os.close(image)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_ids_are_the_same_with_and_without_an_image(file: Path, folder: Path) -> None:
    content = file.read_bytes()
    plain = from_file(content)
    first = zeton.load(file)
    assert reads_image(folder, content)
    again = zeton.load(file)
    draw = random.Random(1)
    for _ in range(60):
        length = draw.randrange(400)
        points = (draw.choice([0x20, 0x7F, 0x250, 0x4E80, 0x10FFFF]) for _ in range(length))
        text = "".join(map(chr, map(draw.randrange, points))).encode(errors="replace")
        text += draw.randbytes(draw.randrange(40))
        ids = plain.encode(text)
        assert first.encode(text) == again.encode(text) == ids
        assert again.decode_bytes(ids) == text
    assert again.encode(TEXT) == first.encode(TEXT) == plain.encode(TEXT)
    assert again == first == zeton.Tokenizer._of(plain)
    assert again.ranks() == plain.ranks()
    assert again.merges() == plain.merges()
    assert again.specials == plain.specials
    assert again.made_by == plain.made_by
    assert to_file(again) == content


@pytest.mark.parametrize("name", zeton.pretrained_names())
def test_pretrained_uses_images(name: str, folder: Path) -> None:
    zeton.pretrained.cache_clear()
    first = zeton.pretrained(name)
    assert len(images(folder)) == 1
    before = images(folder)[0].stat()
    zeton.pretrained.cache_clear()
    assert zeton.pretrained(name).encode(TEXT, allowed_special="all") == first.encode(
        TEXT, allowed_special="all"
    )
    assert images(folder)[0].stat().st_mtime_ns == before.st_mtime_ns
    zeton.pretrained.cache_clear()


def test_a_small_tokenizer_has_no_image(folder: Path, tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    zeton.load(zeton.Tokenizer(ranks).save(tmp_path / "small.zeton"))
    assert not folder.exists()


def test_the_folder_and_its_images_are_for_the_user_alone(folder: Path) -> None:
    mask = os.umask(0)
    try:
        zeton.load(SMALL)
    finally:
        os.umask(mask)
    (image,) = images(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(image.stat().st_mode) == 0o600


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Make the bytes of an image."""
    path = tmp_path_factory.mktemp("image") / "image"
    content = SMALL.read_bytes()
    with path.open("wb") as file:
        write_image(from_file(content), content, file.fileno())
    return path.read_bytes()


def loads_right(folder: Path, damaged: bytes) -> None:
    """Put a damaged image in place; a load is right all the same, and makes the image anew."""
    zeton.load(SMALL)
    (path,) = images(folder)
    other = path.with_name("other")
    other.write_bytes(damaged)
    other.chmod(0o600)
    other.rename(path)
    assert not reads_image(folder)
    assert zeton.load(SMALL).encode(TEXT) == IDS
    assert reads_image(folder)
    assert images(folder) == [path]


def test_an_image_that_was_cut_is_made_anew(folder: Path, image: bytes) -> None:
    for length in (0, 1, 7, 8, 63, 64, 100, 4096, len(image) // 2, len(image) - 64, len(image) - 1):
        loads_right(folder, image[:length])
    loads_right(folder, image + b"\0")


def test_a_flipped_bit_is_seen(folder: Path, image: bytes, tmp_path: Path) -> None:
    loads_right(folder, image[:20] + bytes([image[20] ^ 1]) + image[21:])
    loads_right(folder, image[:-1] + bytes([image[-1] ^ 1]))
    content, path = SMALL.read_bytes(), tmp_path / "damaged"
    draw = random.Random(2)
    everywhere = [at * len(image) // 200 + draw.randrange(len(image) // 200) for at in range(200)]
    seen = 0
    for at in [*range(200), *everywhere]:
        damaged = bytearray(image)
        damaged[at] ^= 1 << draw.randrange(8)
        path.write_bytes(damaged)
        with path.open("rb") as file:
            read = from_image(content, file.fileno())
        # Between two rows is a gap, which nobody reads.
        assert read is None or read.encode(TEXT) == IDS
        seen += read is None
    assert seen > 390


def test_an_image_of_another_file_is_not_used(folder: Path) -> None:
    content = (VOCABS / "p50k_base.zeton").read_bytes()
    zeton.load(SMALL)
    (path,) = images(folder)
    path.rename(folder / path.name.replace(SMALL.read_bytes()[-32:].hex(), content[-32:].hex()))
    assert not reads_image(folder, content)
    assert to_file(zeton.load(VOCABS / "p50k_base.zeton")) == content


def test_a_damaged_file_is_refused_image_or_not(folder: Path, tmp_path: Path) -> None:
    zeton.load(SMALL)
    assert reads_image(folder)
    content = bytearray(SMALL.read_bytes())
    for at in (0, 9, 30, 1000, len(content) // 2, len(content) - 100):
        content[at] ^= 1
        path = tmp_path / "damaged.zeton"
        path.write_bytes(content)
        with pytest.raises(zeton.errors.FormatError):
            zeton.load(path)
        content[at] ^= 1


def open_to_all(folder: Path, _: Path) -> None:
    folder.chmod(0o777)


def open_to_the_group(_: Path, image: Path) -> None:
    image.chmod(0o620)


def linked(folder: Path, image: Path) -> None:
    elsewhere = folder.parent / "elsewhere"
    image.rename(elsewhere)
    image.symlink_to(elsewhere)


def a_folder(_: Path, image: Path) -> None:
    image.unlink()
    image.mkdir()


def a_pipe(_: Path, image: Path) -> None:
    image.unlink()
    os.mkfifo(image, 0o600)


@pytest.mark.parametrize("spoil", [open_to_all, open_to_the_group, linked, a_folder, a_pipe])
def test_what_others_could_have_written_is_not_used(
    spoil: Callable[[Path, Path], None], folder: Path
) -> None:
    zeton.load(SMALL)
    (path,) = images(folder)
    assert reads_image(folder)
    spoil(folder, path)
    assert not reads_image(folder)
    assert zeton.load(SMALL).encode(TEXT) == IDS


def test_a_foreign_image_or_folder_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeton.load(SMALL)
    assert reads_image(folder)
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert not reads_image(folder)
    assert zeton.load(SMALL).encode(TEXT) == IDS


@pytest.mark.skipif("os.geteuid() != 0", reason="only root gives files away")
@pytest.mark.parametrize("which", ["folder", "image"])
def test_what_was_given_away_is_not_used(which: str, folder: Path) -> None:
    zeton.load(SMALL)
    os.chown(folder if which == "folder" else images(folder)[0], 12345, -1)
    assert not reads_image(folder)
    assert zeton.load(SMALL).encode(TEXT) == IDS
    os.chown(folder, os.geteuid(), -1)


def test_does_without_a_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write_text("a file")
    assert zeton.load(SMALL).encode(TEXT) == IDS
    for path in (folder / "below", "/dev/null/x", "/proc/nothing", "\0"):
        monkeypatch.setattr(cache, "cache_folder", lambda path=path: Path(path))
        assert zeton.load(SMALL).encode(TEXT) == IDS
    assert folder.read_text() == "a file"
    assert images(tmp_path) == [folder]


def test_does_without_an_image_that_cannot_be_written(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(cache, "write_image", refuse)
    assert zeton.load(SMALL).encode(TEXT) == IDS
    assert images(folder) == []


def test_what_is_interrupted_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cache, "write_image", interrupt)
    with pytest.raises(KeyboardInterrupt):
        zeton.load(SMALL)
    assert images(folder) == []


@pytest.mark.parametrize("off", ["", "0", "off"])
def test_can_be_turned_off(
    off: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZETON_CACHE", off)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() is None
    assert zeton.load(SMALL).encode(TEXT) == IDS
    assert images(tmp_path) == []
    assert not folder.exists()


def test_knows_where_the_folder_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("ZETON_CACHE", "/own")
    assert cache.cache_folder() == Path("/own")
    monkeypatch.delenv("ZETON_CACHE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    assert cache.cache_folder() == Path("/cache/zeton")
    for unset in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", unset)
        assert cache.cache_folder() == tmp_path / ".cache/zeton"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache.cache_folder() == tmp_path / "Library/Caches/zeton"
    # Nothing is made in another's home, or where there is none.
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    assert cache.cache_folder() is None
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    assert cache.cache_folder() is None
    monkeypatch.setenv("ZETON_CACHE", "~/images")
    assert cache.cache_folder() == tmp_path / "nowhere/images"


def test_an_image_of_another_engine_is_ignored_and_one_day_removed(folder: Path) -> None:
    zeton.load(SMALL)
    (path,) = images(folder)
    other = path.with_name(path.name.replace(IMAGE_ENGINE, "0.0.9-0123456789abcdef"))
    path.rename(other)
    assert zeton.load(SMALL).encode(TEXT) == IDS
    assert images(folder) == sorted([path, other]), "another version may be in use"
    path.unlink()
    week = time.time() - 8 * 24 * 3600
    os.utime(other, (week, week))
    left = folder / f".{path.name}.0123456789abcdef.tmp"
    left.write_bytes(b"left by a process that was killed")
    os.utime(left, (week, week))
    made = folder / f".{path.name}.fedcba9876543210.tmp"
    made.write_bytes(b"in the making")
    own = [folder / name for name in ("disk.image", ".disk.image.tmp", "notes-2020.image")]
    for file in own:
        file.write_bytes(b"something of the user's")
        os.utime(file, (week, week))
    assert zeton.load(SMALL).encode(TEXT) == IDS
    assert images(folder) == sorted([path, made, *own])


def test_the_oldest_images_go(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "IMAGES_MAX", 2)
    names = [file.read_bytes()[-32:].hex() for file in FILES]
    for at, file in enumerate(FILES):
        zeton.load(file)
        assert {path.name[:64] for path in images(folder)} == set(names[max(0, at - 1) : at + 1])
        for path in images(folder):
            hour = 3600 * (len(FILES) - names.index(path.name[:64]))
            os.utime(path, (time.time() - hour, time.time() - hour))
    monkeypatch.setattr(cache, "IMAGES_BYTES_MAX", 1)
    shutil.rmtree(folder)
    for file, name in zip(FILES[:2], names, strict=False):
        zeton.load(file)
        assert [path.name[:64] for path in images(folder)] == [name]


def load_and_encode(_: int) -> list[int]:
    return zeton.load(SMALL).encode(TEXT)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_load_at_once(method: str, folder: Path) -> None:
    with multiprocessing.get_context(method).Pool(4) as pool:
        assert pool.map(load_and_encode, range(12), chunksize=1) == [IDS] * 12
    assert len(images(folder)) == 1
    assert reads_image(folder)


def test_a_mapped_image_outlives_its_file_and_its_tokenizer_a_fork(folder: Path) -> None:
    zeton.load(SMALL)
    tok = zeton.load(SMALL)
    shutil.rmtree(folder)
    assert tok.encode(TEXT) == IDS
    with multiprocessing.get_context("fork").Pool(1, lambda: None) as pool:
        assert pool.apply(tok.encode, (TEXT,)) == IDS


def test_a_number_that_is_no_open_file_does_no_harm() -> None:
    content = SMALL.read_bytes()
    for number in (-1, 987654):
        assert from_image(content, number) is None
        with pytest.raises(OSError, match=r"invalid|Bad file descriptor"):
            write_image(from_file(content), content, number)


def test_opens_no_socket_and_asks_for_nothing(folder: Path) -> None:
    code = (
        "import sys\n"
        "sys.addaudithook(lambda event, _: event.startswith('socket') and sys.exit(3))\n"
        f"import zeton; print(len(zeton.load({str(SMALL)!r}).encode('hello world')))"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert (done.stdout, done.stderr) == ("2\n", "")
    assert reads_image(folder)
