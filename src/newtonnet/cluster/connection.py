"""A connection to Ray: a cluster that is there already, or a Ray of its own on this machine."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

PATIENCE = 10.0
"""Seconds in which something must answer at the address of a cluster."""
CURRENT = Path("/tmp/ray/ray_current_cluster")
"""Where Ray keeps the address of the cluster that this machine belongs to."""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray reports no usage and leaves accelerators, which nobody here uses, alone."""


@contextmanager
def connected(address: str | None = None, *, cores: int | None = None) -> Iterator[ModuleType]:
    """Ray itself, connected; left at the end, unless this process was connected before.

    Args:
        address: ``auto`` for the cluster this machine belongs to, or ``HOST:PORT`` of its head; if not given, a Ray of
            its own on this machine, unless this process is connected to one already.
        cores: of a Ray of its own; all of this machine if not given.
    """
    ray = _import_ray()
    if ray.is_initialized():
        if address is not None:
            raise ValueError(
                f"this process is connected to Ray already; leave it first, or give no address {address!r}"
            )
        yield ray
        return
    found = _find(address)
    try:
        _connect(ray, found, cores)
        yield ray
    finally:
        ray.shutdown()


def last_line(error: BaseException) -> str:
    """What went wrong: of the many lines that Ray may put around it, the last one."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _import_ray() -> ModuleType:
    try:
        import ray
    except ImportError as error:
        raise ValueError(f"a cluster needs Ray ({error}); pip install 'ray[train]'") from None
    module: ModuleType = ray
    return module


def _find(address: str | None) -> str | None:
    """What to connect to, refused where nothing is there.

    ``auto`` stands for the address in the environment, or else the one that ``ray start`` has left, as it does for Ray.
    """
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or (CURRENT.read_text().strip() if CURRENT.is_file() else "auto")
    if address is not None and address != "auto":
        _knock(address)
    return address


def _knock(address: str) -> None:
    """Refuse an address where nothing answers, for which Ray would wait a long time."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"the address of a Ray cluster is auto or HOST:PORT, got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster answers at {address} ({error}); ray start --head starts one") from error


def _connect(ray: ModuleType, address: str | None, cores: int | None) -> None:
    before = {name: os.environ.get(name) for name in QUIET}
    os.environ.update(QUIET)
    try:
        if address is None:
            own = len(os.sched_getaffinity(0)) if cores is None else cores
            ray.init("local", num_cpus=own, include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
        else:
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        if address is None:
            raise ConnectionError(f"cannot start a Ray of its own: {error}") from error
        token = "if it asks for a token, set RAY_AUTH_MODE=token here too"
        raise ConnectionError(f"cannot connect to the Ray cluster at {address}: {error}; {token}") from error
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
