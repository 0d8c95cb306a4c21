"""Workers as actors of Ray."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from tilewright.error import ArgumentValueError, TVMError
from tilewright.target.cpu import core_count
from tilewright.tune.measure.affinity import may_use, other_cores, stay_on
from tilewright.tune.measure.fleet.cluster import Greeting, Role, WorkerLostError
from tilewright.tune.measure.fleet.host import Host

REACH_SECONDS: Final = 10.0
"""How long the head node of a cluster may take to answer."""

SETTINGS: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_worker_niceness": "0",  # what is timed must not wait for other programs
}
"""Variables of the environment that Ray asks, and their values if they have none."""

STORE_BYTES: Final = 80 << 20
"""Memory for objects on the way in a cluster of one machine; artifacts are small."""


def load_ray() -> Any:
    """The package ray.

    Raises:
        TVMError: if it is not installed.
    """
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise TVMError(
            "tuning on a fleet needs the package ray, which cannot be imported "
            f'({error}); install it on all machines with: pip install "tilewright[ray]"'
        ) from None


class RayConnection:
    """The connection of this process to a cluster, which all fleets of the process share.

    A cluster that this process has started ends with the last of them.

    Attributes:
        ray: the package.
        is_own: whether the cluster is one of this machine alone, and was started here.
    """

    _shared: ClassVar[RayConnection | None] = None
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, address: str | None) -> None:
        self.ray = load_ray()
        self._users = 0
        self._is_ours = not self.ray.is_initialized()
        self.address = address if self._is_ours else None
        self.is_own = False
        if self._is_ours:
            self._connect()

    @staticmethod
    def open(address: str | None) -> RayConnection:
        """The connection, made if need be.

        Raises:
            TVMError: if there is no cluster at the address, or Ray or Python are others there.
        """
        with RayConnection._lock:
            shared = RayConnection._shared
            if shared is None or not shared.ray.is_initialized():
                shared = RayConnection(address)
            shared._require_same(address)
            shared._users += 1
            RayConnection._shared = shared
            return shared

    def close(self) -> None:
        """This fleet no longer needs it."""
        with RayConnection._lock:
            self._users -= 1
            if self._users == 0:
                RayConnection._shared = None
                if self._is_ours and self.ray.is_initialized():
                    self.ray.shutdown()

    def _require_same(self, address: str | None) -> None:
        """Refuse another cluster than the one that the process is connected to."""
        own = self.ray.get_runtime_context().gcs_address
        if address not in (None, "auto", self.address, own):
            raise ArgumentValueError(
                f"this process is connected to the cluster at {own!r}, and cannot use another one "
                f"at {address!r} at the same time"
            )

    def _connect(self) -> None:
        address = self.address or os.environ.get("RAY_ADDRESS")
        self.is_own = address in (None, "local")
        if address is not None:
            _require_reachable(address)
        own: dict[str, Any] = {}
        if self.is_own:
            # Ray starts a process for each CPU at once, so it is told of one. Workers take none.
            own = {"num_cpus": 1, "object_store_memory": STORE_BYTES, "include_dashboard": False}
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)
        try:
            with _off_timing_cores(self.is_own):
                self.ray.init(
                    address=address or "local",
                    log_to_driver=False,
                    configure_logging=False,
                    **own,
                )
        except Exception as error:
            where = "on this machine" if self.is_own else f"at {address!r}"
            hint = ""
            if "ersion mismatch" in str(error):
                hint = "; install the same versions of Ray and Python on all machines"
            raise TVMError(f"there is no cluster of Ray {where}: {error}{hint}") from None


def _require_reachable(address: str) -> None:
    """Refuse an address where nobody listens, which Ray notices after minutes.

    Raises:
        TVMError: it says why.
    """
    if "://" in address:
        raise ArgumentValueError(
            f"clusters of Ray at {address!r} are not supported: run the tuner on a machine of the "
            "cluster, with the address 'auto', or give the host and port of the head node"
        )
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        return  # a name that Ray knows
    try:
        socket.create_connection((host, int(port)), REACH_SECONDS).close()
    except OSError as error:
        raise TVMError(f"there is no cluster of Ray at {address!r}: {error}") from None


@contextlib.contextmanager
def _off_timing_cores(is_wanted: bool) -> Iterator[None]:
    """Processes that start inside stay off the core where candidates for one core are timed."""
    before = may_use()
    try:
        if is_wanted:
            stay_on(other_cores(1))
        yield
    finally:
        stay_on(before)


class RayActor:
    """A `Host` as an actor."""

    def __init__(self, ray: Any, handle: Any) -> None:
        self._ray, self.handle = ray, handle

    async def call(self, method: str, *arguments: Any) -> Any:
        """What the method returns or raises."""
        exceptions = self._ray.exceptions
        try:
            reference = getattr(self.handle, method).remote(*arguments)
            return await asyncio.wrap_future(reference.future())
        except exceptions.RayTaskError as error:
            cause = error.cause
            raise (cause if isinstance(cause, Exception) else TVMError(str(error))) from None
        except exceptions.RayError as error:
            raise WorkerLostError(_reason(error)) from None


class RayCluster:
    """Starts hosts as actors.

    Args:
        connection: to the cluster.
        actor_options: more options of Ray for actors, such as ``runtime_env``.
    """

    def __init__(self, connection: RayConnection, actor_options: Mapping[str, Any]) -> None:
        self._connection = connection
        self._ray = connection.ray
        self._options = dict(actor_options)
        self._class = self._ray.remote(Host)

    def start(self, role: Role, predecessor: Greeting | None) -> RayActor:
        """Begin to start a host where there are resources for it."""
        resources = dict(role.resources)
        own = self._connection.is_own
        cpus = resources.pop("CPU", 0)
        options = {
            "num_cpus": 0 if own else cpus,
            "num_gpus": resources.pop("GPU", 0),
            "resources": resources or None,
            "max_concurrency": role.parallel,
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
            **self._options,
        }
        before = None if predecessor is None else (predecessor.host, predecessor.pid)
        path = list(sys.path) if own else None
        return RayActor(self._ray, self._class.options(**options).remote(path, own, before))

    def end(self, actor: Any) -> None:
        """Kill the actor."""
        with contextlib.suppress(Exception):  # it may be dead, or Ray shut down
            self._ray.kill(actor.handle, no_restart=True)

    def close(self) -> None:
        """This fleet ends."""
        self._connection.close()

    @property
    def is_elsewhere(self) -> bool:
        """Whether it has other machines than this one."""
        hosts = {node["NodeManagerHostname"] for node in self._ray.nodes() if node["Alive"]}
        return hosts != {socket.gethostname()}

    def machines(self, resources: Mapping[str, float]) -> list[float]:
        """The CPUs of each machine that has such resources."""
        if self._connection.is_own:
            return [core_count()]
        found = []
        for node in self._ray.nodes():
            has = node["Resources"]
            if node["Alive"] and all(has.get(name, 0) >= need for name, need in resources.items()):
                found.append(has.get("CPU", 0))
        return found


def _reason(error: Exception) -> str:
    """The last line of what Ray says, where it gets to the point."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
