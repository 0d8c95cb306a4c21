"""Which cores run what.

A candidate for one core is timed on the last core that the process may use, and everything else
(compiling, searching) stays off it. A candidate for several cores has the machine for itself.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from collections.abc import Set as AbstractSet


def may_use() -> frozenset[int]:
    """The cores that this process may run on; none where systems don't tell."""
    return frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()


def timing_cores(num_cores: int | None, cores: AbstractSet[int] | None = None) -> frozenset[int]:
    """Where a candidate for `num_cores` cores (None: all) is timed.

    Args:
        num_cores: of the target.
        cores: to choose from, by default those that this process may use.
    """
    cores = may_use() if cores is None else frozenset(cores)
    return frozenset({max(cores)}) if num_cores == 1 and cores else frozenset(cores)


def other_cores(
    num_cores: int | None,
    cores: AbstractSet[int] | None = None,
    *,
    timing: Collection[int] | None = None,
) -> frozenset[int]:
    """Where to work while candidates for `num_cores` cores are timed; all if none is left.

    Args:
        num_cores: of the target.
        cores: to choose from, by default those that this process may use.
        timing: among which candidates are timed, by default all of these.
    """
    cores = may_use() if cores is None else frozenset(cores)
    among = cores if timing is None else frozenset(timing)
    return (cores - timing_cores(num_cores, among)) or cores


def stay_on(cores: AbstractSet[int]) -> None:
    """Keep the calling thread on these cores, where that is possible."""
    if cores and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def whole_machine() -> frozenset[int]:
    """The cores that the system lets a process have, those that its parent left included."""
    own = may_use()
    if not own:
        return own
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
        return may_use()
    finally:
        os.sched_setaffinity(0, own)
