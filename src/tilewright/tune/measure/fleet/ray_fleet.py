"""Builders and runners on a cluster of Ray."""

from __future__ import annotations

import contextlib
import inspect
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Final

from tilewright.error import ArgumentError, ArgumentValueError
from tilewright.processes.requests import portable
from tilewright.tune.measure.fleet.cluster import Role
from tilewright.tune.measure.fleet.fleet_builder import FleetBuilder
from tilewright.tune.measure.fleet.fleet_runner import FleetRunner
from tilewright.tune.measure.fleet.layout import layout
from tilewright.tune.measure.fleet.loop import LoopThread
from tilewright.tune.measure.fleet.opening import LazyPool
from tilewright.tune.measure.fleet.pool import START_LIMIT, Pool
from tilewright.tune.measure.fleet.ray_cluster import RayCluster, RayConnection
from tilewright.tune.measure.fleet.workers import FUNCTIONS
from tilewright.tune.measure.local_builder import LocalBuilder
from tilewright.tune.measure.local_runner import LocalRunner

AHEAD: Final = 1
"""Number of candidates that wait at a runner, so that it need not wait for them."""

GRACE: Final = 60.0


class RayBuilder(FleetBuilder):
    """Builds on the machines of a cluster of Ray.

    A machine builds on the cores that candidates leave free while they run. Where they leave none,
    a quarter of the machines build and run nothing.

    Args:
        address: of the cluster, such as ``"auto"`` or ``"192.0.2.7:6379"``. Without one it is the
            cluster that this process is connected to, the one that the environment variable
            ``RAY_ADDRESS`` names, or a new one of this machine alone, which ends with the builder.
        num_workers: number of machines, or of parts of machines; by default all.
        processes: number of candidates that each builds at the same time.
        resources: what each takes of its machine, in Ray's terms, beyond a CPU for each process:
            ``{"builders": 1}`` are machines with a resource of that name.
        grace_sec: a worker that has said nothing for so long after `timeout_sec` hangs. It is
            replaced, and what it had is built elsewhere.
        start_sec: how long starting a worker may take.
        actor_options: of Ray, for each worker, such as ``{"runtime_env": {...}}``.
        options: those of `LocalBuilder`.

    Raises:
        TVMError: if Ray is not installed, or there is no such cluster.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        num_workers: int | None = None,
        processes: int | None = None,
        resources: Mapping[str, float] | None = None,
        grace_sec: float = GRACE,
        start_sec: float = START_LIMIT,
        actor_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        _require_positive("RayBuilder", num_workers=num_workers, processes=processes)
        _require_positive("RayBuilder", grace_sec=grace_sec, start_sec=start_sec)
        worker_options = _worker_options(LocalBuilder, {"max_workers"}, options)
        cluster = RayCluster(RayConnection.open(address), actor_options or {})
        loop = LoopThread()

        def make(num_cores: int) -> Pool:
            plan = layout(cluster.machines(resources or {}), num_cores)
            parallel = processes or plan.processes
            own = {"CPU": 0.0 if plan.shares else float(parallel), **(resources or {})}
            role = Role(BUILD_WORKER, worker_options, own, parallel, parallel)
            return Pool(cluster, role, num_workers or plan.builders, None, start_sec)

        # Files do not depend on how many cores the machine has that they were built on.
        pool = LazyPool(loop, make, "RayBuilder", None)
        super().__init__(pool, options.get("timeout_sec", 30.0), grace_sec)
        self._at_end = weakref.finalize(self, _close, pool, loop, cluster)

    def close(self) -> None:
        """End the workers, and delete what was built."""
        super().close()
        self._at_end()


class RayRunner(FleetRunner):
    """Runs candidates on the machines of a cluster of Ray, which are of one kind.

    Each worker has cores of its machine for itself, to which its candidates are pinned, and runs
    one candidate at a time.

    Args:
        address: see `RayBuilder`.
        num_workers: number of workers; by default one on each machine, since candidates that run at
            the same time disturb each other.
        cores: number of cores of each worker; by default those that the first target names.
        machine: part of the name of the processor of the machines that take part. Needed where the
            cluster has several kinds.
        resources: what each worker takes of its machine, in Ray's terms, beyond a CPU for each
            core: ``{"GPU": 1}``, or ``{"skylake": 1}`` for machines with a resource of that name.
        grace_sec: a worker that has said nothing for so long after `timeout_sec` hangs. It is
            replaced, and the candidate is measured elsewhere.
        start_sec: how long starting a worker may take.
        actor_options: of Ray, for each worker, such as ``{"runtime_env": {...}}``.
        options: those of `LocalRunner`.

    Raises:
        TVMError: if Ray is not installed, or there is no such cluster.
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        num_workers: int | None = None,
        cores: int | None = None,
        machine: str | None = None,
        resources: Mapping[str, float] | None = None,
        grace_sec: float = GRACE,
        start_sec: float = START_LIMIT,
        actor_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        _require_positive("RayRunner", num_workers=num_workers, cores=cores)
        _require_positive("RayRunner", grace_sec=grace_sec, start_sec=start_sec)
        worker_options = _worker_options(LocalRunner, {"cores"}, options)
        cluster = RayCluster(RayConnection.open(address), actor_options or {})
        loop = LoopThread()
        machines = cluster.machines(resources or {})

        def make(num_cores: int) -> Pool:
            count = num_workers or layout(machines, num_cores).runners
            own = {"CPU": float(num_cores), **(resources or {})}
            role = Role(RUN_WORKER, {"cores": num_cores, **worker_options}, own, 1, 1 + AHEAD)
            return Pool(cluster, role, count, machine, start_sec)

        pool = LazyPool(loop, make, "RayRunner", cores)
        super().__init__(
            pool,
            options.get("timeout_sec", 30.0),
            grace_sec,
            compares=options.get("f_run_evaluator") is None,
            concurrency=num_workers or max(len(machines), 1),
            is_elsewhere=cluster.is_elsewhere,
        )
        self._at_end = weakref.finalize(self, _close, pool, loop, cluster)

    def close(self) -> None:
        """End the workers; what is not measured yet is cancelled."""
        self._at_end()


BUILD_WORKER: Final = "tilewright.tune.measure.fleet.workers:BuildWorker"
RUN_WORKER: Final = "tilewright.tune.measure.fleet.workers:RunWorker"


def _worker_options(
    local: Callable[..., Any], own: set[str], options: dict[str, Any]
) -> dict[str, Any]:
    """Options of a local builder or runner, in the form in which workers get them."""
    known = set(inspect.signature(local).parameters) - own
    unknown = sorted(set(options) - known)
    if unknown:
        raise ArgumentError(
            f"unknown option {', '.join(unknown)}; those of {local.__name__} are "
            f"{', '.join(sorted(known))}"
        )
    initializer = options.get("initializer")
    return {
        name: portable(value, name, None if name == "initializer" else initializer)
        if name in FUNCTIONS
        else value
        for name, value in options.items()
    }


def _require_positive(purpose: str, **values: float | None) -> None:
    for name, value in values.items():
        if value is not None and not value > 0:
            raise ArgumentValueError(f"{purpose}: {name} is more than 0, got {value!r}")


def _close(pool: LazyPool, loop: LoopThread, cluster: RayCluster) -> None:
    with contextlib.suppress(Exception):  # at the end of the program there may be no thread
        pool.close()
    loop.close()
    cluster.close()
