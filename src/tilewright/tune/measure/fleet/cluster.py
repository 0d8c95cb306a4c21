"""What a fleet needs of the system that runs its workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


class WorkerLostError(Exception):
    """The process of a worker is dead, or cannot be reached."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """What a process says of itself before it gets any work.

    Attributes:
        machine: where it runs, as `TuningRecord.machine` says it.
        versions: of what has to be the same as in the tuner's process.
        host: the name of the machine in the network.
        pid: the number of the process.
    """

    machine: Mapping[str, Any]
    versions: Mapping[str, str]
    host: str
    pid: int


@dataclass(frozen=True, slots=True)
class Role:
    """What the workers of a pool do.

    Attributes:
        worker: the class, as ``module:name``.
        options: arguments of its constructor.
        resources: what the process of a worker is to have, such as ``{"CPU": 1}``.
        parallel: number of tasks that a worker does at the same time.
        room: number of tasks that a worker is given at a time. With more than `parallel`, the next
            one is there when one is done.
    """

    worker: str
    options: Mapping[str, Any] = field(default_factory=dict)
    resources: Mapping[str, float] = field(default_factory=dict)
    parallel: int = 1
    room: int = 1


class Actor(Protocol):
    """A `Host` on some machine."""

    async def call(self, method: str, *arguments: Any) -> Any:
        """What the method of the host returns or raises.

        Raises:
            WorkerLostError: if the process cannot tell.
        """
        ...


class Cluster(Protocol):
    """Starts processes on machines."""

    def start(self, role: Role, predecessor: Greeting | None) -> Actor:
        """Begin to start a process with a `Host`; does not wait for it.

        Args:
            role: what it will do.
            predecessor: a process that is given up; it is to be killed if it is on that machine.
        """
        ...

    def end(self, actor: Actor) -> None:
        """Kill the process; does not wait."""
        ...

    def close(self) -> None:
        """There will be no more calls."""
        ...
