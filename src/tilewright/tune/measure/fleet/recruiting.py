"""Starting workers, and deciding which of them may take part."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from tilewright.error import TVMError
from tilewright.processes.requests import dumps
from tilewright.tune.measure.fleet.assignment import Worker
from tilewright.tune.measure.fleet.cluster import Actor, Cluster, Greeting, Role, WorkerLostError
from tilewright.tune.measure.fleet.versions import describe_difference, versions

STARTS: Final = 3
"""How often a worker is started before its place stays empty."""

logger = logging.getLogger(__name__)


class Recruiter:
    """Starts the workers of a pool.

    Args:
        cluster: starts processes.
        role: what the workers do.
        machine: part of the name of the CPU of machines that may take part; None for all.
        start_limit: seconds until a worker has to be there.

    Attributes:
        kind: of the machines, when it is known; others may not take part any more.
    """

    def __init__(
        self, cluster: Cluster, role: Role, machine: str | None, start_limit: float
    ) -> None:
        self._cluster, self._role = cluster, role
        self._machine, self._start_limit = machine, start_limit
        self.kind = ""

    async def start(self, worker: Worker) -> None:
        """Start a worker, more than once if it dies.

        Raises:
            TVMError: if it is there and cannot work.
        """
        worker.is_starting = True
        predecessor = worker.greeting
        try:
            for _ in range(STARTS):
                actor = self._cluster.start(self._role, predecessor)
                try:
                    greeting = await asyncio.wait_for(self._welcome(actor), self._start_limit)
                except WorkerLostError as error:
                    worker.absence = str(error)
                    continue
                except asyncio.TimeoutError:
                    worker.absence = self._describe_missing()
                    self._cluster.end(actor)
                    return
                except BaseException:
                    self._cluster.end(actor)
                    raise
                if self._suits(greeting):
                    worker.actor, worker.greeting = actor, greeting
                else:
                    worker.absence = f"{greeting.host} has another processor: {kind_of(greeting)}"
                    self._cluster.end(actor)
                return
        finally:
            worker.is_starting = False

    async def _welcome(self, actor: Actor) -> Greeting:
        """Make a host a worker."""
        greeting = await actor.call("greet")
        difference = describe_difference(greeting.versions, versions())
        if difference is not None:
            raise TVMError(
                f"the machine {greeting.host} has other versions, which may read programs and "
                f"results otherwise: {difference}; install the same on all machines"
            )
        if self._suits(greeting):
            options = dumps(dict(self._role.options))
            warning = await actor.call("open", self._role.worker, options)
            if warning is not None:
                logger.warning("a worker on %s: %s", greeting.host, warning)
        return greeting

    def _suits(self, greeting: Greeting) -> bool:
        """Whether a worker is on a machine of the right kind."""
        if self.kind:
            return kind_of(greeting) == self.kind
        return self._machine is None or self._machine.lower() in kind_of(greeting).lower()

    def _describe_missing(self) -> str:
        wanted = ", ".join(f"{name}: {amount:g}" for name, amount in self._role.resources.items())
        return (
            f"it is not there after {self._start_limit:g} s; perhaps no machine has {{{wanted}}} "
            "left, which is what `resources` and `cores` ask for"
        )


def kind_of(greeting: Greeting) -> str:
    """What has to be the same for times to be compared."""
    machine = greeting.machine
    return f"{machine.get('cpu')} ({machine.get('llvm_cpu')})"
