"""The connection to Ray: to an existing cluster, or to a local Ray on this machine."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from newtonnet.meaning import lacking

PATIENCE = 10.0
"""Seconds to wait for an answer from the address of a cluster."""
CURRENT = Path("/tmp/ray/ray_current_cluster")
"""Where Ray stores the address of the cluster that this machine belongs to."""
HERE = "127.0.0.1"
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Environment of Ray: no usage reports, and accelerators are left alone."""
CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Environment variable; where it is 0, on Linux too, Ray listens on the loopback address and not on all of them."""


@contextmanager
def connected(address: str | None = None, *, cores: int | None = None) -> Iterator[ModuleType]:
    """The module ``ray``, connected; it disconnects at the end, unless this process was connected before.

    Args:
        address: ``auto`` for the cluster this machine belongs to, or ``HOST:PORT`` of its head; if not given, a local
            Ray, unless this process is already connected to one.
        cores: number of cores of a local Ray; all of this machine if not given.
    """
    ray = _import_ray()
    if ray.is_initialized():
        if address is not None:
            raise ValueError(
                f"this process is connected to Ray already; disconnect first, or give no address (got {address!r})"
            )
        yield ray
        return
    found = find_cluster(address)
    try:
        _connect(ray, found, cores)
        yield ray
    finally:
        ray.shutdown()


def last_line(error: BaseException) -> str:
    """The last line of an error message: Ray puts many lines around the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _import_ray() -> ModuleType:
    try:
        import ray
    except Exception as error:  # a broken installation can raise anything
        raise lacking("a cluster needs Ray", "cluster", error) from None
    module: ModuleType = ray
    return module


def find_cluster(address: str | None) -> str | None:
    """The address to connect to; as in Ray, ``auto`` is the one in the environment, or else in Ray's own file."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS") or (CURRENT.read_text().strip() if CURRENT.is_file() else "auto")
    if address is not None and address != "auto":
        _check_answers(address)
    return address


def _check_answers(address: str) -> None:
    """Raise an error if nothing answers at the address; Ray itself would wait a long time."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError(f"the address of a Ray cluster must be auto or HOST:PORT, got {address!r}")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster answers at {address} ({error}); ray start --head starts one") from error


def _connect(ray: ModuleType, address: str | None, cores: int | None) -> None:
    settings = QUIET if address is not None else QUIET | {CLUSTERS: "0"}
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        if address is None:
            own = len(os.sched_getaffinity(0)) if cores is None else cores
            with _loopback():  # nobody else can reach it
                ray.init(
                    "local",
                    num_cpus=own,
                    include_dashboard=False,
                    logging_level=logging.ERROR,
                    log_to_driver=False,
                    _node_ip_address=HERE,
                )
        else:
            ray.init(address, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        if address is None:
            raise ConnectionError(f"cannot start a local Ray: {error}") from error
        token = "if it requires a token, set RAY_AUTH_MODE=token on this machine too"
        raise ConnectionError(f"cannot connect to the Ray cluster at {address}: {error}; {token}") from error
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _loopback() -> Iterator[None]:
    """What :data:`CLUSTERS` says, for this process, which has read it: Ray would put another address for 127.0.0.1."""
    constants = import_module("ray._private.ray_constants")
    before = constants.ENABLE_RAY_CLUSTER
    vars(constants)["ENABLE_RAY_CLUSTER"] = False
    try:
        yield
    finally:
        vars(constants)["ENABLE_RAY_CLUSTER"] = before
