"""Prefetches of the operands of a contraction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from tilewright.schedule_rules.contraction_plan import FAR
from tilewright.schedule_rules.decisions import choose
from tilewright.schedule_rules.dot_product_steps import current_access
from tilewright.schedule_rules.operands import constant_memory
from tilewright.schedule_rules.tiled_contraction import TiledContraction
from tilewright.tir.buffer import Buffer
from tilewright.tir.schedule import LoopRV
from tilewright.tir.transform.insert_prefetches import SOFTWARE_PREFETCH

DISTANCES: Final = (0, 4, 8, 12, 16)
"""Prefetch distances in steps of a sum, for what is far away; 0 is none."""

AHEAD: Final = 12
"""The best known distance."""

CHANNELS_AHEAD: Final = 2
"""How many channels ahead windows of an image ask for lines: 1 to 14 % faster than without, most
where windows are two elements apart."""

AHEAD_BYTES: Final = 4096
"""Prefetch distance in bytes for panels that come from memory one after the other."""


class Prefetches(TiledContraction):
    """The steps that ask ahead for operands."""

    def prefetch_columns(self, steps: Sequence[LoopRV], unrolled: Any) -> None:
        """Ask ahead for columns that come from far away in each step.

        Hardware does not see a pattern in accesses to another page each time.

        Args:
            steps: the loops over the steps of the sum.
            unrolled: the number of steps in an iteration of the innermost one.
        """
        plan = self.plan
        if not plan.exceeds_cache() or not steps:
            return
        var = plan.found.accesses.reduction[len(steps) - 1]
        extent = plan.found.accesses.extents[var]
        if extent is not None and extent < 2 * AHEAD:
            return
        loads = [
            current_access(self.sch, self.block, plan.found, load) for load in plan.found.moving
        ]
        strides = {load.buffer.name: load.stride(var) for load in loads}
        far = [n for n, s in strides.items() if s is not None and abs(s) * plan.itemsize >= FAR]
        if far:
            distance = choose(self.sch, DISTANCES, AHEAD) // unrolled
            self.sch.annotate(steps[-1], SOFTWARE_PREFETCH, dict.fromkeys(far, distance))

    def prefetch_rows(self, steps: Sequence[LoopRV]) -> None:
        """Ask ahead for what windows read of a large image.

        Each channel is on other pages, where hardware does not ask ahead.

        Args:
            steps: the loops over the steps of the sum.
        """
        plan, found = self.plan, self.plan.found
        if not plan.transposed or plan.dot is not None or len(steps) < 2:
            return
        outermost = found.accesses.reduction[0]
        far = [
            current_access(self.sch, self.block, found, load).buffer.name
            for load in found.fixed
            if found.is_windowed(load)
            and found.accesses.size(load, 1) > plan.machine.own_cache // 2
            and abs(load.stride(outermost) or 0) * plan.itemsize >= FAR
        ]
        if far:
            distance = choose(self.sch, (0, CHANNELS_AHEAD), CHANNELS_AHEAD)
            self.sch.annotate(steps[0], SOFTWARE_PREFETCH, dict.fromkeys(far, distance))

    def prefetch_next_block(self, panel: LoopRV) -> None:
        """Ask, while each tile of rows uses a block of a panel, for a part of that of the next one.

        Args:
            panel: the loop over panels.
        """
        (operand,) = self.plan.found.moving
        ahead = choose(self.sch, (0, 1), 1)
        self.sch.annotate(panel, SOFTWARE_PREFETCH, {operand.buffer.name: ahead})

    def prefetch_panels(
        self, columns: LoopRV, steps: Sequence[LoopRV], unrolled: Any, panels: Buffer
    ) -> None:
        """Ask ahead for panels.

        Args:
            columns: the loop over panels.
            steps: the loops over the steps of the sum.
            unrolled: the number of steps in an iteration of the innermost one.
            panels: the packed operand.
        """
        plan, accesses = self.plan, self.plan.found.accesses
        if not steps or not self.fetches_panels() or self.reads_panels_once():
            return
        if plan.in_tiles:  # tiles are many lines in order, for which hardware asks ahead
            return
        if self.streams_panels():
            self.sch.annotate(
                columns, SOFTWARE_PREFETCH, {panels.name: choose(self.sch, (0, 1), 1)}
            )
            return
        outer = math.prod(
            plan.steps_of(var) or accesses.extent(var) for var in accesses.reduction[: len(steps)]
        )
        inner = max(1, plan.depth // outer)  # groups that are cut off count as whole ones
        distance = -(-AHEAD_BYTES // (inner * plan.width * plan.itemsize))
        # Behind the last step of a panel is the next panel.
        ahead = choose(self.sch, (0, distance), distance) // unrolled
        self.sch.annotate(steps[-1], SOFTWARE_PREFETCH, {panels.name: ahead})

    def prefetch_next_copy(self, loop: LoopRV) -> None:
        """Ask ahead for what the next iteration of a loop will copy, if hardware does not as its
        rows are far apart, or the search wants it.

        Products in tile registers wait for lines on their way, unlike others: copies for them ask
        ahead themselves.
        """
        plan, (operand,) = self.plan, self.plan.found.moving
        is_constant = operand.buffer.data in constant_memory(self.sch)
        if plan.found.is_contiguous(plan.columns) and not (plan.in_tiles or is_constant):
            is_late = plan.is_far(operand) and not self.copies_strips()
            ahead = choose(self.sch, (0, 1), 1 if is_late else 0)
            self.sch.annotate(loop, SOFTWARE_PREFETCH, {operand.buffer.name: ahead})
