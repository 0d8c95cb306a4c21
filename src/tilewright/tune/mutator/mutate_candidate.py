"""Changing decisions among candidates that serve a purpose."""

from __future__ import annotations

import random
from collections.abc import Callable

from tilewright.tir.schedule import Instruction, Trace
from tilewright.tune.decision import Uses, other_candidates, samplings
from tilewright.tune.mutator.mutator import Mutator


def with_other_candidate(
    trace: Trace, random_state: int | None, is_meant: Callable[[Uses, Instruction], bool]
) -> Trace | None:
    """A trace in which one `sample_categorical` takes another candidate.

    Args:
        trace: the trace.
        random_state: a seed of the choice.
        is_meant: whether a sampling may be changed.
    """
    rng = random.Random(random_state)
    found = [inst for inst in samplings(trace) if inst.kind.name == "sample_categorical"]
    rng.shuffle(found)
    uses = Uses(trace) if found else None
    for inst in found:
        decision = trace.get_decision(inst)
        others = [] if decision is None else other_candidates(inst, decision)
        if uses is not None and others and is_meant(uses, inst):
            return trace.with_decision(inst, rng.choice(others))
    return None


class MutateUnroll(Mutator):
    """Takes another candidate for how far loops are unrolled."""

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace that unrolls more or less; None if that is not a decision of it."""
        return with_other_candidate(trace, random_state, Uses.is_unrolling)


class MutateThreadBinding(Mutator):
    """Takes another candidate for the number of threads of a block of a GPU."""

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with more or fewer threads; None if that is not a decision of it."""
        return with_other_candidate(trace, random_state, Uses.is_thread_count)
