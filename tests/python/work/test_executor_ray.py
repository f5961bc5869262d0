"""Units on Ray: the same results and the same bytes, whatever dies. Ray runs in its own network."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import zeton
from support import networks
from support.paths import ROOT
from zeton.work.executor import run_units

pytest.importorskip("ray", reason="Ray is not here; it is the extra zeton[ray]")
pytestmark = pytest.mark.skipif(bool(networks.why_not()), reason=networks.why_not() or "can be")

BEFORE_GIVING_UP = 60
"""Seconds: no test takes nearly as long, unless something hangs."""


@pytest.fixture
def environment() -> Iterator[dict[str, str]]:
    """What Ray needs: a short path for its sockets, and a home for what it keeps."""
    folder = tempfile.mkdtemp(prefix="ray-")
    yield os.environ | {
        "HOME": folder,
        "RAY_TMPDIR": folder,
        "PYTHONPATH": str(ROOT / "python"),
        "RAY_AUTH_MODE": "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def alone() -> Iterator[networks.Network]:
    with networks.network() as made:
        yield made


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some megabytes of text and JSON lines, one of them broken."""
    folder = tmp_path_factory.mktemp("corpus")
    chance = random.Random(1)
    words = [f"{chance.randrange(10**5):x}" for _ in range(10**6)]
    (folder / "a.txt").write_text(" ".join(words))
    lines = [json.dumps({"text": " ".join(words[at : at + 100])}) for at in range(0, 10**5, 100)]
    (folder / "b.jsonl").write_text("\n".join([*lines, "broken"]))
    return folder


def train(corpus: Path, out: Path, *options: str) -> list[str]:
    return [
        *(sys.executable, "-c", COMMAND, "train", str(corpus), "-n", "2000", "-o", str(out)),
        *("--checkpoint-every", "100KB", "--on-error", "skip", "--validation", "0.1", *options),
    ]


