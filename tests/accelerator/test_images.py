"""Images are cached in the user's folder, and only complete files of the user's own are used."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

import zeton
from accelerator.test_tables import named, trained
from zeton.accel import CONFIGURATIONS, Configuration, FitError
from zeton.accel.tables import image_cache as kept
from zeton.accel.tables.image import digest_image, make_image
from zeton.accel.tables.image_cache import load_image


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ZETON_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "cards"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Configuration]:
    """Count how often an image is made."""
    count: list[Configuration] = []

    def make(tok: zeton.Tokenizer, shape: Configuration) -> bytes:
        count.append(shape)
        return make_image(tok, shape)

    monkeypatch.setattr(kept, "make_image", make)
    return count


def test_an_image_is_made_once(folder: Path, made: list[Configuration]) -> None:
    tok, shape = named("trained")
    images = [load_image(tok, shape) for _ in range(3)]
    assert images == [make_image(tok, shape)] * 3
    assert load_image(tok, shape.with_parameters(lanes=4, units=3)) == images[0]
    assert len(made) == 1
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_what_shapes_the_tables_names_the_image(folder: Path, made: list[Configuration]) -> None:
    tok, shape = named("trained")
    other = zeton.Tokenizer(tok.ranks() | {b"the cat sat": 4000, b"the cat ": 3999})
    digests = {
        digest_image(load_image(tok, shape)),
        digest_image(load_image(tok, shape.with_parameters(bridge_bits=12))),
        digest_image(load_image(tok, shape.with_parameters(bank_bits=12))),
    }
    with pytest.raises(FitError):
        load_image(other, shape)
    assert (len(digests), len(made), len(list(folder.iterdir()))) == (3, 4, 3)


def test_an_image_of_another_engine_is_not_used(
    folder: Path, made: list[Configuration], monkeypatch: pytest.MonkeyPatch
) -> None:
    tok, shape = named("trained")
    load_image(tok, shape)
    monkeypatch.setattr(kept, "IMAGE_ENGINE", "0.0.9-0123456789abcdef")
    load_image(tok, shape)
    assert (len(made), len(list(folder.iterdir()))) == (2, 2)


def test_cards_take_no_place_of_tokenizers(folder: Path) -> None:
    zeton.load(Path(zeton.__file__).parent / "vocabs" / "r50k_base.zeton")
    load_image(*named("trained"))
    (image,) = (path for path in folder.parent.iterdir() if path.is_file())
    for at in range(20):
        load_image(trained(), CONFIGURATIONS["small"].with_parameters(bridge_bits=6 + at % 14))
    assert image.exists()
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder.parent)] == [0o700] * 2


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[1000] ^= 1
    path.write_bytes(content)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def open_to_others(path: Path) -> None:
    path.chmod(0o622)


def link(path: Path) -> None:
    path.rename(path.with_name("other"))
    path.symlink_to("other")


@pytest.mark.parametrize("spoil", [cut, flip, empty, open_to_others, link])
def test_an_image_that_may_be_wrong_is_made_anew(
    spoil: Callable[[Path], None], folder: Path, made: list[Configuration]
) -> None:
    tok, shape = named("trained")
    image = load_image(tok, shape)
    (path,) = folder.iterdir()
    spoil(path)
    assert load_image(tok, shape) == image
    assert len(made) == 2
    assert load_image(tok, shape) == image
    assert len(made) == 2


def test_does_without_a_folder(
    folder: Path, made: list[Configuration], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZETON_CACHE", "0")
    tok, shape = named("trained")
    assert load_image(tok, shape) == load_image(tok, shape)
    assert len(made) == 2
    assert not folder.exists()


def test_an_image_that_cannot_be_written_is_no_harm(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "rename", refuse)
    tok, shape = named("trained")
    assert load_image(tok, shape) == make_image(tok, shape)
    assert list(folder.iterdir()) == []
