"""The rules of the default schedule as rules of the tuner, which tries all of their structures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar, Final

from tilewright.schedule_rules.channel_windows import tile_channel_windows
from tilewright.schedule_rules.computed_places import share_places
from tilewright.schedule_rules.contraction import tile_products
from tilewright.schedule_rules.default import schedule_group
from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.groups import Stage, append_epilogues, groups_of, stages_of
from tilewright.schedule_rules.nest import DoesNotFitError, Nest, attempt, is_plain, plain_nest
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.reduce_along_columns import reduce_along_columns
from tilewright.schedule_rules.reduce_along_rows import reduce_along_rows
from tilewright.schedule_rules.structures import Rule, Structure
from tilewright.schedule_rules.transposition import tile_transposition
from tilewright.schedule_rules.windows import tile_windows
from tilewright.schedule_rules.winograd import tile_transformed_products
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tir.transform.machine import Machine
from tilewright.tune.rule.schedule_rule import ScheduleRule, claim_changed, siblings

Find = Callable[[Schedule, Nest], Sequence[Structure]]
"""From a copy of a schedule and a nest to the structures that fit, the best first."""


MOST_TIME: Final = 2.0
"""Maximum estimated time of a way to tile a product, as a multiple of that of the best one."""


class NestRule(ScheduleRule):
    """Tries some structures of loops on blocks that are as in a program without a schedule.

    Each structure that the primitives accept is a sketch; a block for which there is none stays as
    it is.

    Args:
        machine: what the schedule is for; by default the machine of the target.

    Attributes:
        rule: finds the structures.
        leaves_products: whether it is not about products of matrices.
    """

    rule: ClassVar[Rule]
    leaves_products: ClassVar[bool] = False

    def __init__(self, machine: Machine | None = None) -> None:
        self._machine = machine

    @property
    def machine(self) -> Machine:
        """The vectors, caches and cores that the schedule is for."""
        return self._machine or self.target.machine

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The sketches for a block."""
        return self.sketches(sch, block, self.structures) or [sch]

    def sketches(self, sch: Schedule, block: BlockRV, find: Find) -> list[Schedule]:
        """The schedules with the structures that `find` knows for a block, as far as they fit."""
        try:
            # Looking at it must leave no instructions in the traces of other sketches.
            view = sch.copy()
            nest = plain_nest(view, block)
            structures = find(view, nest)
        except DoesNotFitError:
            return []
        sketches = [attempt(sch, lambda s, do=do: do(s, nest.again(s))) for do in structures]
        found = [sketch for sketch in sketches if sketch is not None]
        for sketch in found:
            self.claim(sch, sketch, block)
        return found

    def claim(self, before: Schedule, after: Schedule, block: BlockRV) -> None:
        """Keep other rules from scheduling what this one has scheduled."""
        claim_changed(before, after, block, type(self).__name__)

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """The structures that fit a block, the one that is known to be best first.

        Args:
            nest: the block in a copy of the schedule, to look at.
        """
        if self.leaves_products and find_contraction(nest.accesses) is not None:
            return []
        return type(self).rule(sch, nest, self.machine)


WINDOWS: Final[Sequence[Rule]] = (tile_transformed_products, tile_windows, tile_channel_windows)


def _tile_any_windows(sch: Schedule, nest: Nest, machine: Machine) -> Sequence[Structure]:
    """The structures of the first of `WINDOWS` that has any."""
    return next((found for rule in WINDOWS if (found := rule(sch, nest, machine))), [])


class TileStencil(NestRule):
    """The bands of `tilewright.schedule_rules.windows`, and the tiles of `channel_windows` and
    `winograd`."""

    rule = staticmethod(_tile_any_windows)


class TileProduct(NestRule):
    """The tiles of `tilewright.schedule_rules.contraction`, with element-wise consumers."""

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The sketches for a block."""
        found = sch.copy()
        stages = append_epilogues(_plain_stages(found, block, self.machine))
        stage = next((s for s in stages if found.get(s.block) is found.get(block)), None)
        if stage is None or stage.contraction is None:
            return [sch]
        epilogue = [item.block for item in stage.epilogue]
        alone = partial(tile_products, machine=self.machine, most=MOST_TIME)
        tiled = partial(alone, epilogue=epilogue)
        sketches = self.sketches(found, block, tiled) if epilogue else []
        return sketches or self.sketches(sch, block, alone) or [sch]


class ShareOuterLoops(NestRule):
    """Lets blocks share the outer loops that they have in common, as the default schedule does.

    What one block computes of a row is then still in the nearest cache when the next one reads it.
    The number of rows processed together, and the decisions of each block, are left to the search.
    """

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The sketches, for the last block of those that can share loops.

        Where products share them, too, there is another sketch in which these are on their own.
        """
        shared = self._shared(sch, block, products=True)
        if shared is None:
            return [sch]
        found, has_product = shared
        if not has_product:
            return [found]
        others = self._shared(sch, block, products=False)
        return [found, sch if others is None else others[0]]

    def _shared(
        self, sch: Schedule, anchor: BlockRV, *, products: bool
    ) -> tuple[Schedule, bool] | None:
        """The schedule of the group that ends with `anchor`, and whether it has products."""
        found = sch.copy()
        stages = append_epilogues(_plain_stages(found, anchor, self.machine))
        view = found.copy()
        known = [
            stage
            for stage in stages
            if (products or stage.contraction is None)
            and all(_is_known(view, item) for item in (stage, *stage.epilogue))
        ]
        for group in groups_of(known, self.machine):
            if group.shared and found.get(group.stages[-1].block) is found.get(anchor):
                scheduled = schedule_group(found, group, self.machine)
                self.claim(sch, scheduled, anchor)
                return scheduled, any(stage.contraction is not None for stage in group.stages)
        return None


class TileTransposition(NestRule):
    """The tiles of `tilewright.schedule_rules.transposition`."""

    rule = staticmethod(tile_transposition)


class SharePlaces(NestRule):
    """The loops of `tilewright.schedule_rules.computed_places`."""

    rule = staticmethod(share_places)


class VectorizeElements(NestRule):
    """The vectors of `tilewright.schedule_rules.elementwise`."""

    rule = staticmethod(vectorize_elements)

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """For blocks that are not transpositions.

        What reads a product of matrices that no rule has taken is left to the rule that takes it.
        """
        if any(_is_free_product(sch, producer) for producer in sch.get_producers(nest.block)):
            return []
        return super().structures(sch, nest)


class ReduceAlongRows(NestRule):
    """The structures of `tilewright.schedule_rules.reduce_along_rows`."""

    rule = staticmethod(reduce_along_rows)
    leaves_products = True


class ReduceAlongColumns(NestRule):
    """The structures of `tilewright.schedule_rules.reduce_along_columns`."""

    rule = staticmethod(reduce_along_columns)
    leaves_products = True


def _is_free_product(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block is a product of matrices without a schedule."""
    return is_plain(sch, block) and find_contraction(plain_nest(sch, block).accesses) is not None


def _plain_stages(sch: Schedule, block: BlockRV, machine: Machine) -> list[Stage]:
    """The blocks without a schedule of the function that a block is in."""
    blocks = siblings(sch, block)
    view = sch.copy()  # looking at it leaves no instructions in the trace
    return stages_of(sch, [item for item in blocks if is_plain(view, item)], machine)


def _is_known(sch: Schedule, stage: Stage) -> bool:
    """Whether all that reads the results of a stage is a stage, too."""
    return len(sch.get_consumers(stage.block)) == len(stage.consumers)
