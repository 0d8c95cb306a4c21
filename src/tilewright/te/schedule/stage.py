"""A stage: how one operation of a schedule is computed."""

from __future__ import annotations

from tilewright.te.schedule.loop_primitives import LoopPrimitives
from tilewright.te.schedule.placement_primitives import PlacementPrimitives


class Stage(LoopPrimitives, PlacementPrimitives):
    """How one operation is computed: its loops, its place and its memory.

    Made by `create_schedule`; ``s[C]`` is the stage of the tensor C. For what it knows, see
    `StageState`.
    """

    def copy(self) -> Stage:
        """A stage with the same loops, which can be changed on its own."""
        twin = Stage.__new__(Stage)
        for name, value in vars(self).items():
            vars(twin)[name] = value.copy() if isinstance(value, (list, dict)) else value
        twin.prefetches = {leaf: list(wanted) for leaf, wanted in self.prefetches.items()}
        twin.pragmas = {leaf: dict(notes) for leaf, notes in self.pragmas.items()}
        return twin
