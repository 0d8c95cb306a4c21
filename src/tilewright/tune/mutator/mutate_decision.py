"""Changing any decision."""

from __future__ import annotations

import random

from tilewright.error import TVMError
from tilewright.tir.schedule import Trace
from tilewright.tune.decision import choices, frozen, neighbours, samplings
from tilewright.tune.mutator.program_mutator import ProgramMutator


class MutateDecision(ProgramMutator):
    """Makes one decision, of whatever sampling, differently: the next one to it, or any.

    Args:
        near: how often, from 0 to 1, it is one next to the decision where there is one.
    """

    def __init__(self, near: float = 0.5) -> None:
        self.near = near

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with another decision; None if there is nothing to decide."""
        rng = random.Random(random_state)
        found = samplings(trace)
        rng.shuffle(found)
        for inst in found:
            decision = trace.get_decision(inst)
            others = neighbours(inst, decision) if rng.random() < self.near else []
            if not others and self._replayer is not None:
                try:
                    others = choices(self._replayer.before(trace, inst), inst)
                except TVMError:
                    others = []
            others = [other for other in others if frozen(other) != frozen(decision)]
            if others:
                return trace.with_decision(inst, rng.choice(others))
        return None