@pytest.fixture(scope="module")
def expected(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    out = tmp_path_factory.mktemp("whole") / "tok.zeton"
    subprocess.run(train(corpus, out), check=True, capture_output=True)
    return out.read_bytes()


UNITS = """
import json, os, signal, sys, time
from pathlib import Path
import ray
from zeton.work.executor import run_units
from zeton import errors
from zeton.work.executor import ray_cluster

folder = Path(sys.argv[1])
ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=40)
found = {}

def square(unit):
    time.sleep(0.3 if unit == 0 else 0)
    return unit * unit

found["in order"] = [list(pair) for pair in run_units(square, units=range(20), executor="ray")]

taken = []
def plan():
    for unit in range(100):
        taken.append(unit)
        yield unit

results = run_units(square, units=plan(), executor="ray", workers=2)
next(results)
found["taken"] = len(taken)
results.close()

def refuse(unit):
    if unit == 3:
        raise errors.CorpusError("unit 3 is not text")
    return unit

seen = []
try:
    seen.extend(unit for unit, _ in run_units(refuse, units=range(50), executor="ray"))
except errors.Error as error:
    found["refused"] = [type(error).__name__, str(error)]

def die_once(unit):
    with open(folder / f"{unit}.tries", "a") as tries:
        tries.write("x")
    if unit == 2 and (folder / "2.tries").stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit

found["died once"] = [result for _, result in run_units(die_once, units=range(6), executor="ray")]
found["tries"] = [(folder / f"{unit}.tries").stat().st_size for unit in range(6)]

def die(unit):
    with open(folder / "die.tries", "a") as tries:
        tries.write("x")
    os.kill(os.getpid(), signal.SIGKILL)

ray_cluster.RETRIES = 1
try:
    list(run_units(die, units=[0], executor="ray"))
except errors.Error as error:
    found["died"] = [type(error).__name__, str(error)]
found["deaths"] = (folder / "die.tries").stat().st_size
found["left as it was"] = ray.is_initialized()
print(json.dumps(found))
"""


def test_units_come_in_order_and_a_killed_worker_costs_its_unit_only(
    environment: dict[str, str], alone: networks.Network, tmp_path: Path
) -> None:
    script = tmp_path / "units.py"
    script.write_text(UNITS)
    done = subprocess.run(
        alone.inside(sys.executable, str(script), str(tmp_path)),
        env=environment,
        capture_output=True,
        timeout=BEFORE_GIVING_UP,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(next(line for line in done.stdout.splitlines() if line[:1] == b"{"))
    assert found["in order"] == [[unit, unit * unit] for unit in range(20)]
    assert 1 <= found["taken"] <= 8
    assert found["refused"] == ["CorpusError", "unit 3 is not text"]
    assert found["died once"] == list(range(6))
    assert found["tries"] == [1, 1, 2, 1, 1, 1]
    assert found["died"][0] == "JobError"
    assert "unit 0 was lost 2 times" in found["died"][1]
    assert found["deaths"] == 2
    assert found["left as it was"]


def test_a_cluster_that_is_not_there_is_refused() -> None:
    for address in ("127.0.0.1:9", "127.0.0.1:99999"):
        with pytest.raises(zeton.errors.JobError, match="is Ray started there"):
            list(run_units(len, units=["a"], executor="ray", address=address))


# `zeton`, but where HANG says so, units begin, say so, and never end: they are killed amidst.
COMMAND = """
import os, time
from zeton.training import count_distributed as units
from zeton.cli import main

class Count(units._Count):
    def __call__(self, work):
        if work.unit.start.file >= int(os.environ.get("HANG", 1000)):
            (self.folder.parent / "begun").touch()
            time.sleep(600)
        return super().__call__(work)

if "RAY_ADDRESS" in os.environ:
    import ray
    ray.init(os.environ["RAY_ADDRESS"], log_to_driver=False, logging_level=40)
    end = time.monotonic() + 60
    while ray.cluster_resources().get("CPU") != 2 and time.monotonic() < end:
        time.sleep(0.1)
    ray.shutdown()
units._Count = Count
main()
"""


def test_training_stopped_by_ctrl_c_ends_all_and_goes_on_to_the_same_bytes(
    environment: dict[str, str],
    alone: networks.Network,
    corpus: Path,
    expected: bytes,
    tmp_path: Path,
) -> None:
    out, journal = tmp_path / "tok.zeton", tmp_path / "tok.zeton.checkpoint"
    command = alone.inside(*train(corpus, out, "--executor", "ray", "--workers", "2"))
    process = subprocess.Popen(
        command,
        env=environment | {"HANG": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_for(lambda: any(journal.glob("*.json")), "a unit", process)
    wait_for((tmp_path / "begun").exists, "a unit that hangs", process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=BEFORE_GIVING_UP)
    assert process.returncode == 130, errors.decode()
    assert b"run the same command to resume" in errors
    assert alone.is_empty(within=20), alone.processes()
    done = subprocess.run(
        command, env=environment, capture_output=True, timeout=BEFORE_GIVING_UP, check=False
    )
    assert b"resuming from" in done.stderr
    assert out.read_bytes() == expected
    assert sorted(file.name for file in tmp_path.iterdir()) == ["begun", "tok.zeton"]
    assert alone.is_empty(within=20), alone.processes()


# `zeton`, but the first unit that two processes meet kills the first of them.
SHARDING = """
import os, signal
from pathlib import Path
from zeton.cli import main
from zeton.shards import work, writing

class Job(work.Job):
    def __call__(self, unit):
        try:
            Path(self.folder).parent.joinpath("killed").touch(exist_ok=False)
        except FileExistsError:
            return super().__call__(unit)
        os.kill(os.getpid(), signal.SIGKILL)

    def __reduce__(self):
        return Job, super().__reduce__()[1]

if "KILL" in os.environ:
    writing.Job = Job
main()
"""


def test_shards_have_the_same_bytes_though_a_worker_is_killed(
    environment: dict[str, str], alone: networks.Network, corpus: Path, tmp_path: Path
) -> None:
    def shard(out: str, *options: str) -> list[str]:
        return [
            *(sys.executable, "-c", SHARDING, "shard", str(corpus), "-t", "gpt2"),
            *("--out", str(tmp_path / out), "--validation", "0.1", "--on-error", "skip", *options),
        ]

    subprocess.run(shard("one"), check=True, capture_output=True)
    done = subprocess.run(
        alone.inside(*shard("two", "--executor", "ray", "--workers", "2")),
        env=environment | {"KILL": "1"},
        capture_output=True,
        timeout=BEFORE_GIVING_UP,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert list(tmp_path.glob("**/killed"))
    for file in (tmp_path / "one").iterdir():
        assert (tmp_path / "two" / file.name).read_bytes() == file.read_bytes()
    assert alone.is_empty(within=20), alone.processes()


ADDRESSES = ("10.77.0.1", "10.77.0.2")


def join(first: networks.Network, second: networks.Network) -> None:
    """Lay a cable between two hosts."""
    pid = str(second.pid)
    cable = ("net0", "type", "veth", "peer", "name", "net0", "netns", pid)
    subprocess.run(first.inside("ip", "link", "add", *cable), check=True)
    for host, address in zip((first, second), ADDRESSES, strict=True):
        subprocess.run(host.inside("ip", "addr", "add", f"{address}/24", "dev", "net0"), check=True)
        subprocess.run(host.inside("ip", "link", "set", "net0", "up"), check=True)


def wait_for(is_there: Callable[[], bool], what: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + BEFORE_GIVING_UP
    while not is_there():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < end, f"{what} has not come"
        time.sleep(0.01)


def test_on_two_hosts_of_which_one_dies_the_bytes_are_the_same(
    environment: dict[str, str], corpus: Path, expected: bytes, tmp_path: Path
) -> None:
    out = tmp_path / "tok.zeton"
    environment |= {
        "RAY_health_check_initial_delay_ms": "0",
        "RAY_health_check_period_ms": "500",
        "RAY_health_check_timeout_ms": "500",
        "RAY_health_check_failure_threshold": "3",
        "RAY_grpc_client_keepalive_time_ms": "1000",
        "RAY_grpc_client_keepalive_timeout_ms": "2000",
    }
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--num-cpus=1"]
    ray += ["--disable-usage-stats", "--node-ip-address"]
    with networks.network() as first, networks.network() as second:
        join(first, second)

        def start(host: networks.Network, *options: str, **more: str) -> "subprocess.Popen[bytes]":
            with (tmp_path / "ray.log").open("a") as log:
                return subprocess.Popen(
                    host.inside(*ray, *options), env=environment | more, stdout=log, stderr=log
                )

        address = f"{ADDRESSES[0]}:6379"
        head = ("--head", "--port=6379", "--include-dashboard=false")
        hosts = [start(first, ADDRESSES[0], *head)]
        listening = first.inside("ss", "-Hltn", "sport = 6379")
        wait_for(lambda: bool(subprocess.check_output(listening)), "the first host", hosts[0])
        hosts.append(start(second, ADDRESSES[1], f"--address={address}", HANG="0"))
        driver = subprocess.Popen(
            first.inside(*train(corpus, out, "--executor", "ray")),
            env=environment | {"RAY_ADDRESS": address},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        wait_for((tmp_path / "begun").exists, "a unit on the second host", driver)
        subprocess.run(second.inside("ip", "link", "set", "net0", "down"), check=True)
        second.kill()
        printed, errors = driver.communicate(timeout=BEFORE_GIVING_UP)
        assert driver.returncode == 0, errors.decode()
        assert printed.decode() == f"{out}: 2,000 tokens\n"
        assert first.processes(), "what was only joined ended"
    for started in hosts:
        started.wait()
    assert out.read_bytes() == expected
