"""How many workers there are where nobody says so."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

BUILDING: Final = 4
"""One in this many machines builds for the others, where candidates use all cores of a machine."""


class Layout(NamedTuple):
    """Workers of a cluster.

    Attributes:
        runners: number of workers that run candidates.
        builders: number of workers that build.
        processes: number of candidates that one of them builds at a time.
        shares: whether builders and runners have the same cores, and take turns.
    """

    runners: int
    builders: int
    processes: int
    shares: bool = False


def layout(cpus: Sequence[float], num_cores: int) -> Layout:
    """Workers for machines.

    One candidate runs on a machine at a time, since others would disturb it. The cores that it
    leaves build. Where it leaves none, some machines build and the others run; a single machine
    takes turns.

    Args:
        cpus: of each machine.
        num_cores: how many of them a candidate uses.
    """
    count, least = len(cpus), int(min(cpus, default=1))
    if least > num_cores:
        return Layout(count, count, least - num_cores)
    if count > 1:
        builders = math.ceil(count / BUILDING)
        return Layout(count - builders, builders, max(least, 1))
    return Layout(1, 1, max(least, 1), shares=True)
