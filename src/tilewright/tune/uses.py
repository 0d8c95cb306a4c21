"""What the instructions of a trace do with what others return."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from tilewright.tir.schedule import Instruction, Trace

THREAD_INDEX = "threadIdx."
"""How the names of the axes over the threads of a block begin."""

UNROLL_KEYS = ("pragma_auto_unroll_max_step", "meta_schedule.unroll")
"""How the keys of annotations begin that say how far loops are unrolled."""


class Uses:
    """Which instructions of a trace use a random variable.

    Args:
        trace: the trace.
    """

    def __init__(self, trace: Trace) -> None:
        self._users = _users(tuple(trace))

    def of(self, inst: Instruction) -> list[Instruction]:
        """The instructions that use what `inst` returns."""
        return [user for output in inst.outputs for user in self._users.get(output, ())]

    def is_tile_size(self, inst: Instruction) -> bool:
        """Whether something but annotations uses a sampled number."""
        return any(user.kind.name != "annotate" for user in self.of(inst))

    def is_unrolling(self, inst: Instruction) -> bool:
        """Whether a sampled number says how far loops are unrolled."""
        return any(
            user.kind.name == "annotate" and str(user.arguments["ann_key"]).startswith(UNROLL_KEYS)
            for user in self.of(inst)
        )

    def is_thread_count(self, inst: Instruction) -> bool:
        """Whether a loop with a sampled number of iterations is bound to threads."""
        return any(
            bound.kind.name == "bind"
            and str(bound.arguments["thread_axis"]).startswith(THREAD_INDEX)
            for user in self.of(inst)
            if user.kind.name == "split"
            for bound in self.of(user)
        )


@functools.lru_cache(maxsize=64)  # the candidates of a sketch have the same instructions
def _users(insts: tuple[Instruction, ...]) -> Mapping[Any, list[Instruction]]:
    """The instructions that use each random variable."""
    found: dict[Any, list[Instruction]] = defaultdict(list)
    for inst in insts:
        for variable in inst.uses():
            found[variable].append(inst)
    return dict(found)
