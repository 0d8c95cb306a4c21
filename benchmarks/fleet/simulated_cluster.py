"""A cluster that exists in virtual time only, and whose machines die when they are told to."""

from __future__ import annotations

import asyncio
import enum
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from tilewright.tune.measure.fleet.cluster import Greeting, Role, WorkerLostError
from tilewright.tune.measure.fleet.versions import versions

MACHINE = {"cpu": "Simulated 3000", "llvm_cpu": "sim3", "triple": "x86_64-sim", "cores": 8}


class Fate(enum.Enum):
    """What a task may do to its worker, instead of giving an answer."""

    DIE = "die"
    HANG = "hang"


Work = Callable[["SimulatedActor", str, Any], tuple[float, Any]]
"""``work(actor, method, task)`` gives the seconds that it takes, and the answer or a `Fate`."""


class SimulatedActor:
    """A host whose worker does what a function says.

    Attributes:
        number: how many were started before it.
        role: what it does.
        machine: where it is.
        busy: seconds that it has worked.
    """

    def __init__(
        self, number: int, role: Role, cluster: SimulatedCluster, machine: Mapping[str, Any]
    ) -> None:
        self.number, self.role, self.machine = number, role, machine
        self.busy = 0.0
        self._cluster = cluster
        self._death = asyncio.get_running_loop().create_future()
        self._free = asyncio.Semaphore(role.parallel)

    async def call(self, method: str, *arguments: Any) -> Any:
        """What the host would answer."""
        job = asyncio.ensure_future(self._answer(method, arguments))
        try:
            await asyncio.wait({job, self._death}, return_when=asyncio.FIRST_COMPLETED)
            if self._death.done():
                raise WorkerLostError(f"simulated worker {self.number} is dead")
            return job.result()
        finally:
            job.cancel()

    async def _answer(self, method: str, arguments: tuple[Any, ...]) -> Any:
        cluster = self._cluster
        await asyncio.sleep(cluster.latency)
        if method == "greet":
            await asyncio.sleep(cluster.start_seconds)
            return Greeting(self.machine, cluster.versions, f"host{self.number}", self.number)
        if method == "do":
            answer = await self._do(*arguments)
            await asyncio.sleep(cluster.latency)
            return answer
        return None

    async def _do(self, method: str, argument: bytes) -> Any:
        async with self._free:
            seconds, answer = self._cluster.work(self, method, pickle.loads(argument))
            self.busy += seconds
            await asyncio.sleep(seconds)
            if answer is Fate.DIE:
                self.die()
            if isinstance(answer, Fate):
                await asyncio.sleep(1e9)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def die(self) -> None:
        """End, with all that goes on."""
        if not self._death.done():
            self._death.set_result(None)


class SimulatedCluster:
    """A `tilewright.tune.measure.fleet.cluster.Cluster`.

    Args:
        work: what workers do.
        latency: seconds of a message in one direction.
        start_seconds: until a worker is there.

    Attributes:
        actors: all that were started.
        ended: those that were killed by their pool.
        machines: where the next ones are, by the number of the actor; `MACHINE` for others.
        versions: that the hosts have.
    """

    def __init__(self, work: Work, latency: float = 0.0, start_seconds: float = 0.0) -> None:
        self.work, self.latency, self.start_seconds = work, latency, start_seconds
        self.actors: list[SimulatedActor] = []
        self.ended: list[SimulatedActor] = []
        self.machines: dict[int, Mapping[str, Any]] = {}
        self.versions: Mapping[str, str] = versions()

    def start(self, role: Role, predecessor: Greeting | None) -> SimulatedActor:
        """Begin to start a host."""
        del predecessor
        number = len(self.actors)
        self.actors.append(SimulatedActor(number, role, self, self.machines.get(number, MACHINE)))
        return self.actors[-1]

    def end(self, actor: Any) -> None:
        """Kill a host."""
        self.ended.append(actor)
        actor.die()

    def close(self) -> None:
        """There are no more calls."""
