"""Changing the sizes of tiles."""

from __future__ import annotations

import random

from tilewright.tir.schedule import Trace
from tilewright.tune.decision import TILES, Uses, moves, other_candidates, samplings
from tilewright.tune.mutator.mutator import Mutator


class MutateTileSize(Mutator):
    """Moves a factor of a tile to another level, or takes another candidate for a tile size."""

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with another tile; None if it has none that can be another one."""
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
