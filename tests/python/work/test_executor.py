"""Units are done in their order, no sooner than needed, on an engine that there is."""

import pickle
import sys
from collections.abc import Iterator

import pytest

import zeton
from zeton.work.executor import run_units


def test_results_come_in_the_order_of_units() -> None:
    assert list(run_units(len, units=["abc", "", "a"])) == [(0, 3), (1, 0), (2, 1)]
    assert list(run_units(len, units=[])) == []


def test_units_are_taken_as_they_are_needed() -> None:
    taken = []

    def units() -> Iterator[int]:
        for unit in range(100):
            taken.append(unit)
            yield unit

    results = run_units(str, units=units())
    assert taken == []
    assert next(results) == (0, "0")
    assert taken == [0]


def test_what_work_raises_is_raised_as_it_is() -> None:
    error = zeton.errors.CorpusError("a.txt is not text")

    def work(unit: int) -> int:
        if unit == 2:
            raise error
        return unit

    found: list[int] = []
    with pytest.raises(zeton.errors.CorpusError) as raised:
        found.extend(result for _, result in run_units(work, units=[0, 1, 2, 3]))
    assert raised.value is error


@pytest.mark.parametrize("name", zeton.errors.__all__)
def test_every_refusal_survives_the_way_from_a_worker(name: str) -> None:
    error = getattr(zeton.errors, name)("what was found")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - ours.
    assert type(again) is type(error)
    assert str(again) == str(error) == "what was found"


@pytest.mark.parametrize("executor", ["spark", "", "Ray"])
def test_refuses_an_executor_that_there_is_not(executor: str) -> None:
    with pytest.raises(zeton.errors.JobError, match="give 'local' or 'ray'") as raised:
        run_units(len, units=[], executor=executor)
    assert "\n" not in str(raised.value)


def test_refuses_workers_that_are_no_number_of_them() -> None:
    for workers in (0, -1, 2**16):
        with pytest.raises(zeton.errors.JobError, match=r"workers=-?\d+ is out of range"):
            run_units(len, units=[], workers=workers)
    with pytest.raises(TypeError, match="workers is an int, not str"):
        run_units(len, units=[], workers="2")  # type: ignore[arg-type]


def test_without_ray_its_engine_is_refused_with_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(zeton.errors.JobError, match=r"pip install \'\.\[ray\]\'"):
        run_units(len, units=[], executor="ray")
