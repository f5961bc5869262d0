"""Memory, as people write it and as the system says."""

import pytest

from zeton import errors
from zeton.work import memory


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("2GB", 2 * 10**9),
        ("256 mb", 256 * 10**6),
        ("1.5GiB", 3 * 2**29),
        ("512k", 512_000),
        ("7", 7),
        (7, 7),
        ("3TB", 3 * 10**12),
    ],
)
def test_reads_numbers_with_and_without_units(given: int | str, expected: int) -> None:
    assert memory.parse(given) == expected


@pytest.mark.parametrize(
    "given", ["", "GB", "2 XB", "-1", "1e9", "0", 0, -5, 2**63, "9999999TB", "9" * 400]
)
def test_refuses_what_is_no_amount(given: int | str) -> None:
    with pytest.raises(errors.TrainError, match="memory is"):
        memory.parse(given)


def test_refuses_other_types() -> None:
    for given in (1.5, None, True, b"2GB"):
        with pytest.raises(TypeError, match="memory is bytes or a text"):
            memory.parse(given)  # type: ignore[arg-type]


def test_some_memory_is_free_and_this_process_has_some() -> None:
    assert memory.free() > 10**6
    assert memory.resident() >= 0


def test_what_was_read_of_files_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    contents = {
        "memory.max": "1000000000",
        "memory.current": "1000000000",
        "memory.stat": "anon 5\ninactive_file 400000000\nactive_file 7\n",
    }
    monkeypatch.setattr(memory, "_content", lambda path: contents.get(path.rpartition("/")[2], ""))
    assert memory.free() == 400_000_000
    assert memory.given_or_free(None) == 200_000_000
    contents["memory.stat"] = ""
    assert memory.given_or_free(None) == memory.LEAST
    assert memory.given_or_free("1MB") == 1_000_000
