"""Changing the sizes of tiles."""

from __future__ import annotations

import random

from tilewright.tir.schedule import Trace
from tilewright.tune.decision import TILES, moves, other_candidates, samplings
from tilewright.tune.mutator.mutator import Mutator
from tilewright.tune.uses import Uses


class MutateTileSize(Mutator):
    """Moves a factor of a tile to another level, or takes another candidate for a tile size."""

    def apply(self, trace: Trace, random_state: int | None = None) -> Trace | None:
        """A trace with another tile; None if it has none that can be another one."""
        rng = random.Random(random_state)
        uses = Uses(trace)
        options = []
        for inst in samplings(trace):
            decision = trace.get_decision(inst)
            if decision is None:
                continue
            if inst.kind.name in TILES:
                found = list(moves(inst, list(decision), single=False))
            elif inst.kind.name == "sample_categorical" and uses.is_tile_size(inst):
                found = other_candidates(inst, decision)
            else:
                found = []
            if found:
                options.append((inst, found))
        if not options:
            return None
        inst, found = rng.choice(options)
        return trace.with_decision(inst, rng.choice(found))
