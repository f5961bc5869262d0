"""Files that are counted unit by unit have the counts that they have otherwise."""

import gzip
import json
import lzma
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zeton
from zeton import corpus
from zeton.corpus.formats.text import READ_BYTES
from zeton.training import count
from zeton.work.checkpoint import OtherWorkError

WORDS = [f"{number * 7919:x}" for number in range(50_000)]
SMALL = 100_000
"""Bytes of a unit, where there is no reason for more."""


def words(seed: int, size: int) -> str:
    """Make about so many bytes of text."""
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(size // 6))


def lines(seed: int, count: int) -> list[str]:
    return [json.dumps({"text": words(seed + at, 600)}) for at in range(count)]


def in_units(files: list[Path], size: int, cut: Callable[[bytes], int]) -> list[corpus.Part]:
    """Read files unit by unit; say where each part is in the corpus."""
    sizes = [file.stat().st_size for file in files]
    read: list[corpus.Part] = []
    end = corpus.Position(0, 0)
    for unit in corpus.plan(files, sizes, size, cut):
        assert unit.start == end
        end = unit.end
        assert unit.size or not unit.start.at, "a unit holds nothing"
        read += corpus.Reader(files, cut=cut, start=unit.start, end=unit.end)
    assert end == corpus.Position(len(files), 0)
    return read


def same_counts(one: zeton.Counts, other: zeton.Counts) -> bool:
    if (one.validation is None) != (other.validation is None):
        return False
    pairs = [(one, other)]
    if one.validation is not None and other.validation is not None:
        pairs.append((one.validation, other.validation))
    return all(
        (a.texts, a.corpus_bytes) == (b.texts, b.corpus_bytes)
        and a.most_common(10**6) == b.most_common(10**6)
        for a, b in pairs
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of every kind: some files large, some small, some broken."""
    folder = tmp_path_factory.mktemp("corpus")
    some = lines(1, 900)
    (folder / "a.jsonl").write_text("\n".join([*some[:400], "broken", "", *some[400:], "[]"]))
    (folder / "b.txt").write_text(words(2, 3 * READ_BYTES))
    (folder / "c.txt").write_text("")
    (folder / "d.jsonl.gz").write_bytes(gzip.compress("\n".join(some[:300]).encode()))
    (folder / "e.txt").write_text("one small text")
    packed = gzip.compress(words(3, 400_000).encode())
    (folder / "f.txt.gz").write_bytes(packed[: len(packed) // 2])
    (folder / "g.txt.xz").write_bytes(lzma.compress(b"another small text"))
    return folder


class TestPlan:
    def test_units_are_read_as_the_whole_is(self, folder: Path) -> None:
        files = [folder / name for name in ("b.txt", "c.txt", "d.jsonl.gz", "e.txt", "b.txt")]
        cut = count.Counting(None, 1, None).last_safe_cut
        whole = list(corpus.Reader(files, cut=cut))
        for size in (1, SMALL, READ_BYTES, 2 * READ_BYTES, 10**9):
            assert in_units(files, size, cut) == whole

    def test_a_text_is_cut_where_the_reader_cuts_it_even_where_cuts_are_rare(
        self, tmp_path: Path
    ) -> None:
        file = tmp_path / "a.txt"
        long = "x" * (READ_BYTES + 5)
        file.write_text(f"{words(4, 5000)} {long} {words(5, READ_BYTES)}é{long * 2} \n{long}")
        cut = count.Counting(None, 1, None).last_safe_cut
        whole = list(corpus.Reader([file], cut=cut))
        assert len(whole) > 2
        assert in_units([file], SMALL, cut) == whole
        assert in_units([file], SMALL, lambda _: 0) == list(corpus.Reader([file], cut=lambda _: 0))

    def test_lines_are_not_cut(self, tmp_path: Path) -> None:
        file = tmp_path / "a.jsonl"
        for last in ("", "\n", "\n\n"):
            some = [*lines(6, 40), json.dumps({"text": "y" * 300_000}), *lines(7, 40)]
            file.write_text("\n".join(some) + last)
            whole = list(corpus.Reader([file], cut=lambda _: 0))
            for size in (1, 700, SMALL):
                assert in_units([file], size, lambda _: 0) == whole

    def test_rows_are_cut_between_groups(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        file = tmp_path / "a.parquet"
        texts = [words(at, 400) for at in range(500)]
        pq.write_table(pa.table({"text": [*texts, None]}), file, row_group_size=64)
        units = list(corpus.plan([file], [file.stat().st_size], SMALL // 2, lambda _: 0))
        assert len(units) > 2
        assert sum(unit.size for unit in units) == file.stat().st_size
        assert all(unit.start.at % 64 == 0 for unit in units)
        found = [
            part.text
            for unit in units
            for part in corpus.Reader(
                [file], cut=lambda _: 0, start=unit.start, end=unit.end, on_error="skip"
            )
        ]
        assert found == texts

    def test_small_files_go_together(self, tmp_path: Path) -> None:
        files = [tmp_path / str(number) for number in range(10)]
        units = list(corpus.plan(files, [10] * 10, 35, lambda _: 0))
        assert [unit.end.file for unit in units] == [3, 6, 9, 10]
        many = list(corpus.plan(files * 1000, [0] * 10_000, 35, lambda _: 0))
        assert [unit.end.file for unit in many] == [4096, 8192, 10_000]
        assert list(corpus.plan([], [], 35, lambda _: 0)) == []


class TestCounts:
    @pytest.mark.parametrize("validation", [0.0, 0.2])
    def test_are_those_of_one_run(self, folder: Path, validation: float) -> None:
        said: dict[str | None, list[str]] = {None: [], "local": []}
        counts = [
            zeton.count_files(
                [folder],
                checkpoint_every="100KB",
                weights={"e.txt": 3, "b.txt": 2},
                on_error="skip",
                validation=validation,
                executor=engine,
                on_warning=said[engine].append,
            )
            for engine in (None, "local")
        ]
        assert same_counts(*counts)
        assert said[None] == said["local"]
        assert "skipped 2 lines and 1 file" in said[None][0]

    def test_the_first_refusal_is_that_of_one_run(self, folder: Path) -> None:
        messages = []
        for engine in (None, "local"):
            with pytest.raises(zeton.errors.CorpusError) as raised:
                zeton.count_files([folder], checkpoint_every="100KB", executor=engine)
            messages.append(str(raised.value))
        assert messages[0] == messages[1]
        assert "a.jsonl, line 401 is not JSON" in messages[0]

    def test_a_file_ends_where_it_is_damaged(self, tmp_path: Path) -> None:
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        file = tmp_path / "a.parquet"
        texts = [words(at, 400) for at in range(500)]
        pq.write_table(pa.table({"text": texts}), file, row_group_size=50, compression="none")
        content = bytearray(file.read_bytes())
        with pq.ParquetFile(file) as table:
            place = table.metadata.row_group(5).column(0).data_page_offset
        content[place : place + 40] = b"\xff" * 40
        file.write_bytes(content)
        said: dict[str | None, list[str]] = {None: [], "local": []}
        options = {"checkpoint_every": "30KB", "on_error": "skip"}
        counts = [
            zeton.count_files([file], executor=engine, on_warning=said[engine].append, **options)  # type: ignore[arg-type]
            for engine in (None, "local")
        ]
        assert same_counts(*counts)
        assert 0 < counts[0].texts < 500
        assert said[None] == said["local"]

    def test_paths_may_be_relative(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(folder)
        found = zeton.count_files(["b.txt", "e.txt"], executor="local")
        assert same_counts(found, zeton.count_files(["b.txt", "e.txt"]))

    def test_a_file_that_is_given_twice_counts_twice(self, folder: Path) -> None:
        files = [folder / "b.txt", folder / "e.txt", folder / "b.txt", folder / "e.txt"]
        found = zeton.count_files(files, executor="local", checkpoint_every=1, on_warning=str)
        assert same_counts(found, zeton.count_files(files, on_warning=str))
        assert found.texts == 4

    def test_very_many_units_are_merged_in_steps(self, tmp_path: Path) -> None:
        file = tmp_path / "a.jsonl"
        file.write_text("\n".join(lines(8, 80)))
        found = zeton.count_files([file], checkpoint_every=1, executor="local", validation=0.3)
        assert same_counts(found, zeton.count_files([file], validation=0.3))

    def test_nothing_to_count_is_refused_as_ever(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("")
        with pytest.raises(zeton.errors.CorpusError, match="there is no text in 1 file;"):
            zeton.count_files([tmp_path], executor="local")
        with pytest.raises(zeton.errors.CorpusError, match="there is no text in 0 files"):
            zeton.count_files([], executor="local")

    def test_progress_tells_how_far_it_is(self, folder: Path) -> None:
        told: list[zeton.Progress] = []
        zeton.count_files(
            [folder / "b.txt"], executor="local", checkpoint_every=1, progress=told.append
        )
        assert [now.stage for now in told] == ["count"] * len(told)
        assert len(told) > 2
        assert told[-1].text_bytes == told[-1].text_bytes_total
        assert told[-1].texts == 1

    def test_workers_without_an_engine_are_refused(self, folder: Path) -> None:
        with pytest.raises(zeton.errors.JobError, match="workers is for an executor"):
            zeton.count_files([folder], workers=2)

    def test_an_unknown_engine_is_refused(self, folder: Path) -> None:
        with pytest.raises(zeton.errors.JobError, match="executor='spark' is unknown"):
            zeton.count_files([folder], executor="spark")

    def test_temporary_units_go(self, folder: Path, tmp_path: Path) -> None:
        zeton.count_files([folder / "b.txt"], executor="local", temp_dir=tmp_path)
        assert list(tmp_path.iterdir()) == []


class TestJournal:
    def test_what_is_done_is_not_done_again(self, folder: Path, tmp_path: Path) -> None:
        file, journal = folder / "b.txt", tmp_path / "journal"
        expected = zeton.count_files(
            [file], executor="local", checkpoint_every=1, checkpoint_dir=journal
        )
        notes = sorted(set(journal.glob("*.json")) - {journal / "state.json"})
        assert len(notes) > 2
        notes[0].unlink()
        notes[1].with_suffix(".counts").write_bytes(b"damaged" * 10)
        (journal / ".half.counts.tmp").touch()
        before = {path: path.stat().st_mtime_ns for path in journal.glob("*.counts")}
        said: list[str] = []
        again = zeton.count_files(
            [file],
            executor="local",
            checkpoint_every=1,
            checkpoint_dir=journal,
            on_warning=said.append,
        )
        assert same_counts(again, expected)
        assert not list(journal.glob(".*"))
        assert said == [f"resuming from {journal}, which holds {len(notes) - 1} units"]
        changed = {path for path in before if path.stat().st_mtime_ns != before[path]}
        assert changed == {note.with_suffix(".counts") for note in notes[:2]}

    def test_a_changed_file_is_counted_anew(self, tmp_path: Path) -> None:
        file, journal = tmp_path / "a.jsonl", tmp_path / "journal"
        file.write_text("\n".join(lines(9, 100)))
        zeton.count_files([file], executor="local", checkpoint_every="20KB", checkpoint_dir=journal)
        file.write_text(file.read_text().replace("1", "2"))
        options = {
            "executor": "local",
            "checkpoint_every": "20KB",
            "checkpoint_dir": journal,
            "on_warning": str,
        }
        found = zeton.count_files([file], **options)  # type: ignore[arg-type]
        assert same_counts(found, zeton.count_files([file]))
        found = zeton.count_files([file], weights={"a.jsonl": 3}, **options)  # type: ignore[arg-type]
        assert same_counts(found, zeton.count_files([file], weights={"a.jsonl": 3}))

    def test_is_refused_where_others_files_are(self, folder: Path, tmp_path: Path) -> None:
        (tmp_path / "mine.json").write_text("{}")
        with pytest.raises(zeton.errors.TrainError, match=r"has 'mine\.json'"):
            zeton.count_files([folder / "b.txt"], executor="local", checkpoint_dir=tmp_path)

    def test_of_units_and_of_parts_are_not_mixed_up(self, folder: Path, tmp_path: Path) -> None:
        file, journal = folder / "b.txt", tmp_path / "journal"
        expected = zeton.count_files([file])
        for engine in ("local", None, "local"):
            if journal.exists():
                with pytest.raises(OtherWorkError, match="differs in executor"):
                    zeton.count_files(
                        [file],
                        executor=engine,
                        checkpoint_every=1,
                        checkpoint_dir=journal,
                        on_warning=str,
                    )
            found = zeton.count_files(
                [file],
                executor=engine,
                checkpoint_every=1,
                checkpoint_dir=journal,
                restart=True,
                on_warning=str,
            )
            assert same_counts(found, expected)

    def test_of_another_work_are_not_lost(self, folder: Path, tmp_path: Path) -> None:
        file, journal = folder / "b.txt", tmp_path / "journal"

        def count(**options: Any) -> zeton.Counts:
            return zeton.count_files(
                [file],
                executor="local",
                checkpoint_every=1,
                checkpoint_dir=journal,
                on_warning=str,
                **options,
            )

        count()
        units = sorted(path.name for path in journal.iterdir())
        with pytest.raises(OtherWorkError, match="differs in validation"):
            count(validation=0.5)
        assert sorted(path.name for path in journal.iterdir()) == units
        assert count(validation=0.5, restart=True).validation is not None

    def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(
        self, folder: Path, tmp_path: Path
    ) -> None:
        command = [
            *(sys.executable, "-m", "zeton", "train", str(folder), "--on-error", "skip"),
            *("-n", "2000", "--checkpoint-every", "100KB"),
        ]
        whole, out = tmp_path / "whole.zeton", tmp_path / "tok.zeton"
        subprocess.run([*command, "-o", str(whole)], check=True, capture_output=True)
        chance = random.Random(os.urandom(8))
        train = [*command, "-o", str(out), "--executor", "local"]
        for _ in range(3):
            process = subprocess.Popen(train, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            end = time.monotonic() + 60
            journal = tmp_path / "tok.zeton.checkpoint"
            while process.poll() is None and not list(journal.glob("*.json")):
                assert time.monotonic() < end, "no unit was done"
                time.sleep(0.002)
            time.sleep(chance.random() * 0.3)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        # A run may have saved before it was killed.
        subprocess.run([*train, "--force"], check=True, capture_output=True)
        assert out.read_bytes() == whole.read_bytes()
        assert sorted(file.name for file in tmp_path.iterdir()) == ["tok.zeton", "whole.zeton"]
