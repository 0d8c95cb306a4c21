"""In what memory the results of a stage are, and which GPU threads share it."""

from __future__ import annotations

from tilewright.te.schedule.attach import Places
from tilewright.te.schedule.stage import Stage
from tilewright.tir.expr import IterVar

_RANKS = {"global": 0, "shared": 1, "warp": 2, "local": 3}
"""How near to one thread a kind of memory is."""

_DEFAULTS = ("global", "shared", "local")
"""The memory of a stage that is computed in no loop of threads, of blocks only, of threads."""


def memory_scope(stage: Stage, places: Places) -> str:
    """The kind of memory that the results of `stage` are in."""
    if stage.scope:
        return stage.scope
    around = (place.stage.threads.get(place.loop) for place in places.path(stage))
    ranks = [thread_rank(thread) + 1 for thread in around if thread is not None]
    return _DEFAULTS[max(ranks, default=0)]


def thread_rank(thread: IterVar) -> int:
    """0 for the blocks of a kernel, 1 for the threads of a block."""
    return 0 if thread.thread_tag.startswith("blockIdx") else 1


def is_shared_by(scope: str, thread: IterVar | None) -> bool:
    """Whether the iterations of a loop that is bound to `thread` share memory of a kind."""
    if thread is None:
        return False
    rank = _RANKS.get(scope.split(".")[0], 0)
    if rank == _RANKS["warp"]:
        return thread.thread_tag == "threadIdx.x"
    return rank <= thread_rank(thread)
