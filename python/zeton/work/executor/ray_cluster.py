"""Units run as tasks of Ray: on this machine, or on the machines of a cluster."""

import logging
import os
import platform
import socket
import sysconfig
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from zeton import _engine
from zeton.errors import JobError
from zeton.extras import needed

__all__ = ["run"]

RETRIES = 3
"""Retries of a unit whose worker or machine died."""

AHEAD = 4
"""Units per worker that may finish before an earlier unit, whose result is yielded first."""

LOOK_SECONDS = 0.5
"""Seconds of one wait for Ray. Ctrl-C is answered between two waits."""

ANSWER_SECONDS = 10
"""Seconds in which a cluster must answer."""

KEEPALIVE = {
    "RAY_grpc_client_keepalive_time_ms": "5000",
    "RAY_grpc_client_keepalive_timeout_ms": "10000",
}
"""Time after which a silent machine counts as lost; Ray's default is seven minutes."""

Unit = TypeVar("Unit")
Result = TypeVar("Result")


def run(
    work: Callable[[Unit], Result],
    units: Iterable[Unit],
    workers: int | None,
    cores: int,
    address: str | None,
) -> Generator[tuple[int, Result], None, None]:
    """Yield each unit's number and result, in the order of `zeton.work.executor.run_units`."""
    ray = _ray()
    session = _session(ray, address or os.environ.get("RAY_ADDRESS"), workers, cores)
    return _run(ray, session, work, units, workers=workers, cores=cores)


def _ray() -> Any:  # noqa: ANN401 - a module, an extra.
    for name, value in KEEPALIVE.items():
        os.environ.setdefault(name, value)  # Ray reads it when it starts.
    try:
        import ray  # noqa: PLC0415 - an extra.
    except ImportError:
        raise JobError(f"executor='ray' {needed('ray')}") from None
    return ray


def _run(
    ray: Any,  # noqa: ANN401 - the module of Ray.
    session: AbstractContextManager[dict[str, Any]],
    work: Callable[[Unit], Result],
    units: Iterable[Unit],
    *,
    workers: int | None,
    cores: int,
) -> Generator[tuple[int, Result], None, None]:
    with session as environment:
        room = _room(ray, cores)
        most = workers or room
        task = ray.remote(_outcome).options(
            num_cpus=cores,
            max_retries=RETRIES,
            scheduling_strategy="SPREAD",
            runtime_env=environment,
        )
        left = enumerate(units)
        begun: deque[tuple[int, Any]] = deque()
        """Submitted units whose results are not yielded yet, in order."""
        running: set[Any] = set()
        try:
            while True:
                while len(running) < most and len(begun) < most * AHEAD:
                    if (following := next(left, None)) is None:
                        break
                    number, unit = following
                    found = task.remote(_engine.VERSION, work, unit)
                    begun.append((number, found))
                    running.add(found)
                if not begun:
                    return
                if running:
                    done, _ = ray.wait(
                        list(running), num_returns=1, timeout=LOOK_SECONDS, fetch_local=False
                    )
                    running.difference_update(done)
                while begun and begun[0][1] not in running:
                    number, found = begun.popleft()
                    yield number, _result(ray, number, found)
        finally:
            # A cluster of our own ends with the session. By force, Ray 2.60 may crash this process,
            # if a unit ends at the same time.
            for found in running if environment else ():
                ray.cancel(found, force=False)


def _room(ray: Any, cores: int) -> int:  # noqa: ANN401 - the module of Ray.
    """Return the number of units that the cores can run; a cluster without room is an error."""
    nodes = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
    room = sum(int(found) // cores for found in nodes)
    if not room:
        message = f"a unit takes {cores} cores, and no machine of the cluster has more than"
        raise JobError(f"{message} {int(max(nodes, default=0))}; ask for fewer threads")
    return room


def _outcome(
    version: str, work: Callable[[Unit], Result], unit: Unit
) -> tuple[Result | None, Exception | None]:
    """Do a unit on a worker. An exception is returned as a value, because Ray would wrap it."""
    try:
        _check_version(version)
        return work(unit), None
    except Exception as error:  # noqa: BLE001 - raised again by the caller.
        error.add_note(traceback.format_exc())
        return None, error


def _check_version(version: str) -> None:
    if version != _engine.VERSION:
        found = f"{platform.node()} has zeton {_engine.VERSION}"
        raise JobError(f"{found}, and it must be {version}; install the same everywhere")


def _result(ray: Any, number: int, found: Any) -> Any:  # noqa: ANN401 - the module of Ray.
    try:
        result, error = ray.get(found)
    except (ray.exceptions.RayTaskError, ray.exceptions.RuntimeEnvSetupError) as failure:
        # The unit did not reach the worker, or its result did not come back.
        last = str(failure).strip().splitlines()[-1]
        raise JobError(f"unit {number} cannot be done on Ray: {last}") from None
    except ray.exceptions.RayError as failure:
        reason = type(failure).__name__
        message = f"unit {number} was lost {RETRIES + 1} times, the last time by {reason}"
        raise JobError(f"{message}; check the free memory and disk space of the workers") from None
    if error is not None:
        raise error
    return result


@contextmanager
def _session(
    ray: Any,  # noqa: ANN401 - the module of Ray.
    address: str | None,
    workers: int | None,
    cores: int,
) -> Iterator[dict[str, Any]]:
    """Join a cluster, or start one, which ends with the session.

    Yields the environment in which workers import the modules of this process.
    """
    environment = {"env_vars": {"PYTHONPATH": os.pathsep.join(_folders())}}
    if ray.is_initialized():
        yield environment
        return
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is None or address == "local":
            # Workers inherit it, which takes less time than an environment of their own.
            with _set(RAY_USAGE_STATS_ENABLED="0", **environment["env_vars"]):
                ray.init(
                    "local",
                    num_cpus=max(os.cpu_count() or 1, cores)
                    if workers is None
                    else workers * cores,
                    include_dashboard=False,
                    _node_ip_address="127.0.0.1",
                    # Without a limit, Ray would retry a unit that takes too much memory for ever.
                    _system_config={"task_oom_retries": RETRIES},
                    **quiet,
                )
            environment = {}
        else:
            _check_answer(address)
            ray.init(address, **quiet)
    except JobError:
        raise
    except (ConnectionError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise JobError(f"Ray does not start or cannot be joined: {reason}") from None
    try:
        with _on_stderr(ray):
            yield environment
    finally:
        ray.shutdown()


def _check_answer(address: str) -> None:
    """Raise an error for a machine that does not answer; Ray would try for minutes."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdigit():
        return  # Some other way to name a cluster.
    try:
        socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise JobError(f"{address} does not answer: {reason}; is Ray started there?") from None


@contextmanager
def _on_stderr(ray: Any) -> Iterator[None]:  # noqa: ANN401 - the module of Ray.
    """Send Ray's messages to stderr, because stdout has the user's data."""
    module = ray._private.worker  # noqa: SLF001 - it has no option.
    if (say := getattr(module, "print_to_stdstream", None)) is None:
        yield
        return
    module.print_to_stdstream = lambda data, **options: say(data | {"is_err": True}, **options)
    try:
        yield
    finally:
        module.print_to_stdstream = say


def _folders() -> list[str]:
    """Return the first folders of the workers' module path, with zeton's unless it is installed."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    own = str(Path(_engine.__file__).parent.parent)
    installed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    return [folder for folder in dict.fromkeys([own, *given]) if folder and folder not in installed]


@contextmanager
def _set(**variables: str) -> Iterator[None]:
    """Set variables of the environment for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
