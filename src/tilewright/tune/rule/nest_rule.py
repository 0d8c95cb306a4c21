"""The rules of the default schedule as rules of the tuner, which tries all of their structures."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tilewright.schedule_rules.elementwise import vectorize_elements
from tilewright.schedule_rules.machine import Machine, machine_of
from tilewright.schedule_rules.nest import DoesNotFitError, attempt
from tilewright.schedule_rules.operands import find_contraction
from tilewright.schedule_rules.plain_nest import Nest, is_plain, plain_nest
from tilewright.schedule_rules.reduce_along_columns import reduce_along_columns
from tilewright.schedule_rules.reduce_along_rows import reduce_along_rows
from tilewright.schedule_rules.structures import Structure
from tilewright.schedule_rules.transposition import tile_transposition
from tilewright.schedule_rules.windows import tile_windows
from tilewright.tir.schedule import BlockRV, Schedule
from tilewright.tune.rule.claim import claim
from tilewright.tune.rule.schedule_rule import ScheduleRule


class NestRule(ScheduleRule):
    """Tries some structures of loops on blocks that are as in a program without a schedule.

    Subclasses define `structures`. Each structure that the primitives accept is a sketch; a block
    for which there is none stays as it is.

    Args:
        machine: what the schedule is for; by default the machine of the target.
    """

    def __init__(self, machine: Machine | None = None) -> None:
        self._machine = machine

    @property
    def machine(self) -> Machine:
        """The vectors, caches and cores that the schedule is for."""
        return self._machine or machine_of(self.target)

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The sketches for a block."""
        try:
            # Looking at it must leave no instructions in the traces of other sketches.
            view = sch.copy()
            nest = plain_nest(view, block)
            structures = self.structures(view, nest)
        except DoesNotFitError:
            return [sch]
        sketches = [attempt(sch, partial(self._apply, nest, do)) for do in structures]
        return [sketch for sketch in sketches if sketch is not None] or [sch]

    def _apply(self, nest: Nest, structure: Structure, sch: Schedule) -> None:
        others = structure(sch, nest.again(sch))
        for item in (*others, nest.block):
            claim(sch, item, type(self).__name__)

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """The structures that fit a block, the one that is best as far as is known first.

        Args:
            sch: a copy of the schedule, to look at.
            nest: the block in it.
        """
        raise NotImplementedError


class TileStencil(NestRule):
    """The bands of `tilewright.schedule_rules.windows`."""

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """For reductions over windows that overlap."""
        return tile_windows(sch, nest, self.machine)


class TileTransposition(NestRule):
    """The tiles of `tilewright.schedule_rules.transposition`."""

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """For blocks in which an operand is transposed."""
        return tile_transposition(sch, nest, self.machine)


class VectorizeElements(NestRule):
    """The vectors of `tilewright.schedule_rules.elementwise`."""

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """For blocks that are not transpositions.

        What reads a product of matrices that no rule has taken is left to the rule that takes it.
        """
        if any(_is_free_product(sch, producer) for producer in sch.get_producers(nest.block)):
            return []
        return vectorize_elements(sch, nest, self.machine)


class ReduceAlongRows(NestRule):
    """The structures of `tilewright.schedule_rules.reduce_along_rows`."""

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """For reductions along what is contiguous in the largest operand."""
        return [] if _is_product(nest) else reduce_along_rows(sch, nest, self.machine)


class ReduceAlongColumns(NestRule):
    """The structures of `tilewright.schedule_rules.reduce_along_columns`."""

    def structures(self, sch: Schedule, nest: Nest) -> Sequence[Structure]:
        """For reductions whose result and largest operand are contiguous along one iterator."""
        return [] if _is_product(nest) else reduce_along_columns(sch, nest, self.machine)


def _is_free_product(sch: Schedule, block: BlockRV) -> bool:
    """Whether a block is a product of matrices without a schedule."""
    return is_plain(sch, block) and _is_product(plain_nest(sch, block))


def _is_product(nest: Nest) -> bool:
    """Whether a block is a product of matrices, which other rules are for."""
    return find_contraction(nest.accesses) is not None
