"""Mutators that change sampled decisions."""

from __future__ import annotations

import random
from collections.abc import Callable

from tilewright.error import TVMError
from tilewright.tir.schedule import Instruction, Trace
from tilewright.tune.decision import (
    TILES,
    Uses,
    choices,
    frozen,
    moves,
    neighbours,
    other_candidates,
    samplings,
)
from tilewright.tune.mutator.mutator import Mutator, ProgramMutator


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


class MutateTileSize(Mutator):
    """Moves a factor of a tile to another level, or takes another candidate for a tile size."""

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with another tile size; None if no tile size can change."""
        rng = random.Random(random_state)
        found = [inst for inst in samplings(trace) if trace.get_decision(inst) is not None]
        rng.shuffle(found)
        uses = None
        for inst in found:
            decision = trace.get_decision(inst)
            others = []
            if inst.kind.name in TILES:
                others = list(moves(inst, list(decision), single=False))
            elif inst.kind.name == "sample_categorical":
                uses = uses or Uses(trace)
                others = other_candidates(inst, decision) if uses.is_tile_size(inst) else []
            if others:
                return trace.with_decision(inst, rng.choice(others))
        return None


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


def with_other_candidate(
    trace: Trace, random_state: int | None, is_meant: Callable[[Uses, Instruction], bool]
) -> Trace | None:
    """A trace in which one `sample_categorical` takes another candidate.

    Args:
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
