"""Changing where blocks are computed."""

from __future__ import annotations

import random

from tilewright.error import TVMError
from tilewright.tir.schedule import Trace
from tilewright.tune.decision import choices, samplings
from tilewright.tune.mutator.program_mutator import ProgramMutator


class MutateComputeLocation(ProgramMutator):
    """Computes one block elsewhere: at another loop, where it was, or inlined."""

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with another location; None if it samples none, or there is no other one."""
        found = [inst for inst in samplings(trace) if inst.kind.name == "sample_compute_location"]
        if not found or self._replayer is None:
            return None
        rng = random.Random(random_state)
        inst = rng.choice(found)
        try:
            possible = choices(self._replayer.before(trace, inst), inst)
        except TVMError:
            return None
        others = [place for place in possible if place != trace.get_decision(inst)]
        return trace.with_decision(inst, rng.choice(others)) if others else None
