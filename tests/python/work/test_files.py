"""A checkpoint in the corpus's own folder is no part of the corpus, however the folder is named."""

from pathlib import Path

import pytest

import zeton
from zeton.work.files import is_inside


def test_a_path_is_inside_by_its_place_not_by_its_spelling(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to("a")
    assert is_inside(tmp_path / "a" / ".." / "a" / "b", tmp_path / "a")
    assert is_inside(tmp_path / "link" / "b", tmp_path / "a")
    assert not is_inside(tmp_path / "ab", tmp_path / "a")


@pytest.mark.parametrize("named", ["../corpus", "../link", "."])
def test_a_checkpoint_among_the_texts_is_not_counted(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "link").symlink_to("corpus")
    (tmp_path / "corpus" / "a.txt").write_text("low lower lowest " * 1000)
    monkeypatch.chdir(tmp_path / "corpus")
    before = zeton.count_files([named])
    for _ in range(2):  # The second call finds the checkpoint of the first.
        again = zeton.count_files(
            [named], checkpoint_dir="kept", checkpoint_every="1KB", on_warning=str
        )
        assert (Path("kept") / "state.json").exists()
        assert again.corpus_bytes == before.corpus_bytes
        assert again.most_common(99) == before.most_common(99)
